//! Emitted kernels: 87 to 90.

use crate::check::{Shown, iota, v};
use tensorplay::compiler::{Codegen, Explanation, disable_capture};
use tensorplay::{compile, explain, prelude::*};

fn natively(e: &Explanation) {
    assert!(e.fallbacks.is_empty() && e.calls.steps.tile == 0, "{e}");
    assert!(e.entries.iter().all(|e| e.codegen == Codegen::StaxNative), "{e}");
}

/// A few values of both signs that no sum rounds.
fn small(shape: &[usize]) -> Tensor {
    iota(shape).remainder(&v(&[7.0])) * 0.5 - 1.5
}

#[test]
fn case_87_tails_of_every_length() {
    #[compile(fullgraph, dynamic = true)]
    fn f(x: &Tensor, y: &Tensor) -> Tensor {
        let larger = x.gt(y).where_cond(x, y);
        let a = larger.clamp(-1.0, 1.0) * 2.0 + x;
        let b = larger.maximum(&(y * 0.5)) - y;
        &a * b + &a
    }
    for n in [1, 7, 33, 1001, 2, 15, 16, 17, 63, 64, 65, 4095, 4097] {
        let (x, y) = (small(&[n]), small(&[n]).flip(0));
        against_body!(f(&x, &y));
    }
    let e = explain!(f);
    natively(&e);
    assert_eq!(e.kernels.len(), 1, "a chain with a diamond is one kernel: {e}");
}

#[test]
fn case_87_equal_programs_share_a_kernel() {
    #[compile(fullgraph)]
    fn g(x: &Tensor) -> Tensor {
        (x * 2.0 + 1.0).relu()
    }
    #[compile(fullgraph)]
    fn h(x: &Tensor) -> Tensor {
        let y = x * 2.0 + 1.0;
        y.relu()
    }
    let x = small(&[9]);
    assert_eq!(g(&x).shown(), h(&x).shown());
    let (g, h) = (explain!(g), explain!(h));
    assert_eq!((g.kernels.len(), h.kernels.len()), (1, 1));
    let program = |e: &Explanation| {
        let lines = e.kernels[0].ir.lines().skip(1).map(str::to_string);
        lines.collect::<Vec<_>>()
    };
    assert_eq!(program(&g).len(), program(&h).len());
}

#[test]
fn case_88_rows_and_columns_of_every_layout_stay_native() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, y: &Tensor) -> Tensor {
        (x + y) * 2.0 - y
    }
    #[compile(fullgraph)]
    fn rows(x: &Tensor, y: &Tensor) -> Tensor {
        (x * y).sum(-1) + 1.0
    }
    let x = small(&[6, 7]);
    let cube = small(&[3, 6, 7]);
    let pairs = [
        (x.clone(), small(&[6, 1])),
        (x.clone(), small(&[7])),
        (small(&[12, 7]).slice(0, 0, 12, 2), x.clone()),
        (small(&[6, 14]).slice(1, 0, 14, 2), small(&[7])),
        (small(&[6, 1]).expand((6, 7)), x.clone()),
        (small(&[7, 6]).t(), x.clone()),
        (cube.clone(), small(&[6, 7])),
        (cube.clone(), small(&[3, 1, 7])),
        (cube.permute((1, 0, 2)), small(&[6, 1, 1])),
        (small(&[6, 9]).narrow(1, 4, 2), small(&[2])),
        (small(&[6, 9]).narrow(1, 4, 1), small(&[6, 1])),
        (x.flip(1), x.clone()),
    ];
    for (k, (x, y)) in pairs.iter().enumerate() {
        let (got, right) = (f(x, y), disable_capture(|| f(x, y)));
        assert_eq!(got.shown(), right.shown(), "pair {k}");
        let (got, right) = (rows(x, y), disable_capture(|| rows(x, y)));
        assert_eq!(got.shown(), right.shown(), "rows of pair {k}");
    }
    natively(&explain!(f));
    natively(&explain!(rows));
}

