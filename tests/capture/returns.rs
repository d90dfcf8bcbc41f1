//! Forms of results.

use crate::check::{iota, v};
use std::fmt;
use tensorplay::{Error, Result, compile, prelude::*};

#[derive(Debug)]
enum Failure {
    Tensor(Error),
}

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure::Tensor(e)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure::Tensor(e) = self;
        e.fmt(f)
    }
}

impl std::error::Error for Failure {}

#[test]
fn tuples_and_arrays() {
    #[compile(fullgraph)]
    fn nested(x: &Tensor) -> ((Tensor, Tensor), Tensor) {
        let y = x * 2.0;
        ((y.clone(), x + 1.0), y)
    }
    #[compile(fullgraph)]
    fn array(x: &Tensor) -> [Tensor; 3] {
        [x.clone(), x * 2.0, x.sum_all()]
    }
    #[compile(fullgraph)]
    fn of_both(x: &Tensor) -> ([Tensor; 2], (Tensor,)) {
        ([x.neg(), x.square()], (x.t(),))
    }
    let x = iota(&[2, 2]);
    against_body!(nested(&x));
    assert_eq!(against_body!(array(&x))[2].item::<f32>(), 6.0);
    let (pair, (t,)) = of_both(&x);
    assert_eq!(pair[1].to_vec::<f32>(), [0.0, 1.0, 4.0, 9.0]);
    assert_eq!(t.to_vec::<f32>(), [0.0, 2.0, 1.0, 3.0]);
}

#[test]
fn vectors() {
    #[compile(fullgraph)]
    fn literal(x: &Tensor) -> Vec<Tensor> {
        vec![x.clone(), x * 2.0]
    }
    assert_eq!(against_body!(literal(&iota(&[2]))).len(), 2);
}

#[test]
fn options() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Option<Tensor> {
        if x.dim(0) == 0 { None } else { Some(x.mean(0)) }
    }
    #[compile(fullgraph)]
    #[allow(clippy::manual_map)]
    fn beside(x: &Tensor, b: Option<&Tensor>) -> (Tensor, Option<Tensor>) {
        let twice = match b {
            Some(b) => Some(b * 2.0),
            None => None,
        };
        (x.clone(), twice)
    }
    for _ in 0..2 {
        assert!(against_body!(f(&v(&[]))).is_none());
        let y = against_body!(f(&v(&[1.0, 2.0]))).expect("a mean");
        assert_eq!(y.item::<f32>(), 1.5);
    }
    let x = v(&[1.0]);
    assert!(against_body!(beside(&x, None)).1.is_none());
    assert!(against_body!(beside(&x, Some(&x))).1.is_some());
}

#[test]
fn unit() {
    #[compile(fullgraph)]
    fn nothing(state: &mut Tensor) {
        *state = &*state + 1.0;
    }
    #[compile(fullgraph)]
    fn checked(state: &mut Tensor, w: &Tensor) -> Result<()> {
        *state = state.try_matmul(w)?;
        Ok(())
    }
    let mut state = iota(&[2, 2]);
    nothing(&mut state);
    checked(&mut state, &iota(&[2, 1])).expect("a product");
    assert_eq!(state.to_vec::<f32>(), [2.0, 4.0]);
    checked(&mut state, &iota(&[2, 1])).expect_err("1 column against 2 rows");
    assert_eq!(state.to_vec::<f32>(), [2.0, 4.0]);
}

#[test]
fn results_of_any() {
    #[compile(fullgraph)]
    fn option(x: &Tensor, w: Option<&Tensor>) -> Result<Option<Tensor>> {
        match w {
            Some(w) => Ok(Some(x.try_matmul(w)?)),
            None => Ok(None),
        }
    }
    let (x, w) = (iota(&[2, 3]), iota(&[3, 2]));
    assert!(against_body!(option(&x, None)).expect("nothing").is_none());
    assert!(against_body!(option(&x, Some(&w))).expect("a product").is_some());
    option(&x, Some(&x)).expect_err("3 columns against 2 rows");
}

#[test]
fn the_users_error_type() {
    #[compile(fullgraph)]
    fn product(x: &Tensor, w: &Tensor) -> std::result::Result<Tensor, Failure> {
        let y = x.try_matmul(w)?;
        Ok(y.relu())
    }
    #[compile(fullgraph)]
    fn boxed(x: &Tensor, w: &Tensor) -> std::result::Result<Tensor, Box<dyn std::error::Error>> {
        Ok(x.matmul(w))
    }
    let (x, w) = (iota(&[2, 3]), iota(&[3, 2]));
    against_body!(product(&x, &w)).expect("a product");
    let e = product(&x, &x).expect_err("3 columns against 2 rows");
    assert!(matches!(e, Failure::Tensor(Error::Shape(_))), "{e}");

    assert!(boxed(&x, &w).is_ok());
    let e = boxed(&x, &x).expect_err("3 columns against 2 rows");
    assert!(e.to_string().contains("matmul"), "{e}");
}

#[test]
fn arguments_come_back() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, y: Tensor, keep: bool) -> (Tensor, Tensor) {
        if keep { (x.clone(), y) } else { (y, x + 0.0) }
    }
    let (x, y) = (v(&[-0.0, 1.0]), v(&[2.0]));
    for keep in [true, false] {
        against_body!(f(&x, y.clone(), keep));
    }
}
