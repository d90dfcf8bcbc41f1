//! `#[disable]` and `#[unused]`: which compiled functions inside stay compiled.

use crate::vector;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tensorplay::compiler::disable_capture;
use tensorplay::{compile, disable, explain, prelude::*, unused};

#[compile]
fn doubled(x: &Tensor) -> Tensor {
    x * 2.0
}

#[test]
fn disabled_functions_run_plain_bodies_inside() {
    #[compile]
    fn inner(x: &Tensor) -> Tensor {
        x.relu() + 1.0
    }
    let calls = || explain!(inner).calls.dispatched;

    #[disable]
    fn report(x: &Tensor) -> Tensor {
        inner(x)
    }
    #[disable(recursive = true, reason = "checks")]
    fn fails(x: &Tensor) -> Tensor {
        let y = inner(x);
        assert!(y.rank() > 9, "as it must");
        y
    }
    #[disable(recursive = false)]
    fn open(x: &Tensor) -> Tensor {
        inner(x)
    }
    #[disable(recursive = false)]
    fn open_and_fails(x: &Tensor) -> Tensor {
        let _ = inner(x);
        panic!("as it must")
    }
    #[unused]
    fn never_captured(x: &Tensor) -> Tensor {
        inner(x)
    }
    #[disable]
    fn nested(x: &Tensor) -> Tensor {
        // the inner guard sets back what the outer one had set
        let y = report(x);
        open(&y)
    }

    let x = vector();
    assert_eq!(report(&x).to_vec::<f32>(), [2.0, 1.0]);
    assert_eq!(calls(), 0, "the plain body ran");
    assert_eq!(inner(&x).to_vec::<f32>(), [2.0, 1.0]);
    assert_eq!(calls(), 1, "compiled again after the return");
    assert!(catch_unwind(AssertUnwindSafe(|| fails(&x))).is_err());
    assert_eq!(calls(), 1);
    let _ = inner(&x);
    assert_eq!(calls(), 2, "compiled again after a panic");
    let _ = open(&x);
    let _ = never_captured(&x);
    assert_eq!(calls(), 4, "`recursive = false` and `unused` leave it compiled");
    assert!(catch_unwind(AssertUnwindSafe(|| open_and_fails(&x))).is_err());
    assert_eq!(calls(), 5);
    assert_eq!(nested(&x).to_vec::<f32>(), [3.0, 2.0]);
    assert_eq!(calls(), 5);
    disable_capture(|| open(&x));
    assert_eq!(calls(), 5);
    let other = std::thread::scope(|s| s.spawn(|| inner(&x)).join().map(|_| calls()));
    assert_eq!(other.ok(), Some(6));
}

#[test]
fn disable_beside_compile_is_compile_disable() {
    #[disable(reason = "loops")]
    #[compile(fullgraph, disable = false, dtypes(f32), spec(x = f32[2]))]
    fn outside(#[spec(f32[2])] x: &Tensor) -> Tensor {
        let mut y = doubled(x);
        for _ in 0..3 {
            y += 1.0;
        }
        y
    }
    #[compile(fullgraph)]
    #[disable]
    fn inside(x: &Tensor) -> Tensor {
        let mut y = doubled(x);
        while y.item::<f32>() > 9.0 {
            y -= 1.0;
        }
        y
    }
    let before = explain!(doubled).calls.dispatched;
    assert_eq!(outside(&vector()).to_vec::<f32>(), [5.0, -1.0]);
    assert_eq!(inside(&Tensor::from_slice(&[6.0f32], 1)).item::<f32>(), 9.0);
    assert_eq!(explain!(doubled).calls.dispatched, before);
}
