use super::super::float::testing::{close, input, output, values};
use super::*;

const CASES: &[([usize; 2], Pool)] = &{
    const fn pool(kernel: [usize; 2], stride: [usize; 2], padding: [usize; 2]) -> Pool {
        Pool {
            kernel,
            stride,
            padding,
        }
    }
    [
        ([1, 1], pool([1, 1], [1, 1], [0, 0])),
        ([2, 2], pool([2, 2], [2, 2], [0, 0])),
        ([7, 9], pool([2, 3], [2, 3], [0, 0])),
        ([7, 9], pool([3, 3], [1, 1], [1, 1])),
        ([8, 15], pool([3, 3], [2, 2], [1, 1])),
        ([9, 11], pool([4, 5], [3, 1], [2, 0])),
        ([5, 601], pool([3, 4], [1, 1], [1, 2])),
        ([5, 1203], pool([2, 2], [2, 2], [0, 1])),
        ([3, 3], pool([3, 3], [4, 4], [1, 1])),
    ]
};

fn out_size([h, w]: [usize; 2], o: &Pool) -> [usize; 2] {
    let size = |n: usize, d: usize| (n + 2 * o.padding[d] - o.kernel[d]) / o.stride[d] + 1;
    [size(h, 0), size(w, 1)]
}

/// The elements of every window, without padding.
fn elements<S: Element>(x: &[S], [h, w]: [usize; 2], o: &Pool) -> Vec<Vec<S>> {
    let mut all = vec![];
    let out = out_size([h, w], o);
    for plane in x.chunks(h * w) {
        for (y, x_) in (0..out[0] * out[1]).map(|p| (p / out[1], p % out[1])) {
            let mut window = vec![];
            for (i, j) in (0..o.kernel[0] * o.kernel[1]).map(|t| (t / o.kernel[1], t % o.kernel[1])) {
                let y = (y * o.stride[0] + i).wrapping_sub(o.padding[0]);
                let x = (x_ * o.stride[1] + j).wrapping_sub(o.padding[1]);
                if y < h && x < w {
                    window.push(plane[y * w + x]);
                }
            }
            all.push(window);
        }
    }
    all
}

fn check_max<S: Element>(salt: usize) {
    for (size, o) in CASES {
        let [h, w] = *size;
        let x = values::<S>(6 * h * w, salt);
        let [oh, ow] = out_size(*size, o);
        let got = output::<S>(&[3, 2, oh, ow], |out| {
            max_pool2d(input(&[3, 2, h, w], &x), o, out)
        });
        let max = |v: &Vec<S>| v.iter().map(|x| x.to_f64()).fold(f64::NEG_INFINITY, f64::max);
        let want: Vec<f64> = elements(&x, *size, o).iter().map(max).collect();
        close(&got, &want, 0.0, o);
        let same = got.iter().zip(want).all(|(g, w)| g.to_f64() == w);
        assert!(same, "{} {o:?}", S::DTYPE);
    }
}

#[test]
fn maxima_of_every_dtype() {
    check_max::<f32>(1);
    check_max::<f64>(2);
    check_max::<f16>(3);
    check_max::<bf16>(4);
    check_max::<i32>(5);
    check_max::<i64>(6);
    check_max::<u8>(7);
}

#[test]
fn nan_wins_and_padding_does_not() {
    let inf = f32::NEG_INFINITY;
    let o = Pool {
        kernel: [3, 3],
        stride: [1, 1],
        padding: [1, 1],
    };
    let x = [inf, inf, inf, f32::NAN, inf, inf, inf, inf, inf, -7.0, -6.0, -7.0];
    let got = output::<f32>(&[1, 12], |out| max_pool2d(input(&[1, 12], &x), &o, out));
    assert!(got[2..5].iter().all(|v| v.is_nan()), "{got:?}");
    assert_eq!((got[0], got[1], got[6]), (inf, inf, inf));
    assert_eq!(got[8..], [-7.0, -6.0, -6.0, -6.0]);
    let got = output::<i32>(&[1, 2], |out| {
        max_pool2d(input(&[1, 2], &[i32::MIN, i32::MIN]), &o, out)
    });
    assert_eq!(got, [i32::MIN; 2]);
    // the first of two zeros
    let o = Pool {
        kernel: [2, 2],
        stride: [1, 1],
        padding: [0, 0],
    };
    let zeros = |x: [f32; 4]| {
        output::<f32>(&[1, 1], |out| max_pool2d(input(&[2, 2], &x), &o, out))[0].is_sign_negative()
    };
    assert!(
        zeros([-0.0, 0.0, 0.0, 0.0]) && !zeros([0.0, -0.0, -0.0, -0.0]) && zeros([-1.0, -0.0, 0.0, -1.0])
    );
}

