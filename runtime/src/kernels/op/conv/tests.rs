use super::super::float::testing::{close, input, output, values};
use super::*;
use half::{bf16, f16};

/// Sizes of a test: images, channels in and out (all groups), input and kernel sizes.
type Case = (usize, usize, usize, [usize; 2], [usize; 2], Conv2d);

fn conv(stride: [usize; 2], padding: [usize; 2], dilation: [usize; 2], groups: usize) -> Conv2d {
    Conv2d {
        stride,
        padding,
        dilation,
        groups,
    }
}

/// Calls `f` with the flat index of the output, of the input and of the weight of every product of a convolution.
fn each_product(
    &(n, c, o, [h, w], [kh, kw], s): &Case,
    out: [usize; 2],
    mut f: impl FnMut(usize, usize, usize),
) {
    let (cg, og) = (c / s.groups, o / s.groups);
    let at = |y: usize, i: usize, d: usize| (y * s.stride[d] + i * s.dilation[d]).wrapping_sub(s.padding[d]);
    for n in 0..n {
        for oc in 0..o {
            for ic in 0..cg {
                for (y, x) in (0..out[0] * out[1]).map(|p| (p / out[1], p % out[1])) {
                    for (i, j) in (0..kh * kw).map(|t| (t / kw, t % kw)) {
                        let (iy, ix) = (at(y, i, 0), at(x, j, 1));
                        if iy < h && ix < w {
                            let (to, from) =
                                ((n * o + oc) * out[0] + y, (n * c + oc / og * cg + ic) * h + iy);
                            let weight = ((oc * cg + ic) * kh + i) * kw + j;
                            f(to * out[1] + x, from * w + ix, weight);
                        }
                    }
                }
            }
        }
    }
}

fn size(input: usize, kernel: usize, s: &Conv2d, d: usize) -> usize {
    (input + 2 * s.padding[d] - s.dilation[d] * (kernel - 1) - 1) / s.stride[d] + 1
}

fn check<S: Store<Elem: Real + Sums> + Element>(case: &Case) {
    let &(n, c, o, [h, w], [kh, kw], s) = case;
    let out = [size(h, kh, &s, 0), size(w, kw, &s, 1)];
    let (xs, ws, os) = ([n, c, h, w], [o, c / s.groups, kh, kw], [n, o, out[0], out[1]]);
    let count = |s: &[usize]| s.iter().product::<usize>();
    let x = values::<S>(count(&xs), 1);
    let weights = values::<S>(count(&ws), 2);
    let bias = values::<S>(o, 3);
    for with_bias in [false, true] {
        let mut want = vec![0.0; count(&os)];
        if with_bias {
            let planes = out[0] * out[1];
            (want.iter_mut().enumerate()).for_each(|(i, v)| *v = bias[i / planes % o].to_f64());
        }
        each_product(case, out, |to, from, k| {
            want[to] += x[from].to_f64() * weights[k].to_f64()
        });
        let shape = [o];
        let b = with_bias.then(|| input(&shape, &bias));
        let got = output::<S>(&os, |out| {
            conv2d(input(&xs, &x), input(&ws, &weights), b, &s, out)
        });
        close(&got, &want, 8.0, case);
    }
    // the transpose, from the outputs to the inputs: its weights are [O, C / groups, KH, KW] too
    let y = values::<S>(count(&os), 4);
    let bias = values::<S>(c, 5);
    let mut want: Vec<f64> = (0..count(&xs)).map(|i| bias[i / (h * w) % c].to_f64()).collect();
    each_product(case, out, |to, from, k| {
        want[from] += y[to].to_f64() * weights[k].to_f64()
    });
    let shape = [c];
    let b = Some(input(&shape, &bias));
    let got = output::<S>(&xs, |to| {
        conv_transpose2d(input(&os, &y), input(&ws, &weights), b, &s, to)
    });
    close(&got, &want, 8.0, &("transpose", case));
}

fn check_all(case: &Case) {
    check::<f32>(case);
    check::<f64>(case);
    check::<f16>(case);
    check::<bf16>(case);
}

