//! Branches on metadata: one graph a path, and only what was read is guarded.

use crate::check::{iota, v};
use tensorplay::{compile, explain, prelude::*};

#[test]
fn a_chain_of_else_if() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        if x.dim(0) > 8 {
            x.sum_keepdim(0)
        } else if x.dim(0) > 4 {
            x * 3.0
        } else if x.dim(0) == 0 {
            Tensor::zeros(1, x.dtype())
        } else {
            x - 1.0
        }
    }
    for n in [9, 5, 0, 2, 8, 4, 1, 12] {
        against_body!(f(&iota(&[n])));
    }
    let e = explain!(f);
    assert_eq!((e.graphs.len(), e.guards.len()), (4, 4), "{e}");
    assert_eq!((e.entries.len(), e.calls.dispatched), (8, 8), "{e}");
    assert!(e.breaks.is_empty(), "{e}");
}

#[test]
fn an_if_without_else_changes_a_local() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, double: bool, shift: bool) -> Tensor {
        let mut y = x + 1.0;
        if double {
            y *= 2.0;
        }
        if shift {
            y = &y - x;
        }
        y
    }
    let x = iota(&[3]);
    for (double, shift, right) in [
        (false, false, [1.0, 2.0, 3.0]),
        (false, true, [1.0, 1.0, 1.0]),
        (true, false, [2.0, 4.0, 6.0]),
        (true, true, [2.0, 3.0, 4.0]),
    ] {
        assert_eq!(against_body!(f(&x, double, shift)).to_vec::<f32>(), right);
    }
    let e = explain!(f);
    assert_eq!((e.graphs.len(), e.entries.len()), (4, 4), "{e}");
}

#[test]
fn branches_define_different_locals() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, w: &Tensor) -> Tensor {
        let (scale, y) = if x.rank() == 2 {
            let wide = x.matmul(w);
            let mean = wide.mean_keepdim(-1);
            (2.0, wide - mean)
        } else {
            let scale = x.dim(0) as f64;
            (scale, x * 0.5)
        };
        y * scale
    }
    let w = iota(&[3, 4]);
    against_body!(f(&iota(&[2, 3]), &w));
    assert_eq!(
        against_body!(f(&iota(&[4]), &w)).to_vec::<f32>(),
        [0.0, 2.0, 4.0, 6.0]
    );
}

#[test]
fn nested_branches() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, flip: bool) -> Tensor {
        if x.dim(0) > 2 {
            if flip {
                let y = x.flip(0);
                if x.rank() == 2 { y.sum(1) } else { y }
            } else {
                x * 2.0
            }
        } else {
            x.neg()
        }
    }
    for (shape, flip) in [
        (&[3][..], true),
        (&[3, 2], true),
        (&[3], false),
        (&[1], true),
        (&[1], false),
    ] {
        against_body!(f(&iota(shape), flip));
    }
    let e = explain!(f);
    assert_eq!((e.graphs.len(), e.calls.dispatched), (4, 5), "{e}");
}

#[test]
fn an_early_return_in_a_branch() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, w: &Tensor, skip: bool) -> Tensor {
        if x.elem_count() == 0 {
            return Tensor::zeros(w.dim(1), x.dtype());
        }
        let h = x.matmul(w);
        if skip {
            return h;
        }
        h.relu() + 1.0
    }
    let w = iota(&[2, 3]) - 3.0;
    for skip in [true, false] {
        against_body!(f(&iota(&[0]), &w, skip));
        against_body!(f(&v(&[1.0, -1.0]), &w, skip));
    }
    assert_eq!(explain!(f).graphs.len(), 3);
}

#[test]
fn conditions_on_rank_count_and_length() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        if x.shape().len() == 3 && x.elem_count() > 8 {
            x.sum(0)
        } else if x.rank() < 2 || x.dim(0) != x.dim(1) {
            x + 10.0
        } else {
            x.transpose(0, 1) * 1.0
        }
    }
    for shape in [&[3, 2, 2][..], &[2, 2, 2], &[2, 1, 2], &[4], &[2, 3], &[2, 2]] {
        against_body!(f(&iota(shape)));
    }
    assert_eq!(explain!(f).calls.dispatched, 6);
}

#[test]
fn two_parameters_are_compared() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, y: &Tensor) -> Tensor {
        if x.shape() == y.shape() {
            x + y
        } else if x.dim(-1) == y.dim(0) {
            x.matmul(y)
        } else {
            x.sum_all() + y.sum_all()
        }
    }
    for (a, b) in [(&[2, 2][..], &[2, 2][..]), (&[3, 2], &[2, 4]), (&[3, 2], &[3, 4])] {
        against_body!(f(&iota(a), &iota(b)));
    }
    assert_eq!(explain!(f).graphs.len(), 3);
}

