//! Convolutions.

use super::{builder, close, tensor, text, wide};
use tensorplay::nn::{Conv1d, Conv2d, ConvTranspose2d};
use tensorplay::prelude::*;

/// Stride, padding, dilation by axis.
type Window = [[usize; 3]; 2];

/// Which element of the input the kernel's `k` sees from window `o`, if any.
fn seen(o: usize, k: usize, [stride, padding, dilation]: [usize; 3], n: usize) -> Option<usize> {
    (o * stride + k * dilation)
        .checked_sub(padding)
        .filter(|&i| i < n)
}

fn convolved(x: &Tensor, w: &Tensor, b: &[f64], window: Window, groups: usize, out: [usize; 2]) -> Vec<f64> {
    let (n, c, h, wd) = (x.dim(0), x.dim(1), x.dim(2), x.dim(3));
    let (o, per, kh, kw) = (w.dim(0), w.dim(1), w.dim(2), w.dim(3));
    let (x, w) = (wide(x), wide(w));
    let mut y = Vec::new();
    for at in 0..n * o * out[0] * out[1] {
        let (j, i) = (at % out[1], at / out[1] % out[0]);
        let (f, s) = (at / out[1] / out[0] % o, at / out[1] / out[0] / o);
        let mut sum = b.get(f).copied().unwrap_or(0.0);
        for tap in 0..per * kh * kw {
            let (q, p, m) = (tap % kw, tap / kw % kh, tap / kw / kh);
            let from = f / (o / groups) * (c / groups) + m;
            if let (Some(a), Some(b)) = (seen(i, p, window[0], h), seen(j, q, window[1], wd)) {
                sum += x[((s * c + from) * h + a) * wd + b] * w[f * per * kh * kw + tap];
            }
        }
        y.push(sum);
    }
    y
}

#[test]
fn conv1d() {
    let (w, b, x) = (tensor(&[6, 2, 3], 1), tensor(&[6], 2), tensor(&[2, 4, 9], 3));
    let vb = builder("conv1d", &[("weight", w.clone()), ("bias", b.clone())]);
    let options = Conv1dOptions::default()
        .stride(2)
        .padding(1)
        .dilation(2)
        .groups(2);
    let layer = Conv1d::load(&vb, 4, 6, 3, options).expect("a layer");
    let plane = |t: &Tensor| t.unsqueeze(2);
    let want = convolved(
        &plane(&x),
        &plane(&w),
        &wide(&b),
        [[1, 0, 1], [2, 1, 2]],
        2,
        [1, 4],
    );
    close(&layer.forward(&x), &[2, 6, 4], &want);
    close(&layer.forward_t(&x, true), &[2, 6, 4], &want);
}

#[test]
fn conv2d() {
    let (w, b, x) = (
        tensor(&[4, 3, 3, 2], 1),
        tensor(&[4], 2),
        tensor(&[2, 3, 7, 6], 3),
    );
    let vb = builder(
        "conv2d",
        &[
            ("a.weight", w.clone()),
            ("a.bias", b.clone()),
            ("b.weight", w.clone()),
        ],
    );
    let options = Conv2dOptions::default().stride((2, 1)).padding((1, 0));
    let layer = Conv2d::load(&vb.pp("a"), 3, 4, (3, 2), options).expect("a layer");
    let window = [[2, 1, 1], [1, 0, 1]];
    close(
        &layer.forward(&x),
        &[2, 4, 4, 5],
        &convolved(&x, &w, &wide(&b), window, 1, [4, 5]),
    );
    let layer = Conv2d::load(&vb.pp("b"), 3, 4, (3, 2), options).expect("a layer");
    assert!(layer.bias().is_none());
    close(
        &layer.forward_t(&x, true),
        &[2, 4, 4, 5],
        &convolved(&x, &w, &[], window, 1, [4, 5]),
    );

    // depthwise
    let (w, x) = (tensor(&[3, 1, 3, 3], 4), tensor(&[1, 3, 5, 5], 5));
    let vb = builder("conv2d_depthwise", &[("weight", w.clone())]);
    let options = Conv2dOptions::default().padding(1).groups(3);
    let layer = Conv2d::load(&vb, 3, 3, 3, options).expect("a layer");
    let want = convolved(&x, &w, &[], [[1, 1, 1]; 2], 3, [5, 5]);
    close(&layer.forward(&x), &[1, 3, 5, 5], &want);
}

