use super::super::float::testing::{close, input, output, values};
use super::*;
use half::{bf16, f16};

/// Leading sizes, L, S, E and Ev.
type Case = ([usize; 2], usize, usize, usize, usize);

/// What attention is by definition; `masked(batch, i, j)` is added to the scores.
fn reference<S: Element>(
    &([n, h], l, s, e, ev): &Case,
    [q, k, v]: [&[S]; 3],
    o: &Attention,
    masked: impl Fn(usize, usize, usize) -> f64,
) -> Vec<f64> {
    let scale = o.scale.unwrap_or(1.0 / (e.max(1) as f64).sqrt());
    let mut out = vec![];
    for (b, i) in (0..n * h * l).map(|r| (r / l, r % l)) {
        let score = |j: usize| {
            let dot = (0..e).map(|c| q[(b * l + i) * e + c].to_f64() * k[(b * s + j) * e + c].to_f64());
            let hidden = o.causal && j > i;
            scale * dot.sum::<f64>() + masked(b, i, j) + if hidden { f64::NEG_INFINITY } else { 0.0 }
        };
        let scores: Vec<f64> = (0..s).map(score).collect();
        let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let p: Vec<f64> = scores.iter().map(|x| (x - max).exp()).collect();
        let total: f64 = p.iter().sum();
        for c in 0..ev {
            let sum: f64 = (0..s).map(|j| p[j] * v[(b * s + j) * ev + c].to_f64()).sum();
            out.push(if max == f64::NEG_INFINITY {
                0.0
            } else {
                sum / total
            });
        }
    }
    out
}

fn check<S: Store<Elem: Exponentials> + Element>(case: &Case) {
    let &([n, h], l, s, e, ev) = case;
    let shapes = [[n, h, l, e], [n, h, s, e], [n, h, s, ev]];
    let [q, k, v] = [0, 1, 2].map(|i| values::<S>(shapes[i].iter().product(), i));
    let data = [&q[..], &k[..], &v[..]];
    let run = |mask: Option<In>, o: &Attention| {
        output::<S>(&[n, h, l, ev], |out| {
            let [q, k, v] = [0, 1, 2].map(|i| input(&shapes[i], data[i]));
            attention(q, k, v, mask, o, out)
        })
    };
    for (causal, scale) in [(false, None), (true, None), (true, Some(0.25))] {
        let o = Attention { causal, scale };
        close(
            &run(None, &o),
            &reference(case, data, &o, |_, _, _| 0.0),
            4.0,
            &(case, &o),
        );
        // masks of every way to broadcast, of numbers and of Bool
        for shape in [
            &[n, h, l, s][..],
            &[n, 1, l, s],
            &[h, 1, s],
            &[l, 1],
            &[1, s],
            &[s],
            &[1, h, l, 1],
            &[],
        ] {
            let count: usize = shape.iter().product();
            let at = |b: usize, i: usize, j: usize| {
                let index = [b / h, b % h, i, j];
                (shape.iter().zip(&index[4 - shape.len()..])).fold(0, |a, (&d, &x)| a * d + x % d.max(1))
            };
            let mut add = values::<S>(count, 4);
            add.iter_mut()
                .step_by(3)
                .for_each(|m| *m = S::from_f64(f64::NEG_INFINITY));
            let want = reference(case, data, &o, |b, i, j| add[at(b, i, j)].to_f64());
            close(&run(Some(input(shape, &add)), &o), &want, 4.0, &(case, &o, shape));
            let keep: Vec<bool> = (0..count).map(|i| i * 7 % 5 < 3).collect();
            let mask = |b, i, j| if keep[at(b, i, j)] { 0.0 } else { f64::NEG_INFINITY };
            let want = reference(case, data, &o, mask);
            close(
                &run(Some(input(shape, &keep)), &o),
                &want,
                4.0,
                &(case, &o, shape),
            );
        }
    }
}

#[test]
fn shapes_masks_and_dtypes() {
    for case in [
        ([1, 1], 1, 1, 1, 1),
        ([2, 3], 5, 7, 4, 3),
        ([1, 2], 17, 9, 8, 5),
        ([2, 1], 150, 37, 16, 8),
        ([1, 1], 40, 4100, 3, 2),
        ([2, 2], 3, 0, 4, 2),
        ([0, 2], 3, 4, 4, 2),
        ([1, 2], 3, 4, 0, 2),
        ([1, 2], 0, 4, 1, 2),
    ] {
        check::<f32>(&case);
        check::<f64>(&case);
        check::<f16>(&case);
        check::<bf16>(&case);
    }
}

#[test]
fn masked_rows_are_zero_and_nan_stays_in_its_row() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let o = Attention {
        causal: false,
        scale: Some(1.0),
    };
    let run = |q: &[f32; 3], mask: Option<In>| {
        output::<f32>(&[3, 1], |out| {
            let (k, v) = ([1.0f32, 2.0], [5.0f32, 5.0]);
            attention(
                input(&[3, 1], q),
                input(&[2, 1], &k),
                input(&[2, 1], &v),
                mask,
                &o,
                out,
            )
        })
    };
    let keep = [true, true, false, false, false, true];
    let got = run(&[1.0, nan, 0.0], Some(input(&[3, 2], &keep)));
    close(&got, &[5.0, 0.0, 5.0], 1.0, &keep);
    close(
        &run(&[1.0, nan, inf], None),
        &[5.0, f64::NAN, f64::NAN],
        1.0,
        &"no mask",
    );
    // a NaN score is seen beside masked keys, and a huge one is no overflow
    let got = run(&[1e30, nan, 0.0], Some(input(&[2], &[0.0, -inf])));
    close(&got, &[5.0, f64::NAN, 5.0], 1.0, &"a mask of numbers");
    // no rank above the matrices, and rows that see more and more keys
    let o = Attention {
        causal: true,
        scale: Some(0.0),
    };
    let got = output::<f32>(&[3, 1], |out| {
        let (q, v) = ([0.0f32; 3], [3.0f32, 5.0, 7.0]);
        attention(
            input(&[3, 1], &q),
            input(&[3, 1], &q),
            input(&[3, 1], &v),
            None,
            &o,
            out,
        )
    });
    assert_eq!(got, [3.0, 4.0, 5.0]);
}
