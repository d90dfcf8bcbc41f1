//! Dense layers, tables, normalisations, dropout.

use super::{builder, close, tensor, wide};
use tensorplay::nn::{BatchNorm1d, BatchNorm2d, Dropout, Embedding, GroupNorm, LayerNorm, Linear, RmsNorm};
use tensorplay::prelude::*;

#[test]
fn linear() {
    let (w, b, x) = (tensor(&[3, 4], 1), tensor(&[3], 2), tensor(&[2, 5, 4], 3));
    let (wide_w, wide_b, wide_x) = (wide(&w), wide(&b), wide(&x));
    let want = |bias: bool| -> Vec<f64> {
        let one = |i: usize| {
            let (row, o) = (i / 3, i % 3);
            let product = (0..4).map(|k| wide_x[row * 4 + k] * wide_w[o * 4 + k]);
            product.sum::<f64>() + if bias { wide_b[o] } else { 0.0 }
        };
        (0..30).map(one).collect()
    };
    let vb = builder(
        "linear",
        &[("a.weight", w.clone()), ("a.bias", b), ("b.weight", w)],
    );
    let layer = Linear::load(&vb.pp("a"), 4, 3).expect("a layer");
    close(&layer.forward(&x), &[2, 5, 3], &want(true));
    close(&layer.forward_t(&x, true), &[2, 5, 3], &want(true));
    let layer = Linear::load(&vb.pp("b"), 4, 3).expect("a layer");
    close(&layer.forward(&x), &[2, 5, 3], &want(false));
    assert!(layer.bias().is_none() && layer.parameters().len() == 1);
}

#[test]
fn embedding() {
    let table = tensor(&[6, 3], 1);
    let layer = Embedding::load(&builder("embedding", &[("weight", table.clone())]), 6, 3).expect("a layer");
    let x = Tensor::from_slice(&[5i64, 0, 2, 2], (2, 2));
    let rows = wide(&table);
    let want: Vec<f64> = [5, 0, 2, 2]
        .iter()
        .flat_map(|&i| rows[i * 3..i * 3 + 3].to_vec())
        .collect();
    close(&layer.forward(&x), &[2, 2, 3], &want);
    close(&layer.forward_t(&x, true), &[2, 2, 3], &want);
}

/// Mean and biased variance.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n)
}

/// `[batch, channels, rest]`, each channel by its statistics, weight and bias.
fn by_channel(x: &Tensor, of: impl Fn(usize) -> [f64; 4], eps: f64) -> Vec<f64> {
    let rest: usize = x.shape()[2..].iter().product();
    let one = |(i, v): (usize, f64)| {
        let [mean, var, w, b] = of(i / rest % x.dim(1));
        (v - mean) / (var + eps).sqrt() * w + b
    };
    wide(x).into_iter().enumerate().map(one).collect()
}

fn channel(x: &Tensor, c: usize) -> Vec<f64> {
    wide(&x.narrow(1, c, 1).contiguous())
}

#[test]
fn batch_norm() {
    let [w, b, mean, var] = [1, 2, 3, 4].map(|seed| tensor(&[3], seed));
    let var = var.abs() + 0.5;
    let vb = builder(
        "batch_norm",
        &[
            ("weight", w.clone()),
            ("bias", b.clone()),
            ("running_mean", mean.clone()),
            ("running_var", var.clone()),
        ],
    );
    let [w, b, mean, var] = [w, b, mean, var].map(|t| wide(&t));
    let running = |c: usize| [mean[c], var[c], w[c], b[c]];
    let one = BatchNorm1d::load(&vb, 3).expect("a layer");
    for x in [tensor(&[4, 3], 5), tensor(&[4, 3, 5], 6)] {
        close(&one.forward(&x), x.shape(), &by_channel(&x, running, 1e-5));
    }
    let x = tensor(&[2, 3, 4, 5], 7);
    let two = BatchNorm2d::load(&vb, 3).expect("a layer");
    close(&two.forward(&x), x.shape(), &by_channel(&x, running, 1e-5));
    let by_batch = |x: &Tensor, eps: f64| {
        let of = |c: usize| {
            let (mean, var) = moments(&channel(x, c));
            [mean, var, w[c], b[c]]
        };
        by_channel(x, of, eps)
    };
    close(&two.forward_t(&x, true), x.shape(), &by_batch(&x, 1e-5));
    let other = two.with_eps(0.1);
    close(&other.forward_t(&x, true), x.shape(), &by_batch(&x, 0.1));
    for x in [tensor(&[4, 3], 5), tensor(&[4, 3, 5], 6)] {
        close(&one.forward_t(&x, true), x.shape(), &by_batch(&x, 1e-5));
    }
}