#[test]
fn dtype_layout_and_gradient_flag() {
    #[compile(fullgraph)]
    fn by_dtype(x: &Tensor) -> Tensor {
        match x.dtype() {
            DType::I64 => x + 1,
            DType::F64 | DType::F32 => x * 0.5,
            _ => x.to_dtype(DType::F32),
        }
    }
    let x = iota(&[4]);
    for dtype in [DType::F32, DType::I64, DType::F64, DType::Bool, DType::I32] {
        against_body!(by_dtype(&x.to_dtype(dtype)));
    }
    let e = explain!(by_dtype);
    assert_eq!((e.graphs.len(), e.entries.len()), (3, 5), "{e}");

    #[compile(fullgraph)]
    fn by_layout(x: &Tensor) -> Tensor {
        if !x.is_contiguous() { x * 3.0 } else { x * 2.0 }
    }
    let x = iota(&[2, 3]);
    assert_eq!(
        against_body!(by_layout(&x)).to_vec::<f32>(),
        [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    );
    assert_eq!(
        against_body!(by_layout(&x.t())).to_vec::<f32>(),
        [0.0, 9.0, 3.0, 12.0, 6.0, 15.0]
    );

    #[compile(fullgraph)]
    fn by_flag(x: &Tensor) -> Tensor {
        if x.requires_grad() { x * 2.0 } else { x.clone() }
    }
    let x = v(&[1.5]);
    assert_eq!(against_body!(by_flag(&x)).item::<f32>(), 1.5);
    let x = x.requires_grad_(true);
    let y = against_body!(by_flag(&x));
    assert_eq!(y.item::<f32>(), 3.0);
}

#[test]
fn a_match_on_sizes() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        match x.dim(0) {
            0 => Tensor::zeros(3, x.dtype()),
            1 | 2 => x + 1.0,
            3..=5 => x * 2.0,
            n if n % 2 == 0 => x / n as f64,
            _ => x.neg(),
        }
    }
    for n in [0, 1, 2, 3, 5, 6, 7, 8] {
        against_body!(f(&iota(&[n])));
    }
    let e = explain!(f);
    assert_eq!((e.graphs.len(), e.entries.len()), (5, 8), "{e}");

    #[compile(fullgraph)]
    fn pairs(x: &Tensor, keep: bool) -> Tensor {
        match (x.rank(), keep) {
            (1, _) => x + 1.0,
            (2, true) => x.sum_keepdim(1),
            (2, false) => x.sum(1),
            (rank, _) => x * rank as f64,
        }
    }
    for shape in [&[2][..], &[2, 2], &[1, 2, 2]] {
        for keep in [true, false] {
            against_body!(pairs(&iota(shape), keep));
        }
    }
    assert_eq!(explain!(pairs).graphs.len(), 4);
}

#[test]
fn integer_and_enum_parameters() {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Activation {
        None,
        Relu,
        Square,
    }

    #[compile(fullgraph)]
    fn f(x: &Tensor, activation: Activation, power: i64) -> Tensor {
        let y = match activation {
            Activation::None => x.clone(),
            Activation::Relu => x.relu(),
            Activation::Square => x.square(),
        };
        if power > 1 { &y * &y } else { y }
    }
    let x = v(&[-2.0, 3.0]);
    for (activation, right) in [
        (Activation::None, [-2.0, 3.0]),
        (Activation::Relu, [0.0, 3.0]),
        (Activation::Square, [4.0, 9.0]),
    ] {
        assert_eq!(against_body!(f(&x, activation, 1)).to_vec::<f32>(), right);
        let squared = right.map(|a| a * a);
        assert_eq!(against_body!(f(&x, activation, 2)).to_vec::<f32>(), squared);
    }
    let e = explain!(f);
    assert_eq!((e.graphs.len(), e.calls.dispatched), (6, 6), "{e}");
}

