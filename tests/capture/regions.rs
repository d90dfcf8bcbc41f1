//! Regions: defined in one module, used in others under other names.

use crate::check::{iota, v};
use tensorplay::{compile, explain, nested_compile_region, prelude::*};

mod layers {
    use tensorplay::{Tensor, nested_compile_region};

    #[nested_compile_region]
    pub fn gated(x: &Tensor, w: &Tensor, v: &Tensor) -> Tensor {
        x.matmul(w).relu() * x.matmul(v)
    }

    pub mod norm {
        use tensorplay::{Tensor, nested_compile_region};

        #[nested_compile_region(max_reuse_entries = 4)]
        pub fn unit(x: &Tensor) -> Tensor {
            x / (x.square().sum_keepdim(-1) + 1.0)
        }

        #[nested_compile_region]
        pub fn split(x: &Tensor) -> (Tensor, Tensor) {
            let low = x.min_keepdim(-1);
            (x - &low, low)
        }
    }
}

mod first {
    use super::layers::{gated as feed_forward, norm};
    use tensorplay::{Tensor, compile};

    #[compile(fullgraph)]
    pub fn stack(x: &Tensor, w: &Tensor, v: &Tensor) -> Tensor {
        let x = x + feed_forward(&norm::unit(x), w, v);
        let x = &x + feed_forward(&norm::unit(&x), w, v);
        norm::unit(&x)
    }
}

mod second {
    use super::layers::norm::{split as parts, unit};
    use tensorplay::{Tensor, compile};

    pub use super::layers::gated as exported;

    #[compile(fullgraph)]
    pub fn sum(x: &Tensor) -> Tensor {
        let (rest, low) = parts(&unit(x));
        rest + low * 2.0
    }

    #[compile(fullgraph)]
    pub fn repeated(x: &Tensor) -> Tensor {
        let mut y = x.clone();
        for _ in 0..3 {
            y = unit(&y) * 2.0;
        }
        y
    }
}

/// The compiled call within rounding of the plain one.
fn like_the_body(f: impl Fn() -> Tensor) -> Tensor {
    let (compiled, plain) = (f(), tensorplay::compiler::disable_capture(&f));
    assert_eq!(compiled.shape(), plain.shape());
    assert!(compiled.allclose(&plain, 1e-5, 1e-6), "{compiled}\n{plain}");
    compiled
}

#[test]
fn regions_of_other_modules_under_other_names() {
    let (w, u) = (iota(&[4, 4]) * 0.25 - 1.0, iota(&[4, 4]) * 0.125);
    for n in [1, 2, 5] {
        like_the_body(|| first::stack(&(iota(&[n, 4]) - 6.0), &w, &u));
        like_the_body(|| second::sum(&(iota(&[n, 4]) - 6.0)));
        like_the_body(|| second::repeated(&iota(&[n, 4])));
    }
    for e in [
        explain!(first::stack),
        explain!(second::sum),
        explain!(second::repeated),
    ] {
        assert_eq!((e.breaks.len(), e.entries.len()), (0, 3), "{e}");
        assert_eq!(e.calls.dispatched, 3, "{e}");
    }
}

#[test]
fn a_region_has_a_table_of_its_own() {
    #[nested_compile_region]
    fn scaled(x: &Tensor) -> Tensor {
        x * 3.0
    }
    #[compile(fullgraph)]
    fn twice(x: &Tensor, y: &Tensor) -> Tensor {
        let a = scaled(x);
        let b = scaled(&a);
        b + scaled(y).sum_all()
    }
    let y = against_body!(twice(&v(&[1.0, 2.0]), &v(&[1.0, 1.0])));
    assert_eq!(y.to_vec::<f32>(), [15.0, 24.0]);
    assert_eq!(explain!(scaled).entries.len(), 1, "three calls of one shape");
    against_body!(twice(&v(&[1.0, 2.0]), &v(&[1.0, 1.0, 1.0])));
    assert_eq!(explain!(scaled).entries.len(), 2);
    assert_eq!(explain!(twice).entries.len(), 2);
}

