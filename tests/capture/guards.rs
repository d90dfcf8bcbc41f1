//! What branches guard, and what they count.

use crate::check::{iota, v};
use crate::seed::seeded;
use tensorplay::{Result, compile, explain, prelude::*};

#[test]
fn a_size_that_is_read_is_guarded_alone() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, w: &Tensor) -> Tensor {
        if x.dim(0) > 4 { x * w } else { x + w }
    }
    against_body!(f(&iota(&[6, 2]), &iota(&[2])));
    against_body!(f(&iota(&[3, 2]), &iota(&[2])));
    let e = explain!(f);
    let sources: Vec<String> = e.guards.iter().map(|c| c.source()).collect();
    assert!(sources[0].contains("x.dim(0) > 4"), "{sources:?}");
    for source in &sources {
        assert!(
            !source.contains("dim(1)") && !source.contains("w."),
            "{sources:?}"
        );
    }
}

#[test]
fn a_path_that_never_ran_has_no_entry() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, on: bool) -> Tensor {
        if on { x.exp() } else { x * 2.0 }
    }
    for _ in 0..3 {
        against_body!(f(&iota(&[4]), false));
    }
    let e = explain!(f);
    assert_eq!((e.graphs.len(), e.entries.len()), (2, 1), "{e}");
    assert_eq!((e.calls.dispatched, e.calls.bound), (3, 1), "{e}");
}

#[test]
fn a_scalar_joins_the_key_where_a_branch_reads_it() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, scale: f64, shift: i64) -> Tensor {
        if shift > 0 { x * scale + shift } else { x * scale }
    }
    let x = iota(&[4]);
    for scale in [0.5, 1.0, 1.5] {
        against_body!(f(&x, scale, 0));
    }
    assert_eq!(explain!(f).entries.len(), 1);
    against_body!(f(&x, 0.25, 3));
    assert_eq!(explain!(f).entries.len(), 2);
}

#[test]
fn a_size_of_an_intermediate() {
    #[compile(fullgraph, spec(x = f32[B, 3], w = f32[3, H]))]
    fn f(x: &Tensor, w: &Tensor) -> Tensor {
        let h = x.matmul(w);
        let h = if h.dim(0) > 2 { h.relu() } else { h.square() };
        let n = h.dim(-1);
        if n > 4 {
            h.narrow(1, 0, n / 2)
        } else {
            h * n as f64
        }
    }
    let x = iota(&[5, 3]) - 7.0;
    for rows in [2, 3, 5] {
        for columns in [2, 4, 6, 7] {
            let w = iota(&[3, columns]) * 0.5 - 2.0;
            against_body!(f(&x.narrow(0, 0, rows), &w));
        }
    }
    let e = explain!(f);
    assert_eq!((e.graphs.len(), e.entries.len()), (4, 4), "{e}");
}

#[test]
fn an_optional_tensor() {
    #[compile(fullgraph)]
    fn affine(x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Tensor {
        x.linear(w, b)
    }
    #[compile(fullgraph)]
    fn asked(x: &Tensor, mask: Option<&Tensor>, bias: Option<&Tensor>) -> Tensor {
        let x = if mask.is_some() { x * 2.0 } else { x.clone() };
        let Some(bias) = bias else {
            return x;
        };
        if bias.rank() == 0 {
            return x - bias;
        }
        match mask {
            Some(mask) => x * mask + bias,
            None => x + bias,
        }
    }
    let (x, w, b) = (iota(&[2, 3]), iota(&[4, 3]), iota(&[4]));
    for _ in 0..2 {
        against_body!(affine(&x, &w, None));
        against_body!(affine(&x, &w, Some(&b)));
    }
    assert_eq!(explain!(affine).entries.len(), 2);

    let (x, y, one) = (v(&[1.0, 2.0]), v(&[3.0, 5.0]), Tensor::full((), 1.0, DType::F32));
    for mask in [None, Some(&y)] {
        for bias in [None, Some(&x), Some(&one)] {
            against_body!(asked(&x, mask, bias));
        }
    }
    assert_eq!(asked(&x, Some(&y), Some(&x)).to_vec::<f32>(), [7.0, 22.0]);
    assert_eq!(explain!(asked).entries.len(), 6);
}

#[test]
fn an_error_belongs_to_its_path() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, w: &Tensor, product: bool) -> Result<Tensor> {
        if product { Ok(x.matmul(w)) } else { x.try_add(w) }
    }
    let (x, w) = (iota(&[2, 3]), iota(&[4, 3]));
    for (w, product) in [(&w, true), (&w, false), (&w.t(), false)] {
        let e = f(&x, w, product).expect_err("shapes that do not fit").to_string();
        let op = if product { "matmul" } else { "add" };
        assert!(e.contains(op) && e.contains("[2, 3]"), "{e}");
    }
    let y = against_body!(f(&x, &w.t().contiguous(), true)).expect("a product");
    assert_eq!(y.shape(), [2, 4]);
    assert_eq!(explain!(f).calls.errors, 3);
}

#[test]
fn a_branch_on_a_const() {
    const FAST: bool = false;
    const HEADS: usize = 2;

    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        let y = if FAST { x.gelu_tanh() } else { x * 2.0 };
        if HEADS > 1 { y.reshape((HEADS, -1)) } else { y }
    }
    let y = against_body!(f(&iota(&[4])));
    assert_eq!(y.shape(), [2, 2]);
    assert_eq!(explain!(f).entries.len(), 1);
}

#[test]
fn random_numbers_follow_the_path() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, noise: bool) -> Tensor {
        let y = x + Tensor::rand(4, DType::F32);
        if noise { y + Tensor::rand(4, DType::F32) } else { y }
    }
    let x = iota(&[4]);
    let run = || {
        seeded(11, || {
            [true, false, true].map(|noise| f(&x, noise).to_vec::<f32>())
        })
    };
    assert_eq!(run(), tensorplay::compiler::disable_capture(run));
}
