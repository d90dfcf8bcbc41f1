//! Functions without branches: 1, 4, 5, 8, 16 to 18, 35 to 37, and 39 to 42 with named dims.

use crate::check::{iota, v};
use tensorplay::compiler::{Codegen, disable_capture};
use tensorplay::{Result, compile, cond, explain, prelude::*, while_loop};

#[test]
fn case_01_exact_values() {
    #[compile]
    fn f(x: &Tensor, y: &Tensor) -> Tensor {
        x * y + y
    }
    let z = against_body!(f(&v(&[1.0, 2.0, 3.0]), &v(&[4.0, 5.0, 6.0])));
    assert_eq!(z.to_vec::<f32>(), [8.0, 15.0, 24.0]);
    let e = explain!(f);
    assert_eq!((e.calls.dispatched, e.entries.len()), (1, 1), "{e}");
}

#[test]
fn case_04_a_chain_of_methods() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        (x * 2.0 + 3.0).relu().sin()
    }
    let x = v(&[-4.0, -1.5, 0.0, 0.25, 2.0]);
    let y = f(&x);
    assert!(y.allclose(&disable_capture(|| f(&x)), 1e-6, 1e-6));
    let right: Vec<f32> = [0.0f32, 0.0, 3.0, 3.5, 7.0].iter().map(|a| a.sin()).collect();
    assert!(y.allclose(&v(&right), 1e-6, 1e-6), "{y}");
}

#[test]
fn case_05_convolution_with_bias_and_padding() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, w: &Tensor, b: &Tensor) -> Tensor {
        x.conv2d(w, Some(b), Conv2dOptions::default().padding(1)).relu()
    }
    let ones = Tensor::ones((1, 1, 3, 3), DType::F32);
    let y = f(&ones, &ones, &v(&[-5.0]));
    assert_eq!(y.shape(), [1, 1, 3, 3]);
    assert_eq!(y.to_vec::<f32>(), [0.0, 1.0, 0.0, 1.0, 4.0, 1.0, 0.0, 1.0, 0.0]);

    let (x, w) = (iota(&[2, 3, 5, 4]) * 0.125, iota(&[4, 3, 3, 3]) * 0.25 - 10.0);
    let b = v(&[1.0, -2.0, 0.5, 300.0]);
    let y = f(&x, &w, &b);
    assert!(y.allclose(&disable_capture(|| f(&x, &w, &b)), 1e-5, 1e-4));
    let e = explain!(f);
    let codegen: Vec<Codegen> = e.entries.iter().map(|e| e.codegen).collect();
    assert_eq!(codegen, [Codegen::StaxNative; 2], "{e}");
}

#[test]
fn case_08_a_hundred_operations_stay_native() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, y: &Tensor) -> Tensor {
        let x = x - y - y - y - y - y - y - y - y - y - y;
        let x = x - y - y - y - y - y - y - y - y - y - y;
        let x = x - y - y - y - y - y - y - y - y - y - y;
        let x = x - y - y - y - y - y - y - y - y - y - y;
        let x = x - y - y - y - y - y - y - y - y - y - y;
        let x = x - y - y - y - y - y - y - y - y - y - y;
        let x = x - y - y - y - y - y - y - y - y - y - y;
        let x = x - y - y - y - y - y - y - y - y - y - y;
        let x = x - y - y - y - y - y - y - y - y - y - y;
        x - y - y - y - y - y - y - y - y - y - y
    }
    let z = against_body!(f(&v(&[1000.0, 50.0, -1.0]), &v(&[3.0, 0.5, 0.0])));
    assert_eq!(z.to_vec::<f32>(), [700.0, 0.0, -1.0]);
    let e = explain!(f);
    // a group holds 64 operations
    assert_eq!((e.kernels.len(), e.calls.steps.tile), (2, 0), "{e}");
    assert!(e.fallbacks.is_empty(), "{e}");
}

