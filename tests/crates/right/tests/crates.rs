//! Values against the plain bodies, and where the entries of a shared region are.

use layers::iota;
use right::pair::Pair;
use tensorplay::{Tensor, compiler, explain};

/// The compiled call within rounding of the plain one.
fn like_the_body(f: impl Fn() -> Tensor) -> Tensor {
    let (compiled, plain) = (f(), compiler::disable_capture(&f));
    assert_eq!(compiled.shape(), plain.shape());
    assert!(compiled.allclose(&plain, 1e-5, 1e-6), "{compiled}\n{plain}");
    compiled
}

#[test]
fn both_callers_enter_one_region() {
    let (w, v) = (iota(&[4, 4]), iota(&[4, 4]) * 0.5);
    for n in [2, 3] {
        like_the_body(|| left::stack(&iota(&[n, 4]), &w, &v));
    }
    assert_eq!(
        explain!(layers::deep::gated).entries.len(),
        2,
        "two sizes from one crate"
    );
    for n in [3, 5] {
        like_the_body(|| right::sum(&iota(&[n, 4]), &w, &v));
    }
    let e = explain!(layers::deep::gated);
    assert_eq!(e.entries.len(), 3, "one more from the other:\n{e}");
    for e in [explain!(left::stack), explain!(right::sum)] {
        assert_eq!((e.entries.len(), e.calls.dispatched), (2, 2), "{e}");
        assert!(e.breaks.is_empty() && e.fallbacks.is_empty(), "{e}");
    }
}

#[test]
fn regions_that_call_regions() {
    let (w, v) = (iota(&[4, 4]), iota(&[4, 4]) * 0.5);
    like_the_body(|| left::deep(&iota(&[2, 4]), &w, &v));
    like_the_body(|| layers::deep::residual(&iota(&[2, 4]), &w, &v));
    like_the_body(|| layers::deep::twice(&iota(&[2, 4])));
    let e = explain!(left::deep);
    assert_eq!((e.entries.len(), e.calls.dispatched), (1, 1), "{e}");
    assert_eq!(explain!(layers::deep::residual).entries.len(), 1);
}

#[test]
fn layers_of_another_crate() {
    for depth in [1, 2, 4] {
        let net = left::Net::new(4, depth);
        like_the_body(|| net.forward(&iota(&[2, 4])));
    }
    let e = explain!(left::Net::forward);
    assert_eq!(e.calls.dispatched, 3, "{e}");
    for both in [false, true] {
        let pair = Pair::new(4, both);
        like_the_body(|| pair.forward(&iota(&[2, 4])));
    }
    assert_eq!(explain!(Pair::forward).calls.dispatched, 2);
    assert_eq!(
        explain!(layers::Block::forward).entries.len(),
        1,
        "one size, whoever calls"
    );
}

#[test]
fn everything_by_globs() {
    let net = right::globs::Deep::new();
    like_the_body(|| net.forward(&iota(&[2, 4])));
    let e = explain!(right::globs::Deep::forward);
    assert_eq!((e.entries.len(), e.calls.dispatched), (1, 1), "{e}");
}
