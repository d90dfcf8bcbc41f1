//! `dynamic = true`, one entry for all sizes but 0 and 1: 25, 26, 32 to 34, 39 to 42 and 45.

use crate::check::{iota, v};
use tensorplay::{Result, compile, explain, prelude::*};

#[test]
fn case_25_each_layout_is_right_and_an_entry() {
    #[compile(dynamic = true)]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0 + 1.0
    }
    for round in 0..2 {
        for n in [4, 6] {
            let views = [
                iota(&[n, n]),
                iota(&[n, n]).t(),
                iota(&[1, n]).expand((n, n)),
                iota(&[n, 2 * n]).slice(1, 0, 2 * n, 2),
            ];
            for (k, x) in views.iter().enumerate() {
                against_body!(f(x));
                let entries = if round == 0 && n == 4 { k + 1 } else { 4 };
                assert_eq!(explain!(f).entries.len(), entries, "size {n}, view {k}");
            }
        }
    }
}

#[test]
fn case_26_sizes_of_two_layouts_are_two_entries() {
    #[compile(dynamic = true)]
    fn f(x: &Tensor) -> Tensor {
        x.softmax(-1) * 2.0
    }
    for n in [4, 6, 8] {
        against_body!(f(&iota(&[n, 5])));
        against_body!(f(&iota(&[5, n]).t()));
    }
    assert_eq!(explain!(f).entries.len(), 2);
}

#[test]
fn case_32_a_branch_on_a_dynamic_size() {
    #[compile(fullgraph, dynamic = true)]
    fn f(x: &Tensor) -> Tensor {
        if x.dim(0) > 2 { x * 2.0 } else { x + 1.0 }
    }
    for (n, entries) in [(4, 1), (1, 2), (4, 2)] {
        let y = against_body!(f(&iota(&[n])));
        let right = |i: usize| if n > 2 { 2.0 * i as f32 } else { i as f32 + 1.0 };
        assert_eq!(y.to_vec::<f32>(), (0..n).map(right).collect::<Vec<_>>());
        assert_eq!(explain!(f).entries.len(), entries, "size {n}");
    }
}

#[test]
fn case_33_sizes_that_are_not_read() {
    #[compile(dynamic = true)]
    fn f(x: &Tensor) -> Tensor {
        (x + 1.0).relu()
    }
    #[compile(dynamic_shapes = true)]
    fn other_spelling(x: &Tensor) -> Tensor {
        (x + 1.0).relu()
    }
    for n in [3, 5, 7] {
        against_body!(f(&iota(&[n])));
        against_body!(other_spelling(&iota(&[n])));
    }
    assert_eq!(explain!(f).entries.len(), 1);
    assert_eq!(explain!(other_spelling).entries.len(), 1);
}

#[test]
fn case_34_sizes_of_a_parameter_that_no_branch_reads_are_free() {
    #[compile(fullgraph, dynamic = true)]
    fn f(x: &Tensor, y: &Tensor) -> Tensor {
        if y.dim(0) > 2 { x + 1.0 } else { x - 1.0 }
    }
    for n in [2, 3, 5, 9] {
        against_body!(f(&iota(&[n]), &iota(&[4])));
    }
    assert_eq!(explain!(f).entries.len(), 1);
    against_body!(f(&iota(&[3]), &iota(&[2])));
    assert_eq!(explain!(f).entries.len(), 2);
}

#[test]
fn case_39_dynamic_kernels_are_one_entry() {
    #[compile(fullgraph, dynamic = true)]
    fn affine(x: &Tensor) -> Tensor {
        x * 2.0 + 1.0
    }
    #[compile(fullgraph, dynamic = true)]
    fn rows(x: &Tensor) -> Tensor {
        x.sum(-1)
    }
    #[compile(fullgraph, dynamic = true)]
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
fn case_40_sizes_0_and_1_are_classes() {
    #[compile(dynamic = true)]
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
fn case_41_equal_sizes_are_no_promise() {
    #[compile(dynamic = true)]
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
fn case_42_arithmetic_on_dynamic_sizes() {
    #[compile(fullgraph, dynamic = true)]
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

    #[compile(fullgraph, dynamic = true)]
    fn pairs(x: &Tensor) -> Result<Tensor> {
        Ok(x.reshape((-1, 2)))
    }
    assert_eq!(pairs(&iota(&[22])).expect("22 elements").shape(), [11, 2]);
    let e = pairs(&iota(&[21])).expect_err("21 elements").to_string();
    assert!(e.contains("reshape") && e.contains("[21]"), "{e}");
    assert_eq!(pairs(&iota(&[4])).expect("4 elements").shape(), [2, 2]);
}

#[test]
fn case_45_a_branch_on_a_dynamic_size_is_two_entries() {
    #[compile(fullgraph, dynamic = true)]
    fn f(x: &Tensor) -> Tensor {
        if x.dim(0) > 4 { x.sum(0) } else { x.max(0) }
    }
    for n in [2, 3, 4, 5, 6, 7] {
        let y = against_body!(f(&iota(&[n, 2])));
        let n = n as f32;
        let right = if n > 4.0 {
            [n * (n - 1.0), n * n]
        } else {
            [2.0 * n - 2.0, 2.0 * n - 1.0]
        };
        assert_eq!(y.to_vec::<f32>(), right);
    }
    let e = explain!(f);
    assert_eq!((e.graphs.len(), e.entries.len()), (2, 2), "{e}");
}
