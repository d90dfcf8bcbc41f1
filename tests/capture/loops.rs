//! Loops: literal ranges unroll when built, the others when bound.

use crate::check::{iota, v};
use crate::seed::seeded;
use tensorplay::{Result, compile, explain, prelude::*};

#[test]
fn a_literal_range() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, w: &Tensor) -> Tensor {
        let mut h = x.clone();
        for _ in 0..3 {
            h = h.matmul(w) + x;
        }
        h
    }
    let y = against_body!(f(&v(&[1.0, 1.0]), &(iota(&[2, 2]) * 0.0 + 1.0)));
    assert_eq!(y.to_vec::<f32>(), [15.0, 15.0]);
    let e = explain!(f);
    assert_eq!(
        (e.entries.len(), e.calls.dispatched, e.breaks.len()),
        (1, 1, 0),
        "{e}"
    );
}

#[test]
fn the_index_is_a_number_and_a_condition() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        let mut y = x.select(0, 0) * 0.0;
        for i in 0..=2 {
            let row = x.select(0, i);
            y = if i % 2 == 0 { y + row * i as f64 } else { y - row };
        }
        for k in 5..7 {
            y *= k;
        }
        y
    }
    let y = against_body!(f(&iota(&[3, 2])));
    // (2 * [4, 5] - [2, 3]) * 5 * 6
    assert_eq!(y.to_vec::<f32>(), [180.0, 210.0]);
}

#[test]
fn empty_ranges() {
    #[compile(fullgraph)]
    #[allow(clippy::reversed_empty_ranges)]
    fn f(x: &Tensor) -> Tensor {
        let mut y = x + 1.0;
        for _ in 3..3 {
            y *= 0.0;
        }
        for t in 1..x.dim(0) {
            y += x.select(0, t);
        }
        y
    }
    for n in [1, 2, 0, 4] {
        against_body!(f(&iota(&[n])));
    }
    assert_eq!(explain!(f).calls.dispatched, 4);
}

#[test]
fn a_loop_over_a_dim() {
    #[compile(fullgraph)]
    fn f(xs: &Tensor, h: &Tensor) -> Tensor {
        let mut h = h.clone();
        for t in 0..xs.dim(0) {
            h = h * 0.5 + xs.select(0, t);
        }
        h
    }
    for n in [3, 1, 0, 5, 3] {
        against_body!(f(&iota(&[n, 2]), &v(&[8.0, 16.0])));
    }
    let y = f(&iota(&[3, 2]), &v(&[8.0, 16.0]));
    // ((8, 16) / 2 + (0, 1)) / 2 + (2, 3)) / 2 + (4, 5)
    assert_eq!(y.to_vec::<f32>(), [6.0, 8.75]);
    let e = explain!(f);
    assert_eq!(
        (e.graphs.len(), e.entries.len(), e.calls.dispatched),
        (1, 4, 6),
        "{e}"
    );
}

#[test]
fn a_loop_over_a_named_dim_binds_once_a_count() {
    #[compile(fullgraph, spec(xs = f32[T, 2], h = f32[2]))]
    fn f(xs: &Tensor, h: &Tensor) -> Tensor {
        let mut h = h.clone();
        for t in 0..xs.dim(0) {
            h = (h + xs.select(0, t)) * 0.5;
        }
        h
    }
    let h = v(&[1.0, 2.0]);
    for n in [2, 5, 3, 5, 2] {
        against_body!(f(&iota(&[n, 2]), &h));
    }
    let e = explain!(f);
    assert_eq!(
        (e.graphs.len(), e.entries.len(), e.entries[0].binds),
        (1, 1, 3),
        "{e}"
    );
    assert_eq!((e.calls.dispatched, e.calls.bound), (5, 3), "{e}");
}

#[test]
fn several_values_are_carried() {
    #[compile(fullgraph)]
    fn f(xs: &Tensor) -> (Tensor, Tensor, Tensor) {
        let (mut low, mut high) = (xs.select(0, 0), xs.select(0, 0));
        let mut sum = low.zeros_like();
        for t in 0..xs.dim(0) {
            let x = xs.select(0, t);
            (low, high) = (low.minimum(&x), high.maximum(&x));
            sum += x * (t + 1) as f64;
        }
        (low, high, sum)
    }
    for n in [1, 4] {
        let xs = (iota(&[n, 3]) - 5.0).square();
        against_body!(f(&xs));
    }
}

#[test]
fn tensors_are_collected_in_a_literal_range() {
    #[compile(fullgraph)]
    fn literal(x: &Tensor) -> Tensor {
        let mut parts = vec![x.clone()];
        for i in 1..4 {
            parts.push(x * i as f64);
        }
        Tensor::stack(&parts, 0)
    }
    let y = against_body!(literal(&v(&[1.0, 2.0])));
    assert_eq!(y.to_vec::<f32>(), [1.0, 2.0, 1.0, 2.0, 2.0, 4.0, 3.0, 6.0]);
}

#[test]
fn nested_loops() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        let mut total = Tensor::zeros((), x.dtype());
        for i in 0..x.dim(0) {
            let mut row = Tensor::zeros((), x.dtype());
            for j in 0..x.dim(1) {
                row = row * 10.0 + x.select(0, i).select(0, j);
            }
            total += row;
        }
        total
    }
    #[compile(fullgraph)]
    fn mixed(x: &Tensor) -> Tensor {
        let mut y = x.clone();
        for i in 0..2 {
            for t in 0..x.dim(0) {
                y += x.select(0, t) * (i + 1) as f64;
            }
        }
        y
    }
    assert_eq!(against_body!(f(&iota(&[2, 3]))).item::<f32>(), 357.0);
    assert_eq!(against_body!(f(&iota(&[1, 2]))).item::<f32>(), 1.0);
    against_body!(mixed(&iota(&[3])));
    against_body!(mixed(&iota(&[2, 2])));
}