#[test]
fn a_region_called_by_itself_is_compiled() {
    let x = iota(&[2, 3]);
    let before = explain!(layers::norm::split).calls.dispatched;
    let (rest, low) = layers::norm::split(&x);
    assert_eq!(rest.to_vec::<f32>(), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
    assert_eq!(low.to_vec::<f32>(), [0.0, 3.0]);
    let after = explain!(layers::norm::split).calls.dispatched;
    assert!(after > before);
    like_the_body(|| second::exported(&x, &iota(&[3, 2]), &iota(&[3, 2])));
}

#[test]
fn a_region_inside_a_region() {
    #[nested_compile_region]
    fn inner(x: &Tensor, n: usize) -> Tensor {
        x.narrow(-1, 0, n) * n as f64
    }
    #[nested_compile_region]
    fn outer(x: &Tensor) -> (Tensor, Vec<Tensor>) {
        let half = x.dim(-1) / 2;
        (inner(x, half), vec![inner(x, 1), x.sum_all()])
    }
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> (Tensor, Tensor, Tensor) {
        let (a, rest) = outer(&(x + 1.0));
        (a, rest[0].clone(), &rest[1] * 2.0)
    }
    let (a, b, c) = against_body!(f(&iota(&[4])));
    assert_eq!(a.to_vec::<f32>(), [2.0, 4.0]);
    assert_eq!((b.item::<f32>(), c.item::<f32>()), (1.0, 20.0));
}

#[test]
fn a_region_with_a_branch_and_an_option() {
    #[nested_compile_region]
    fn affine(x: &Tensor, b: Option<&Tensor>, double: bool) -> Tensor {
        let x = match b {
            Some(b) => x + b,
            None => x.clone(),
        };
        if double || x.dim(0) > 2 { x * 2.0 } else { x }
    }
    #[compile(fullgraph)]
    fn f(x: &Tensor, b: &Tensor, double: bool) -> Tensor {
        let y = affine(x, Some(b), double);
        affine(&y, None, true) - affine(x, None, false)
    }
    for n in [2, 3] {
        for double in [true, false] {
            against_body!(f(&iota(&[n]), &iota(&[1]), double));
        }
    }
}

#[test]
fn a_const_generic_region_in_a_loop() {
    #[nested_compile_region]
    fn cell<const H: usize>(x: &Tensor, h: &Tensor) -> Tensor {
        let (a, b) = (x.narrow(-1, 0, H), x.narrow(-1, H, H));
        a * h + b
    }
    #[compile(fullgraph)]
    fn run<const H: usize>(xs: &Tensor, h: &Tensor) -> (Tensor, Tensor) {
        let mut h = h.clone();
        let mut states = Vec::with_capacity(xs.dim(0));
        for t in 0..xs.dim(0) {
            h = cell::<H>(&xs.select(0, t), &h);
            states.push(h.clone());
        }
        (Tensor::stack(&states, 0), h)
    }
    for n in [1, 4] {
        let (states, last) = against_body!(run::<2>(&iota(&[n, 4]), &v(&[1.0, 1.0])));
        assert_eq!((states.shape(), last.shape()), (&[n, 2][..], &[2][..]));
        against_body!(run::<3>(&iota(&[n, 6]), &v(&[1.0, 0.0, 1.0])));
    }
    assert!(explain!(run::<2>).breaks.is_empty(), "regions are looked up");
}

#[test]
fn a_region_that_writes_a_state() {
    #[nested_compile_region]
    fn advance(state: &Tensor, x: &Tensor) -> (Tensor, Tensor) {
        let next = state * 0.5 + x;
        (next.clone(), next.square())
    }
    #[compile(fullgraph)]
    fn push(state: &mut Tensor, x: &Tensor) -> Tensor {
        let (next, y) = advance(state, x);
        *state = next;
        y
    }
    let mut state = v(&[2.0]);
    assert_eq!(push(&mut state, &v(&[1.0])).item::<f32>(), 4.0);
    assert_eq!(push(&mut state, &v(&[2.0])).item::<f32>(), 9.0);
    assert_eq!(state.item::<f32>(), 3.0);
}

#[test]
fn more_keys_than_the_region_may_hold() {
    #[nested_compile_region(max_reuse_entries = 1)]
    fn narrow_minded(x: &Tensor) -> Tensor {
        x * 2.0
    }
    #[compile(fullgraph)]
    fn f(x: &Tensor, y: &Tensor) -> tensorplay::Result<Tensor> {
        Ok(narrow_minded(x) + narrow_minded(y).sum_all())
    }
    f(&iota(&[3]), &iota(&[3])).expect("one key");
    let e = f(&iota(&[3]), &iota(&[4])).expect_err("two keys").to_string();
    assert!(
        e.contains("narrow_minded") && e.contains("max_reuse_entries"),
        "{e}"
    );
}

/// Sizes make no difference.
fn by_rank(args: &[tensorplay::compiler::Example]) -> u64 {
    args.iter().fold(0, |key, a| key * 8 + a.shape().len() as u64)
}

fn gives_up(_: &[tensorplay::compiler::Example]) -> u64 {
    panic!("no key")
}

#[test]
fn keys_of_the_users_own() {
    #[nested_compile_region(max_reuse_entries = 1, reuse_hash_fn = by_rank)]
    fn broad_minded(x: &Tensor) -> Tensor {
        x * 2.0
    }
    #[compile(fullgraph)]
    fn f(x: &Tensor, y: &Tensor) -> tensorplay::Result<Tensor> {
        Ok(broad_minded(x) + broad_minded(y).sum_all())
    }
    for n in [3, 4, 7] {
        against_body!(f(&iota(&[3]), &iota(&[n]))).expect("one rank");
    }
    let e = f(&iota(&[3]), &iota(&[2, 2])).expect_err("two ranks").to_string();
    assert!(e.contains("broad_minded") && e.contains("2 kinds"), "{e}");
    #[nested_compile_region(reuse_hash_fn = gives_up)]
    fn unkeyed(x: &Tensor) -> Tensor {
        x * 2.0
    }
    #[compile(fullgraph)]
    fn g(x: &Tensor) -> tensorplay::Result<Tensor> {
        Ok(unkeyed(x).relu())
    }
    let e = g(&iota(&[3])).expect_err("a panic").to_string();
    assert!(e.contains("reuse_hash_fn"), "{e}");
}
