//! Loops: 31, and 8 as a loop.

use crate::check::{iota, v};
use tensorplay::{compile, explain, prelude::*};

#[test]
fn case_08_a_hundred_turns_stay_native() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, y: &Tensor) -> Tensor {
        let mut x = x.clone();
        for _ in 0..100 {
            x -= y;
        }
        x
    }
    let z = against_body!(f(&v(&[1000.0, 50.0, -1.0]), &v(&[3.0, 0.5, 0.0])));
    assert_eq!(z.to_vec::<f32>(), [700.0, 0.0, -1.0]);
    let e = explain!(f);
    // a group holds 64 operations
    assert_eq!((e.kernels.len(), e.calls.steps.tile), (2, 0), "{e}");
}

#[test]
fn case_31_a_loop_over_the_rank() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        let mut y = x.clone();
        for _ in 0..x.rank() {
            y = y * 2.0 + 1.0;
        }
        y
    }
    for (shape, right) in [(&[][..], 0.0), (&[1], 1.0), (&[1, 1], 3.0), (&[1, 1, 1], 7.0)] {
        let y = against_body!(f(&iota(shape)));
        assert_eq!(y.shape(), shape);
        assert_eq!(y.item::<f32>(), right);
    }
    assert_eq!(explain!(f).entries.len(), 4);
}

#[test]
fn case_31_the_first_half() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        x.narrow(0, 0, x.dim(0) / 2)
    }
    for n in [0, 1, 4, 7] {
        let y = against_body!(f(&iota(&[n])));
        let right: Vec<f32> = (0..n / 2).map(|i| i as f32).collect();
        assert_eq!(y.to_vec::<f32>(), right);
    }
}