fn check_mean<S: Element>() {
    for (size, o) in CASES {
        let [h, w] = *size;
        let x = values::<S>(5 * h * w, 1);
        let [oh, ow] = out_size(*size, o);
        let got = output::<S>(&[5, oh, ow], |out| avg_pool2d(input(&[5, h, w], &x), o, out));
        let divisor = (o.kernel[0] * o.kernel[1]) as f64;
        let mean = |v: &Vec<S>| v.iter().map(|x| x.to_f64()).sum::<f64>() / divisor;
        let want: Vec<f64> = elements(&x, *size, o).iter().map(mean).collect();
        close(&got, &want, 0.1, o);
        for [oh, ow] in [[1, 1], [h, w], [3, 1], [1, 4], [5, 7], [2, 2], [10, 13]] {
            let got = output::<S>(&[5, oh, ow], |out| {
                adaptive_avg_pool2d(input(&[5, h, w], &x), out)
            });
            let window = |i: usize, n: usize, m: usize| {
                let f = n as f64 / m as f64;
                (i as f64 * f + 1e-9).floor() as usize..((i + 1) as f64 * f - 1e-9).ceil() as usize
            };
            let mut want = vec![];
            for i in 0..5 * oh * ow {
                let (p, ys, xs) = (i / (oh * ow), window(i / ow % oh, h, oh), window(i % ow, w, ow));
                let count = (ys.len() * xs.len()) as f64;
                let row = |y: usize| xs.clone().map(move |x| (p * h + y) * w + x);
                want.push(ys.flat_map(row).map(|i| x[i].to_f64()).sum::<f64>() / count);
            }
            close(&got, &want, 0.1, &(size, oh, ow));
        }
    }
}

#[test]
fn means_of_every_float() {
    check_mean::<f32>();
    check_mean::<f64>();
    check_mean::<f16>();
    check_mean::<bf16>();
}

#[test]
fn means_with_nan_and_infinity_and_of_nothing() {
    let o = Pool {
        kernel: [1, 2],
        stride: [1, 2],
        padding: [0, 0],
    };
    let x = [f32::NAN, 1.0, f32::INFINITY, 1.0, 2.0, 3.0];
    for adaptive in [false, true] {
        let got = output::<f32>(&[1, 3], |out| match adaptive {
            true => adaptive_avg_pool2d(input(&[1, 6], &x), out),
            false => avg_pool2d(input(&[1, 6], &x), &o, out),
        });
        assert!(
            got[0].is_nan() && got[1] == f32::INFINITY && got[2] == 2.5,
            "{got:?}"
        );
    }
    output::<f32>(&[0, 1, 3], |out| {
        avg_pool2d(input(&[0, 1, 6], &[] as &[f32]), &o, out)
    });
    output::<i32>(&[0, 1, 3], |out| {
        max_pool2d(input(&[0, 1, 6], &[] as &[i32]), &o, out)
    });
    output::<f32>(&[0, 1, 3], |out| {
        adaptive_avg_pool2d(input(&[0, 1, 6], &[] as &[f32]), out)
    });
}

#[test]
fn adaptive_windows_of_long_axes() {
    let n = 1 << 40;
    assert_eq!(adaptive(n - 1, n, n), n - 1..n);
    assert_eq!(adaptive(n - 1, n / 2, n), n / 2 - 1..n / 2);
    assert_eq!(adaptive(2, n, 3), n * 2 / 3..n);
}