#[test]
fn layer_norm_and_rms_norm() {
    let (w, b, x) = (tensor(&[5], 1), tensor(&[5], 2), tensor(&[2, 3, 5], 3));
    let vb = builder(
        "layer_norm",
        &[
            ("n.weight", w.clone()),
            ("n.bias", b.clone()),
            ("r.weight", w.clone()),
        ],
    );
    let (w, b) = (wide(&w), wide(&b));
    let rows = |f: &dyn Fn(&[f64], usize) -> f64| -> Vec<f64> {
        wide(&x)
            .chunks(5)
            .flat_map(|row| (0..5).map(|k| f(row, k)).collect::<Vec<_>>())
            .collect()
    };
    let normal = |row: &[f64], k: usize| {
        let (mean, var) = moments(row);
        (row[k] - mean) / (var + 1e-3).sqrt() * w[k]
    };
    let layer = LayerNorm::load(&vb.pp("n"), 5, 1e-3).expect("a layer");
    close(
        &layer.forward(&x),
        x.shape(),
        &rows(&|row, k| normal(row, k) + b[k]),
    );
    let layer = LayerNorm::load(&vb.pp("r"), 5, 1e-3).expect("a layer");
    close(&layer.forward_t(&x, true), x.shape(), &rows(&normal));
    let layer = RmsNorm::load(&vb.pp("r"), 5, 1e-3).expect("a layer");
    let rms = |row: &[f64], k: usize| {
        let square = row.iter().map(|v| v * v).sum::<f64>() / 5.0;
        row[k] / (square + 1e-3).sqrt() * w[k]
    };
    close(&layer.forward(&x), x.shape(), &rows(&rms));
    close(&layer.forward_t(&x, true), x.shape(), &rows(&rms));
}

#[test]
fn group_norm() {
    let (w, b, x) = (tensor(&[4], 1), tensor(&[4], 2), tensor(&[2, 4, 3], 3));
    let vb = builder("group_norm", &[("weight", w.clone()), ("bias", b.clone())]);
    let (w, b) = (wide(&w), wide(&b));
    let layer = GroupNorm::load(&vb, 2, 4, 1e-5).expect("a layer");
    let mut want = Vec::new();
    for (g, group) in wide(&x).chunks(6).enumerate() {
        let (mean, var) = moments(group);
        for (i, v) in group.iter().enumerate() {
            let c = g % 2 * 2 + i / 3;
            want.push((v - mean) / (var + 1e-5).sqrt() * w[c] + b[c]);
        }
    }
    close(&layer.forward(&x), x.shape(), &want);
    close(&layer.forward_t(&x, true), x.shape(), &want);
}

#[test]
fn dropout() {
    let x = Tensor::ones((100, 100), DType::F32);
    let layer = Dropout::new(0.2);
    assert_eq!(layer.forward(&x).to_vec::<f32>(), x.to_vec::<f32>());
    let y = layer.forward_t(&x, true).to_vec::<f32>();
    let kept = y.iter().filter(|v| **v != 0.0).count();
    assert!(y.iter().all(|v| *v == 0.0 || (v - 1.25).abs() < 1e-6));
    assert!((7800..8200).contains(&kept), "{kept}");
    let half = tensor(&[3], 1).to_dtype(DType::BF16);
    assert_eq!(layer.forward(&half).dtype(), DType::BF16);
    assert!(layer.parameters().is_empty());
}
