//! Attention over several heads.

use super::{builder, close, tensor, text, wide};
use tensorplay::nn::MultiheadAttention;
use tensorplay::prelude::*;

const DIM: usize = 6;
const HEADS: usize = 2;

/// `rows @ w^T + b`, for rows of `DIM`.
fn dense(rows: &[f64], w: &[f64], b: &[f64]) -> Vec<f64> {
    let one = |row: &[f64], o: usize| {
        let product = row.iter().zip(&w[o * DIM..]).map(|(a, b)| a * b);
        product.sum::<f64>() + b.get(o).copied().unwrap_or(0.0)
    };
    rows.chunks(DIM)
        .flat_map(|row| (0..DIM).map(|o| one(row, o)).collect::<Vec<_>>())
        .collect()
}

/// One sample; `bias` is added to the scores of query `i` and key `j`.
fn attended(q: &[f64], k: &[f64], v: &[f64], bias: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let width = DIM / HEADS;
    let (queries, keys) = (q.len() / DIM, k.len() / DIM);
    let mut y = vec![0.0; q.len()];
    for (i, head) in (0..queries).flat_map(|i| (0..HEADS).map(move |h| (i, h * width))) {
        let score = |j: usize| {
            let dot = (head..head + width).map(|c| q[i * DIM + c] * k[j * DIM + c]);
            (dot.sum::<f64>() / (width as f64).sqrt() + bias(i, j)).exp()
        };
        let scores: Vec<f64> = (0..keys).map(score).collect();
        let total: f64 = scores.iter().sum();
        for c in head..head + width {
            y[i * DIM + c] = (0..keys).map(|j| scores[j] / total * v[j * DIM + c]).sum();
        }
    }
    y
}

#[test]
fn multihead_attention() {
    let [w, b] = [tensor(&[3 * DIM, DIM], 1), tensor(&[3 * DIM], 2)];
    let [out_w, out_b] = [tensor(&[DIM, DIM], 3), tensor(&[DIM], 4)];
    let vb = builder(
        "attention",
        &[
            ("a.in_proj_weight", w.clone()),
            ("a.in_proj_bias", b.clone()),
            ("a.out_proj.weight", out_w.clone()),
            ("a.out_proj.bias", out_b.clone()),
            ("b.in_proj_weight", w.clone()),
            ("b.out_proj.weight", out_w.clone()),
        ],
    );
    let [q, k, v] = [(2, 5), (4, 6), (4, 7)].map(|(n, seed)| tensor(&[3, n, DIM], seed));
    let want = |bias: bool, add: &dyn Fn(usize, usize, usize) -> f64| -> Vec<f64> {
        let (w, b, out_b) = (
            wide(&w),
            if bias { wide(&b) } else { vec![] },
            if bias { wide(&out_b) } else { vec![] },
        );
        let part = |x: &Tensor, sample: usize, n: usize| {
            let rows = wide(&x.select(0, sample).contiguous());
            dense(&rows, &w[n * DIM * DIM..], b.get(n * DIM..).unwrap_or(&[]))
        };
        let one = |s: usize| {
            let mixed = attended(&part(&q, s, 0), &part(&k, s, 1), &part(&v, s, 2), |i, j| {
                add(s, i, j)
            });
            dense(&mixed, &wide(&out_w), &out_b)
        };
        (0..3).flat_map(one).collect()
    };
    let shape = [3, 2, DIM];
    let layer = MultiheadAttention::load(&vb.pp("a"), DIM, HEADS).expect("a layer");
    close(
        &layer.forward(&q, &k, &v, None),
        &shape,
        &want(true, &|_, _, _| 0.0),
    );
    close(
        &layer.forward_t(&q, &k, &v, None, true),
        &shape,
        &want(true, &|_, _, _| 0.0),
    );
    let plain = MultiheadAttention::load(&vb.pp("b"), DIM, HEADS).expect("a layer");
    assert_eq!((layer.parameters().len(), plain.parameters().len()), (4, 2));
    close(
        &plain.forward(&q, &k, &v, None),
        &shape,
        &want(false, &|_, _, _| 0.0),
    );

    // added to the scores, [tokens, keys]
    let add = tensor(&[2, 4], 8);
    let added = wide(&add);
    let right = want(true, &|_, i, j| added[i * 4 + j]);
    close(&layer.forward(&q, &k, &v, Some(&add)), &shape, &right);

    // true where a key is real, [batch, 1, 1, keys]
    let lengths = [4usize, 1, 3];
    let keep: Vec<bool> = lengths.iter().flat_map(|&n| (0..4).map(move |j| j < n)).collect();
    let keep = Tensor::from_vec(keep, (3, 1, 1, 4));
    let hidden = |s: usize, _: usize, j: usize| if j < lengths[s] { 0.0 } else { f64::NEG_INFINITY };
    close(
        &layer.forward(&q, &k, &v, Some(&keep)),
        &shape,
        &want(true, &hidden),
    );
}

#[test]
fn heads_divide_the_width() {
    let vb = builder("attention_errors", &[("x", tensor(&[1], 1))]);
    assert_eq!(
        text(MultiheadAttention::load(&vb.pp("self_attn"), 6, 4)),
        "error[TP0913]: `self_attn`: heads is 4, dim is 6\n  help: write a number of heads that divides dim"
    );
    assert!(text(MultiheadAttention::load(&vb, 6, 0)).contains("`MultiheadAttention`: heads is 0"));
}