#[test]
fn a_branch_inside_a_loop_and_a_loop_inside_a_branch() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, relu: bool) -> Tensor {
        let mut y = x.clone();
        for _ in 0..3 {
            y = if relu { (y - 1.0).relu() } else { y - 1.0 };
        }
        if x.dim(0) > 2 {
            for t in 0..x.dim(0) {
                y *= (t + 1) as f64;
            }
        }
        y
    }
    for n in [2, 4] {
        for relu in [true, false] {
            against_body!(f(&(iota(&[n]) + 2.5), relu));
        }
    }
    let e = explain!(f);
    assert_eq!((e.graphs.len(), e.entries.len()), (4, 4), "{e}");
}

#[test]
fn while_on_metadata() {
    #[compile(fullgraph)]
    fn halve(x: &Tensor) -> Tensor {
        let mut y = x.clone();
        while y.dim(0) > 1 {
            let half = y.dim(0) / 2;
            y = y.narrow(0, 0, half) + y.narrow(0, half, half);
        }
        y
    }
    for n in [1, 2, 8, 4] {
        let y = against_body!(halve(&iota(&[n])));
        assert_eq!(y.to_vec::<f32>(), [(n * (n - 1) / 2) as f32]);
    }
}

#[test]
fn while_with_a_branch_and_a_loop_inside() {
    #[allow(clippy::manual_is_multiple_of)] // the remainder is what is captured
    #[compile(fullgraph)]
    fn f(x: &Tensor, w: &Tensor) -> (Tensor, Tensor) {
        let mut y = x.clone();
        let mut steps = Tensor::zeros((), x.dtype());
        while y.dim(0) > w.dim(0) {
            y = if y.dim(0) % 2 == 0 {
                y.narrow(0, 0, y.dim(0) / 2) * 2.0
            } else {
                y.narrow(0, 1, y.dim(0) - 1)
            };
            for t in 0..w.dim(0) {
                y += w.select(0, t);
            }
            steps += 1.0;
        }
        (y, steps)
    }
    for n in [1, 2, 6, 7, 13] {
        for m in [1, 2, 3] {
            against_body!(f(&iota(&[n]), &iota(&[m])));
        }
    }
    let (_, steps) = f(&iota(&[13]), &iota(&[1]));
    assert_eq!(steps.item::<f32>(), 5.0, "13, 12, 6, 3, 2, 1");
    let e = explain!(f);
    assert_eq!((e.graphs.len(), e.calls.dispatched), (1, 16), "{e}");
}

#[test]
fn while_that_the_build_decides() {
    #[compile(fullgraph, spec(x = f32[8]))]
    fn sizes(x: &Tensor) -> Tensor {
        let mut y = x.clone();
        while y.dim(0) > 1 {
            let half = y.dim(0) / 2;
            y = y.narrow(0, 0, half) + y.narrow(0, half, half);
        }
        y
    }
    #[compile(fullgraph)]
    fn numbers(x: &Tensor) -> Tensor {
        let mut y = x.clone();
        let mut n = 1;
        while n < 20 {
            n *= 3;
            y += n as f64;
        }
        y
    }
    assert_eq!(against_body!(sizes(&iota(&[8]))).item::<f32>(), 28.0);
    assert_eq!(against_body!(numbers(&iota(&[1]))).item::<f32>(), 39.0);
    for e in [explain!(sizes), explain!(numbers)] {
        let nodes = e.graphs[0].nodes();
        assert!(nodes.iter().all(|n| n.op_name() != "each"), "{e}");
    }
}

#[test]
fn while_that_never_ends() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Result<Tensor> {
        let mut y = x.clone();
        while x.dim(0) > 1 {
            y += 1.0;
        }
        Ok(y)
    }
    let e = f(&iota(&[2])).expect_err("no end").to_string();
    assert!(
        e.contains("`while x.dim(0) > 1` on line ") && e.contains("takes more than 65536 steps"),
        "{e}"
    );
    against_body!(f(&iota(&[1]))).expect("no step");
}

#[test]
fn random_numbers_in_every_turn() {
    #[compile(fullgraph)]
    fn walk(xs: &Tensor) -> Tensor {
        let mut at = xs.select(0, 0);
        for _ in 0..xs.dim(0) {
            at += Tensor::rand(2, DType::F32);
        }
        at + Tensor::rand(2, DType::F32)
    }
    for n in [1, 3] {
        let run = || seeded(5, || walk(&iota(&[n, 2])).to_vec::<f32>());
        assert_eq!(run(), tensorplay::compiler::disable_capture(run));
    }
}

#[test]
fn a_loop_that_carries_nothing() {
    #[compile(fullgraph)]
    fn nothing(x: &Tensor) -> Tensor {
        let y = x + 1.0;
        for _ in 0..x.dim(0) {}
        y
    }
    #[compile(fullgraph)]
    fn unused(x: &Tensor) -> Tensor {
        let y = x + 1.0;
        for i in 0..x.dim(0) {
            let _k = &y + i as f64;
        }
        y
    }
    #[compile]
    fn nested(x: &Tensor) -> Tensor {
        let mut v = vec![x.exp()];
        for _ in 0..x.dim(0) {
            for _ in 0..x.dim(1) {
                v.push(x * 2.0);
            }
        }
        Tensor::stack(&v, 0)
    }
    for shape in [[0, 3], [1, 2], [3, 2]] {
        against_body!(nothing(&iota(&shape)));
        against_body!(unused(&iota(&shape)));
        assert_eq!(nested(&iota(&shape)).dim(0), 1 + shape[0] * shape[1]);
    }
}