#[test]
fn conv_transpose2d() {
    let (w, b, x) = (
        tensor(&[4, 3, 3, 3], 1),
        tensor(&[6], 2),
        tensor(&[2, 4, 3, 2], 3),
    );
    let vb = builder("conv_transpose2d", &[("weight", w.clone()), ("bias", b.clone())]);
    let options = ConvTranspose2dOptions::default()
        .stride(2)
        .padding(1)
        .output_padding((1, 0))
        .groups(2);
    let layer = ConvTranspose2d::load(&vb, 4, 6, 3, options).expect("a layer");
    let (wide_x, wide_w, wide_b) = (wide(&x), wide(&w), wide(&b));
    // each input element adds its kernel to the result
    let (h, wd) = (6, 3);
    let mut want: Vec<f64> = (0..2 * 6 * h * wd).map(|i| wide_b[i / (h * wd) % 6]).collect();
    for (at, value) in wide_x.iter().enumerate() {
        let (j, i, c, s) = (at % 2, at / 2 % 3, at / 6 % 4, at / 24);
        for tap in 0..3 * 3 * 3usize {
            let (q, p, m) = (tap % 3, tap / 3 % 3, tap / 9);
            let row = (2 * i + p).checked_sub(1).filter(|&r| r < h);
            let column = (2 * j + q).checked_sub(1).filter(|&r| r < wd);
            if let (Some(r), Some(k)) = (row, column) {
                let f = c / 2 * 3 + m;
                want[((s * 6 + f) * h + r) * wd + k] += value * wide_w[c * 27 + tap];
            }
        }
    }
    close(&layer.forward(&x), &[2, 6, 6, 3], &want);
    close(&layer.forward_t(&x, true), &[2, 6, 6, 3], &want);
}

#[test]
fn sizes_that_contradict_are_errors() {
    let vb = builder("conv_errors", &[("net.conv.weight", tensor(&[4, 3, 3, 3], 1))]);
    let conv = vb.pp("net").pp("conv");
    let groups = Conv2dOptions::default().groups(2);
    assert_eq!(
        text(Conv2d::load(&conv, 3, 4, 3, groups)),
        "error[TP0913]: `net.conv`: groups is 2, with 3 input and 4 output channels\n  \
         help: write a number of groups that divides both"
    );
    let none = Conv2dOptions::default().groups(0);
    assert!(text(Conv2d::load(&conv, 3, 4, 3, none)).contains("groups is 0"));
    let plain = Conv2dOptions::default();
    assert_eq!(
        text(Conv2d::load(&conv, 3, 4, (3, 0), plain)),
        "error[TP0913]: `net.conv`: the kernel is [3, 0]\n  help: write 1 or more"
    );
    assert!(text(Conv2d::load(&conv, 3, 4, -1, plain)).contains("[-1, -1]"));
    assert!(
        text(Conv2d::load(&conv, 3, 4, 5, plain)).contains("expected shape [4, 3, 5, 5], got [4, 3, 3, 3]")
    );
    let one = Conv1dOptions::default();
    assert!(text(Conv1d::load(&vb, 1, 1, 0, one)).contains("`Conv1d`: the kernel is [0]"));
}

#[test]
#[should_panic(expected = "error[TP0913]: `Conv2d`: groups is 3, with 4 input and 6 output channels")]
fn new_layers_panic_with_the_same_text() {
    Conv2d::new(4, 6, 3, Conv2dOptions::default().groups(3));
}
