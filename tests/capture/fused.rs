//! Groups in which the shapes of some operands are known and those of others are not: which nodes become one kernel
//! is assumed then, and the result is the body's whatever the shapes are.

use crate::check::{Shown, iota, v};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tensorplay::{compile, compiler::disable_capture, explain, prelude::*};

/// What is added to or multiplied with a `[3]`; the last three do not fit.
const SHAPES: &[&[usize]] = &[
    &[2, 3],
    &[3],
    &[1],
    &[],
    &[0, 3],
    &[5, 2, 3],
    &[3, 1],
    &[1, 1],
    &[4],
    &[3, 2],
    &[2, 0],
];

/// The result, or the message of the panic.
fn outcome<T: Shown>(f: impl Fn() -> T) -> String {
    catch_unwind(AssertUnwindSafe(f)).map_or_else(
        |e| match e.downcast_ref::<String>() {
            Some(m) => m.clone(),
            None => e.downcast_ref::<&str>().copied().unwrap_or("?").to_string(),
        },
        |v| v.shown(),
    )
}

/// A call and then the same from its plan, against the plain body.
fn like_the_body<T: Shown>(what: &str, call: impl Fn() -> T) {
    let plain = outcome(|| disable_capture(&call));
    for _ in 0..2 {
        assert_eq!(outcome(&call), plain, "{what}");
    }
}

/// Small integers, so that sums and products are exact in any order.
fn small(shape: &[usize]) -> Tensor {
    iota(shape) - 2.0
}

macro_rules! all_shapes {
    ($f:ident($w:expr)) => {
        for shape in SHAPES {
            let x = small(shape);
            like_the_body(&format!("{} {shape:?}", stringify!($f)), || $f(&x, $w));
        }
    };
}

#[test]
fn a_sum_of_all_beside_a_point_operation() {
    #[compile(spec(w = f32[3]))]
    fn number(x: &Tensor, w: &Tensor) -> Tensor {
        x + w * 2.0 - (w * 3.0).sum_all()
    }
    #[compile(spec(w = f32[N]))]
    fn named(x: &Tensor, w: &Tensor) -> Tensor {
        x + w * 2.0 - (w * 3.0).sum_all()
    }
    #[compile(spec(x = f32[..], w = f32[3]))]
    fn ranked(x: &Tensor, w: &Tensor) -> Tensor {
        x + w * 2.0 - (w * 3.0).sum_all()
    }
    #[compile(spec(w = f32[3]))]
    fn direct(x: &Tensor, w: &Tensor) -> Tensor {
        x + w.abs() - w.sum(0)
    }
    #[compile(spec(w = f32[3]))]
    fn product(x: &Tensor, w: &Tensor) -> Tensor {
        x * w.abs() * w.max_all()
    }
    #[compile(spec(w = f32[3]))]
    fn two(x: &Tensor, w: &Tensor) -> (Tensor, Tensor) {
        let y = x + w * 2.0;
        (&y - (w * 3.0).sum_all() * w, y + w.max_keepdim(0))
    }
    #[compile]
    fn open(x: &Tensor, w: &Tensor) -> Tensor {
        x + w * 2.0 - (w * 3.0).sum_all()
    }
    let w = v(&[1.0, -4.0, 2.0]);
    all_shapes!(number(&w));
    all_shapes!(named(&w));
    all_shapes!(ranked(&w));
    all_shapes!(direct(&w));
    all_shapes!(product(&w));
    all_shapes!(two(&w));
    all_shapes!(open(&w));
}

#[test]
fn a_mean_of_all_of_named_dims() {
    #[compile(spec(w = f32[B, N]))]
    fn f(x: &Tensor, w: &Tensor) -> Tensor {
        x * (w * 2.0) - w.mean_all()
    }
    for w in [&[4, 3][..], &[1, 3], &[2, 3], &[0, 3], &[2, 1]] {
        let w = small(w);
        all_shapes!(f(&w));
    }
}

#[test]
fn a_sum_of_the_operand_of_unknown_shape() {
    #[compile(spec(w = f32[3]))]
    fn f(x: &Tensor, w: &Tensor) -> Tensor {
        w + x * 2.0 - (x * 3.0).sum_all()
    }
    #[compile(spec(w = f32[3]))]
    fn g(x: &Tensor, w: &Tensor) -> Tensor {
        (x * 3.0).sum_keepdim(-1) * w + (w - x).sum_all()
    }
    let w = v(&[1.0, -4.0, 2.0]);
    all_shapes!(f(&w));
    all_shapes!(g(&w));
}