#[test]
fn shapes_against_sizes() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, n: usize) -> Tensor {
        if x.shape() == [2, n] {
            x.sum(1)
        } else if x.shape() != &[3][..] && x.shape() != [0; 0] {
            x + 10.0
        } else {
            x * n as f64
        }
    }
    for shape in [&[2, 3][..], &[2, 2], &[3], &[], &[2], &[2, 3, 1]] {
        for n in [2, 3] {
            against_body!(f(&iota(shape), n));
        }
    }
    let e = explain!(f);
    assert_eq!(e.graphs.len(), 3, "{e}");
    let first = e.guards[0].source();
    assert!(
        first.starts_with("x.rank() == 2 && x.dim(0) == 2 && x.dim(1) == n"),
        "{first}"
    );

    #[compile(fullgraph, spec(x = f32[B, N], y = f32[B, M]))]
    fn known_ranks(x: &Tensor, y: &Tensor) -> Tensor {
        if x.shape() == y.shape() {
            x + y
        } else {
            x.matmul(&y.t())
        }
    }
    against_body!(known_ranks(&iota(&[2, 3]), &iota(&[2, 3])));
    against_body!(known_ranks(&iota(&[2, 1]), &iota(&[2, 1])));
    let e = explain!(known_ranks);
    let sources: Vec<String> = e.guards.iter().map(|c| c.source()).collect();
    assert!(sources[0].contains("x.dim(1) == y.dim(1)"), "{sources:?}");
    assert!(!sources[0].contains("x.dim(0) == y.dim(0)"), "{sources:?}");
}

#[test]
fn parts_of_parameters_are_asked() {
    #[compile(fullgraph)]
    fn f(cache: &mut Tensor, pair: (&Tensor, Option<&Tensor>)) -> Tensor {
        let (x, bias) = pair;
        let y = if cache.is_contiguous() {
            x + &*cache
        } else {
            x - &*cache
        };
        *cache = &*cache * 2.0;
        match bias {
            Some(b) if b.is_contiguous() && !b.requires_grad() => y * b,
            Some(b) => y + b,
            None if x.device() == Device::Cpu => y.neg(),
            None => y,
        }
    }
    let x = iota(&[2, 3]);
    let turned = iota(&[3, 2]).t();
    let wanted = iota(&[2, 3]).requires_grad_(true);
    for cache in [&x, &turned] {
        for bias in [None, Some(&x), Some(&turned), Some(&wanted)] {
            against_body!({
                let mut cache = cache.clone();
                let y = f(&mut cache, (&x, bias));
                (y, cache)
            });
        }
    }
    assert_eq!(explain!(f).calls.dispatched, 8);
}

struct Scaled {
    w: Tensor,
}

impl Scaled {
    #[compile(fullgraph)]
    fn forward(&self, x: &Tensor) -> Tensor {
        if self.w.is_contiguous() {
            x * &self.w
        } else {
            x + &self.w
        }
    }
}

#[tensorplay::model]
mod asked {
    use tensorplay::{compile, prelude::*};

    const SHIFT: f64 = 0.5;

    #[derive(Clone, Copy, PartialEq)]
    pub enum Mode {
        Train,
        Infer,
    }

    pub struct Layer {
        pub w: Tensor,
        pub scale: f64,
    }

    impl Layer {
        #[compile(fullgraph)]
        pub fn forward(&self, x: &Tensor, mode: Mode) -> Tensor {
            let y = if x.is_contiguous() {
                x * &self.w
            } else {
                x - &self.w
            };
            let y = y * self.scale + SHIFT;
            if mode == Mode::Train { y.relu() } else { y }
        }
    }
}

#[test]
fn fields_and_methods_ask_too() {
    let x = iota(&[2, 2]);
    for w in [iota(&[2, 2]), iota(&[2, 2]).t()] {
        let scaled = Scaled { w: w.clone() };
        against_body!(scaled.forward(&x));
        let layer = asked::Layer { w, scale: -2.0 };
        for x in [&x, &x.t()] {
            for mode in [asked::Mode::Train, asked::Mode::Infer] {
                against_body!(layer.forward(x, mode));
            }
        }
    }
    assert_eq!(explain!(asked::Layer::forward).graphs.len(), 4);
}

#[test]
fn names_bound_to_what_a_pattern_fits() {
    #[compile(fullgraph)]
    fn named(x: &Tensor, k: usize) -> Tensor {
        let y = match k {
            n @ 3..=5 => x * n as f64,
            n @ (7 | 9) => x + n as f64,
            _ => x.clone(),
        };
        match (x.rank(), k) {
            (r @ (2 | 3), n) if x.dim(0) == n => y * r as f64,
            (_, n @ ..=1) => y - n as f64,
            _ => match x.shape() {
                [m @ 2..=4, ..] => y * *m as f64,
                _ => y,
            },
        }
    }
    for shape in [&[3][..], &[2, 2], &[5, 1], &[3, 1, 2]] {
        for k in 0..11 {
            against_body!(named(&iota(shape), k));
        }
    }
}