#[test]
fn case_16_scalar_arguments_are_not_part_of_the_key() {
    #[compile]
    fn f(x: &Tensor, scale: f64, bias: i64) -> Tensor {
        x * scale + bias
    }
    let x = v(&[1.0, 2.0]);
    assert_eq!(f(&x, 2.0, 1).to_vec::<f32>(), [3.0, 5.0]);
    assert_eq!(f(&x, 3.0, 4).to_vec::<f32>(), [7.0, 10.0]);
    for n in 0..12 {
        against_body!(f(&x, 0.5, n));
    }
    assert_eq!(explain!(f).entries.len(), 1);
}

#[test]
fn case_17_a_scaled_operand_is_native() {
    #[compile(fullgraph)]
    fn f(left: &Tensor, right: &Tensor, alpha: f64) -> Tensor {
        left + right * alpha
    }
    assert_eq!(f(&v(&[1.0]), &v(&[3.0]), 2.0).to_vec::<f32>(), [7.0]);
    let e = explain!(f);
    assert_eq!((e.calls.steps.emitted, e.calls.steps.tile), (1, 0), "{e}");
    assert!(e.fallbacks.is_empty(), "{e}");
}

#[test]
fn case_18_zeros_of_a_symbolic_shape() {
    #[compile(fullgraph, spec(x = f32[N, M]))]
    fn f(x: &Tensor) -> (Tensor, Tensor) {
        let zeros = Tensor::zeros(x.shape(), DType::F32);
        let ones = Tensor::ones((x.dim(1), x.dim(0)), DType::I64);
        (zeros, ones)
    }
    for (n, m) in [(2, 3), (4, 5), (7, 2)] {
        let (zeros, ones) = against_body!(f(&iota(&[n, m])));
        assert_eq!((zeros.shape(), ones.shape()), (&[n, m][..], &[m, n][..]));
        assert_eq!(zeros.to_vec::<f32>(), vec![0.0; n * m]);
        assert_eq!(ones.to_vec::<i64>(), vec![1; n * m]);
    }
    assert_eq!(explain!(f).entries.len(), 1);
}

#[test]
fn case_35_a_size_is_an_entry_and_a_known_one_a_hit() {
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0 + 1.0
    }
    for (n, entries) in [(2, 1), (3, 2), (2, 2)] {
        against_body!(f(&iota(&[n])));
        assert_eq!(explain!(f).entries.len(), entries, "size {n}");
    }
}

#[test]
fn case_36_a_number_of_the_data_stays_in_the_graph() {
    #[compile(fullgraph)]
    fn scaled(x: &Tensor) -> Tensor {
        x * x.sum_all()
    }
    #[compile(fullgraph)]
    fn chosen(x: &Tensor) -> Tensor {
        let total = x.sum_all();
        cond(&total.gt(6.0), || x * &total, || x - &total)
    }
    for k in 0..6 {
        let x = iota(&[3]) + k;
        let total = 3.0 + 3.0 * k as f32;
        let right: Vec<f32> = x.to_vec::<f32>().iter().map(|a| a * total).collect();
        assert_eq!(against_body!(scaled(&x)).to_vec::<f32>(), right);
        let (first, last) = if total > 6.0 {
            (k as f32 * total, (k as f32 + 2.0) * total)
        } else {
            (k as f32 - total, k as f32 + 2.0 - total)
        };
        let y = against_body!(chosen(&x)).to_vec::<f32>();
        assert_eq!((y[0], y[2]), (first, last));
    }
    assert_eq!(explain!(scaled).entries.len(), 1);
    assert_eq!(explain!(chosen).entries.len(), 1);
}

#[test]
fn case_37_one_entry_for_any_number_of_steps() {
    #[compile(fullgraph)]
    fn doubled(x: &Tensor) -> (Tensor, Tensor) {
        while_loop(
            (x.clone(), Tensor::zeros((), DType::I64)),
            |(x, _)| x.max_all().lt(100.0),
            |(x, n)| (x * 2.0, n + 1),
        )
    }
    for (start, end, steps) in [(1.0, 128.0, 7), (3.0, 192.0, 6), (200.0, 200.0, 0)] {
        let (x, n) = against_body!(doubled(&v(&[start, -start])));
        assert_eq!(x.to_vec::<f32>(), [end, -end]);
        assert_eq!(n.item::<i64>(), steps);

        let (mut x, mut count) = (start, 0);
        while x < 100.0 {
            (x, count) = (x * 2.0, count + 1);
        }
        assert_eq!((x, count), (end, steps), "the loop by hand");
    }
    assert_eq!(explain!(doubled).entries.len(), 1);
}