#[test]
fn reductions_over_different_dims() {
    #[compile(spec(x = f32[2, 3]))]
    fn left(y: &Tensor, x: &Tensor) -> Tensor {
        (x - x.max_keepdim(-1)) + y.sum_keepdim(0) * y
    }
    #[compile(spec(y = f32[2, 3]))]
    fn right(x: &Tensor, y: &Tensor) -> Tensor {
        (x - x.max_keepdim(-1)) + y.sum_keepdim(0) * y
    }
    #[compile(spec(y = f32[R, C]))]
    fn dropped(x: &Tensor, y: &Tensor) -> Tensor {
        (x - x.max_keepdim(-1)) * y.sum(0) + y.sum(1).sum(0) * x - (y * 2.0).sum_all()
    }
    #[compile(spec(y = f32[2, 3]))]
    fn square(x: &Tensor, y: &Tensor) -> (Tensor, Tensor) {
        let z = y * 2.0 + x;
        (y.sum(0) - &z, y.sum(0) * y.min(0) + z.sum_keepdim(0))
    }
    let y = small(&[2, 3]);
    all_shapes!(left(&y));
    all_shapes!(right(&y));
    all_shapes!(dropped(&y));
    all_shapes!(square(&y));
}

#[test]
fn softmax_beside_a_sum() {
    #[compile(spec(y = f32[2, 3]))]
    fn f(x: &Tensor, y: &Tensor) -> Tensor {
        x.softmax(-1) + y.sum_keepdim(0) * y
    }
    #[compile(spec(x = f32[2, 3]))]
    fn g(y: &Tensor, x: &Tensor) -> Tensor {
        x.softmax(-1) + y.sum_keepdim(0) * y - y.sum_all()
    }
    for shape in [&[2, 3][..], &[3], &[1], &[0, 3], &[5, 2, 3]] {
        let (x, y) = (small(shape), small(&[2, 3]));
        if shape != [0, 3] {
            let plain = disable_capture(|| f(&x, &y));
            assert!(f(&x, &y).allclose(&plain, 1e-6, 1e-6), "{shape:?}");
            let plain = disable_capture(|| g(&x, &y));
            assert!(g(&x, &y).allclose(&plain, 1e-6, 1e-6), "{shape:?}");
        } else {
            like_the_body("f", || f(&x, &y));
            like_the_body("g", || g(&x, &y));
        }
    }
}

#[test]
fn tensors_that_the_function_makes() {
    #[compile]
    fn ones(x: &Tensor, _: &Tensor) -> Tensor {
        let w = Tensor::ones(3, DType::F32);
        x + &w * 2.0 - w.sum_all()
    }
    #[compile]
    fn zeros(x: &Tensor, w: &Tensor) -> Tensor {
        let z = Tensor::zeros((2, 3), DType::F32) + 2.0;
        (x - w) * (&z * 2.0) - z.sum(0) + (&z * w).max_keepdim(1)
    }
    #[compile]
    fn arange(x: &Tensor, w: &Tensor) -> Tensor {
        let a = Tensor::arange(0, 3, DType::F32);
        x * (&a + 1.0) - (&a * w).sum_all() + a.sum_keepdim(0)
    }
    #[compile]
    fn full(x: &Tensor, w: &Tensor) -> (Tensor, Tensor) {
        let a = Tensor::full((2, 3), 3.0, DType::F32);
        let y = x + &a * w;
        (&y - a.sum_all() * w.sum_all(), (y * &a).sum(-1))
    }
    let w = v(&[1.0, -4.0, 2.0]);
    all_shapes!(ones(&w));
    all_shapes!(zeros(&w));
    all_shapes!(arange(&w));
    all_shapes!(full(&w));
}

#[test]
fn the_shape_that_was_assumed_runs_on_two_emitted_kernels() {
    #[compile(fullgraph, spec(w = f32[3]))]
    fn f(x: &Tensor, w: &Tensor) -> Tensor {
        x + w * 2.0 - (w * 3.0).sum_all()
    }
    let w = v(&[1.0, -4.0, 2.0]);
    against_body!(f(&small(&[3]), &w));
    let e = explain!(f);
    let steps = e.calls.steps;
    assert_eq!(
        (e.calls.dispatched, steps.emitted, steps.splits),
        (1, 2, 0),
        "{e}"
    );
    against_body!(f(&small(&[2, 3]), &w));
    let e = explain!(f);
    let steps = e.calls.steps;
    assert_eq!(
        (e.calls.dispatched, steps.emitted, steps.splits),
        (2, 3, 1),
        "{e}"
    );
}