#[test]
fn every_combination_of_small_sizes() {
    for i in 0..3 * 3 * 2 * 3 {
        let (stride, padding, dilation, groups) = (i % 3, i / 3 % 3, i / 9 % 2, [1, 2, 4][i / 18]);
        let s = conv(
            [stride + 1, 1 + stride / 2],
            [padding, padding / 2],
            [dilation + 1, 1],
            groups,
        );
        check_all(&(2, 4, 4, [7, 9], [3, 2], s));
        check::<f32>(&(1, 4, 8, [5, 11], [1, 3], s));
    }
}

#[test]
fn special_forms() {
    let plain = conv([1; 2], [0; 2], [1; 2], 1);
    for case in [
        (2, 5, 7, [6, 5], [1, 1], plain),
        (2, 5, 7, [6, 5], [1, 1], conv([2; 2], [0; 2], [1; 2], 1)),
        (1, 5, 7, [6, 5], [1, 1], conv([1; 2], [1; 2], [1; 2], 1)),
        (1, 1, 1, [1, 1], [1, 1], plain),
        (0, 3, 2, [4, 4], [3, 3], plain),
        // depthwise, with a multiplier, of several chunks, and with more outputs than it takes
        (1, 3, 3, [3, 600], [3, 5], conv([1; 2], [1, 2], [1; 2], 3)),
        (1, 3, 6, [9, 700], [3, 3], conv([2; 2], [1; 2], [1, 3], 3)),
        (2, 2, 18, [6, 6], [3, 3], conv([1; 2], [1; 2], [1; 2], 2)),
        // several blocks of columns
        (1, 33, 20, [40, 37], [3, 3], conv([1; 2], [1; 2], [1; 2], 1)),
        (2, 16, 70, [33, 31], [2, 2], conv([2, 1], [0; 2], [1; 2], 2)),
    ] {
        check_all(&case);
    }
}

#[test]
fn the_transpose_pads_its_output_and_takes_blocks_of_rows() {
    // 3x3 to 6x6 with stride 2 and output padding 1: the last row and column see the bias and the last taps only
    let (x, w) = (values::<f32>(9, 1), values::<f32>(9, 2));
    let s = conv([2; 2], [1; 2], [1; 2], 1);
    let mut want = [0.5; 36];
    for (p, t) in (0..81usize).map(|i| (i / 9, i % 9)) {
        let (y, x_) = (
            (p / 3 * 2 + t / 3).wrapping_sub(1),
            (p % 3 * 2 + t % 3).wrapping_sub(1),
        );
        if y < 6 && x_ < 6 {
            want[y * 6 + x_] += f64::from(x[p]) * f64::from(w[t]);
        }
    }
    let got = output::<f32>(&[1, 1, 6, 6], |out| {
        let shape = [1, 1, 3, 3];
        conv_transpose2d(
            input(&shape, &x),
            input(&shape, &w),
            Some(input(&[1], &[0.5f32])),
            &s,
            out,
        )
    });
    close(&got, &want, 4.0, &s);
    // 320 rows of weights, and images of more than a block
    check::<f32>(&(1, 40, 3, [61, 130], [3, 3], conv([1; 2], [1; 2], [1; 2], 1)));
}

#[test]
fn no_channels_give_the_bias_and_nan_stays_in_its_windows() {
    let s = conv([1; 2], [0; 2], [1; 2], 1);
    let got = output::<f32>(&[1, 2, 2, 2], |out| {
        let (x, w) = ([1, 0, 3, 3], [2, 0, 2, 2]);
        conv2d(
            input::<f32>(&x, &[]),
            input::<f32>(&w, &[]),
            Some(input(&[2], &[3.0f32, 4.0])),
            &s,
            out,
        )
    });
    assert_eq!(got, [3.0, 3.0, 3.0, 3.0, 4.0, 4.0, 4.0, 4.0]);
    for channels in [1, 9] {
        let mut x = vec![1.0f32; 16 * channels];
        x[0] = f32::NAN;
        let (xs, ws) = ([1, channels, 4, 4], [1, channels, 2, 2]);
        let w = vec![1.0f32; 4 * channels];
        let got = output::<f32>(&[1, 1, 3, 3], |out| {
            conv2d(input(&xs, &x), input(&ws, &w), None, &s, out)
        });
        assert!(got[0].is_nan());
        assert!(got[1..].iter().all(|&v| v == 4.0 * channels as f32), "{got:?}");
    }
}
