//! `reset`: 50. It empties the tables of all functions, so the test has a process of its own.

use crate::check::{alone as in_a_process, iota};
use tensorplay::{compile, compiler::reset, explain, prelude::*};

#[test]
fn case_50_reset_empties_tables() {
    in_a_process("reset::alone", &[]);
}

#[test]
#[ignore = "run by case_50"]
fn alone() {
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0
    }
    #[compile]
    fn g(x: &Tensor, y: &Tensor) -> Tensor {
        x + y
    }
    for n in [2, 3, 4] {
        against_body!(f(&iota(&[n])));
    }
    against_body!(g(&iota(&[2]), &iota(&[2])));
    assert_eq!((explain!(f).entries.len(), explain!(g).entries.len()), (3, 1));
    assert_eq!(explain!(f).graphs.len(), 1);

    reset();
    assert_eq!((explain!(f).entries.len(), explain!(g).entries.len()), (0, 0));
    assert_eq!(explain!(f).graphs.len(), 1, "graphs belong to the binary");

    assert_eq!(f(&iota(&[3])).to_vec::<f32>(), [0.0, 2.0, 4.0]);
    assert_eq!((explain!(f).entries.len(), explain!(g).entries.len()), (1, 0));
}