#[test]
fn case_89_mixed_regions() {
    #[compile(fullgraph)]
    fn error_function(x: &Tensor, y: &Tensor) -> Tensor {
        (x * y).erf() * x
    }
    #[compile(fullgraph)]
    fn between(x: &Tensor, w: &Tensor) -> Tensor {
        (x * 0.5 + 1.0).matmul(w).exp()
    }
    #[compile(fullgraph)]
    fn in_the_middle(x: &Tensor) -> Tensor {
        let e = (x * 0.5).exp();
        (&e / e.sum_keepdim(-1)) * x + e.mean_keepdim(0)
    }
    #[compile(fullgraph)]
    fn shared(x: &Tensor, w: &Tensor) -> (Tensor, Tensor, Tensor) {
        let h = x.relu() + 1.0;
        let p = h.matmul(w);
        (h.sum((0, 1)), &p * 2.0, p.max(0))
    }
    let (x, y, w) = (small(&[5, 7]), small(&[7]), small(&[7, 3]));
    for _ in 0..2 {
        let near = |a: Tensor, b: Tensor| assert!(a.allclose(&b, 1e-5, 1e-5), "{a}\n{b}");
        near(error_function(&x, &y), disable_capture(|| error_function(&x, &y)));
        near(between(&x, &w), disable_capture(|| between(&x, &w)));
        near(in_the_middle(&x), disable_capture(|| in_the_middle(&x)));
        let (a, b) = (shared(&x, &w), disable_capture(|| shared(&x, &w)));
        near(a.0, b.0);
        near(a.1, b.1);
        near(a.2, b.2);
    }
    for e in [
        explain!(error_function),
        explain!(between),
        explain!(in_the_middle),
        explain!(shared),
    ] {
        natively(&e);
    }
}

#[test]
fn case_90_forms_of_one_name_are_told_apart() {
    #[compile(fullgraph)]
    fn sums(x: &Tensor) -> (Tensor, Tensor) {
        (x.gt(0.0).sum(0), x.gt(0.0).to_dtype(DType::F32).sum(0))
    }
    #[compile(fullgraph)]
    fn maxima(x: &Tensor) -> (Tensor, Tensor, Tensor) {
        (x.max(0), x.max_all(), x.maximum(&(x * 0.0)))
    }
    #[compile(fullgraph)]
    fn promoted(n: &Tensor) -> (Tensor, Tensor, Tensor, Tensor) {
        (n + 1, n + 1.5, n / 2, n.clamp(-1, 1))
    }
    let x = Tensor::from_slice(&[1.0f32, -2.0, 3.0, 4.0], (2, 2));
    let (count, sum) = against_body!(sums(&x));
    assert_eq!((count.dtype(), count.to_vec::<i64>()), (DType::I64, vec![2, 1]));
    assert_eq!(sum.to_vec::<f32>(), [2.0, 1.0]);
    let (columns, all, positive) = against_body!(maxima(&x));
    assert_eq!(
        (columns.to_vec::<f32>(), all.item::<f32>()),
        (vec![3.0, 4.0], 4.0)
    );
    assert_eq!(positive.to_vec::<f32>(), [1.0, 0.0, 3.0, 4.0]);
    let (a, b, c, d) = promoted(&Tensor::from_slice(&[-3i64, 0, 5], 3));
    assert_eq!(a.to_vec::<i64>(), [-2, 1, 6]);
    assert_eq!((b.dtype(), b.to_vec::<f32>()), (DType::F32, vec![-1.5, 1.5, 6.5]));
    assert_eq!((c.dtype(), c.to_vec::<f32>()), (DType::F32, vec![-1.5, 0.0, 2.5]));
    assert_eq!((d.dtype(), d.to_vec::<i64>()), (DType::I64, vec![-1, 0, 1]));
}

#[test]
fn case_90_results_are_no_ones_but_the_callers() {
    #[compile(fullgraph)]
    fn f(x: &mut Tensor) -> (Tensor, Tensor, Tensor) {
        let total = x.sum_keepdim(0);
        let (a, b) = (&*x + 1.0, &*x + 1.0);
        *x = &*x * 2.0;
        (total, a, b)
    }
    let mut x = v(&[1.0, 2.0]);
    let first = f(&mut x);
    let mut a = first.1.clone();
    f(&mut a);
    let second = f(&mut x);
    assert_eq!(first.0.to_vec::<f32>(), [3.0]);
    assert_eq!(first.1.to_vec::<f32>(), [2.0, 3.0]);
    assert_eq!(first.2.to_vec::<f32>(), [2.0, 3.0]);
    assert_eq!(a.to_vec::<f32>(), [4.0, 6.0]);
    assert_eq!(second.0.to_vec::<f32>(), [6.0]);
    assert_eq!(x.to_vec::<f32>(), [4.0, 8.0]);
}