#[test]
fn case_39_named_dims_are_one_entry() {
    #[compile(fullgraph, spec(x = f32[N, M]))]
    fn affine(x: &Tensor) -> Tensor {
        x * 2.0 + 1.0
    }
    #[compile(fullgraph, spec(x = f32[N, M]))]
    fn rows(x: &Tensor) -> Tensor {
        x.sum(-1)
    }
    #[compile(fullgraph, spec(x = f32[N, M]))]
    fn columns(x: &Tensor) -> Tensor {
        x.mean(0)
    }
    for (n, m) in [(2, 3), (3, 5), (8, 4)] {
        let x = iota(&[n, m]);
        against_body!(affine(&x));
        // i * m * m + 0 + 1 + .. + (m - 1)
        let right: Vec<f32> = (0..n).map(|i| (i * m * m + m * (m - 1) / 2) as f32).collect();
        assert_eq!(rows(&x).to_vec::<f32>(), right);
        let right: Vec<f32> = (0..m)
            .map(|j| j as f32 + m as f32 * (n - 1) as f32 / 2.0)
            .collect();
        assert!(columns(&x).allclose(&v(&right), 1e-6, 1e-6));
    }
    for e in [explain!(affine), explain!(rows), explain!(columns)] {
        assert_eq!(e.entries.len(), 1, "{e}");
    }
}

#[test]
fn case_40_sizes_0_and_1_are_classes_of_named_dims() {
    #[compile(spec(x = f32[N]))]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0 + 1.0
    }
    for n in [3, 1, 0, 7, 1, 0, 11] {
        let y = against_body!(f(&iota(&[n])));
        let right: Vec<f32> = (0..n).map(|i| 2.0 * i as f32 + 1.0).collect();
        assert_eq!(y.to_vec::<f32>(), right);
    }
    assert_eq!(explain!(f).entries.len(), 3);
}

#[test]
fn case_41_different_names_may_be_equal_or_broadcast() {
    #[compile(spec(x = f32[N], y = f32[M]))]
    fn f(x: &Tensor, y: &Tensor) -> Tensor {
        x + y
    }
    for (n, m) in [(3, 3), (5, 5), (7, 1), (11, 11), (13, 1)] {
        let z = against_body!(f(&iota(&[n]), &(iota(&[m]) + 1)));
        let right: Vec<f32> = (0..n).map(|i| (i + i % m + 1) as f32).collect();
        assert_eq!(z.to_vec::<f32>(), right);
    }
    assert_eq!(explain!(f).entries.len(), 2);
}

#[test]
fn case_42_arithmetic_on_named_dims() {
    #[compile(fullgraph, spec(x = f32[N, M]))]
    fn f(x: &Tensor) -> (Tensor, Tensor, Tensor) {
        let halves = x.reshape((x.dim(0) * x.dim(1) / 2, 2));
        let rows = x.sum_keepdim(1).expand((x.dim(0), x.dim(1)));
        (halves, x.flatten_all(), rows)
    }
    for (n, m) in [(2, 4), (3, 6), (5, 8)] {
        let (halves, flat, rows) = against_body!(f(&iota(&[n, m])));
        assert_eq!(halves.shape(), [n * m / 2, 2]);
        assert_eq!(flat.shape(), [n * m]);
        assert_eq!(rows.shape(), [n, m]);
    }
    assert_eq!(explain!(f).entries.len(), 1);

    #[compile(fullgraph, spec(x = f32[N]))]
    fn pairs(x: &Tensor) -> Result<Tensor> {
        Ok(x.reshape((-1, 2)))
    }
    assert_eq!(pairs(&iota(&[22])).expect("22 elements").shape(), [11, 2]);
    let e = pairs(&iota(&[21])).expect_err("21 elements").to_string();
    assert!(e.contains("reshape") && e.contains("[21]"), "{e}");
    assert_eq!(pairs(&iota(&[4])).expect("4 elements").shape(), [2, 2]);
}
