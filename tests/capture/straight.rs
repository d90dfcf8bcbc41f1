//! Functions without branches: tensors by value, scalars, nested tuples, errors of any type.

use crate::check::{iota, v};
use tensorplay::{Error, compile, explain, prelude::*};

#[test]
fn tensors_by_value() {
    #[compile(fullgraph)]
    fn f(x: Tensor, y: Tensor) -> Tensor {
        let z = x + &y;
        z * y
    }
    let (x, y) = (v(&[1.0, 2.0]), v(&[3.0, 4.0]));
    assert_eq!(
        against_body!(f(x.clone(), y.clone())).to_vec::<f32>(),
        [12.0, 24.0]
    );
    assert_eq!(x.to_vec::<f32>(), [1.0, 2.0]);
}

#[test]
fn every_kind_of_scalar() {
    #[compile(fullgraph)]
    #[allow(clippy::too_many_arguments)]
    fn f(
        x: &Tensor,
        a: f32,
        b: f64,
        c: i32,
        d: i64,
        e: usize,
        g: isize,
        h: u8,
        on: bool,
        dtype: DType,
    ) -> Tensor {
        let y = x * a + b - c + d;
        let y = y.narrow(0, g, e) * h as f64 + on;
        y.to_dtype(dtype)
    }
    let x = iota(&[5]);
    let y = against_body!(f(&x, 2.0, 0.5, 1, 3, 2, 1, 4, true, DType::F64));
    assert_eq!(y.to_vec::<f64>(), [19.0, 27.0]);
    let y = against_body!(f(&x, 1.0, 0.0, 0, 0, 3, 1, 1, false, DType::I64));
    assert_eq!(y.to_vec::<i64>(), [1, 2, 3]);
}

#[test]
fn nested_tuples_and_a_value_twice() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> ((Tensor, Tensor), Tensor) {
        let y = x * 2.0;
        ((y.clone(), x + 1.0), y)
    }
    let ((a, b), c) = against_body!(f(&iota(&[2, 2])));
    assert_eq!(b.to_vec::<f32>(), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(a.to_vec::<f32>(), c.to_vec::<f32>());
}

#[test]
fn an_argument_comes_back() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, y: Tensor) -> (Tensor, Tensor, Tensor) {
        (y, x.clone(), x + 0.0)
    }
    against_body!(f(&v(&[-0.0, 1.0]), v(&[2.0])));
}

#[derive(Debug)]
struct Failure(String);

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure(e.to_string())
    }
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
    boxed(&x, &w).expect("a product");
    for e in [
        product(&x, &x).expect_err("3 columns against 2 rows").0,
        boxed(&x, &x).expect_err("3 columns against 2 rows").to_string(),
    ] {
        assert!(e.contains("matmul") && e.contains("[2, 3]"), "{e}");
    }
    let e = explain!(product);
    assert_eq!((e.calls.dispatched, e.calls.errors), (1, 1), "{e}");
}

#[test]
fn what_nothing_depends_on_fails_all_the_same() {
    #[compile(fullgraph)]
    fn unused(x: &Tensor, w: &Tensor, rows: &Tensor) -> Tensor {
        let _ = x.matmul(w);
        let _ = w.index_select(rows, 0);
        x.relu()
    }
    let (x, rows) = (iota(&[2, 3]), |i: i64| Tensor::from_slice(&[i], 1));
    let message = |w: &Tensor, i: i64| {
        let call = || {
            let run = std::panic::AssertUnwindSafe(|| unused(&x, w, &rows(i)));
            let e = std::panic::catch_unwind(run).expect_err("the body fails");
            e.downcast::<String>().map_or_else(|_| String::new(), |s| *s)
        };
        assert_eq!(call(), tensorplay::compiler::disable_capture(call));
        call()
    };
    assert!(message(&iota(&[2, 3]), 0).contains("matmul"));
    assert!(message(&iota(&[3, 2]), 3).contains("index_select"));
    against_body!(unused(&x, &iota(&[3, 2]), &rows(2)));
}

#[test]
fn operators_that_assign() {
    #[compile(fullgraph)]
    fn assigned(x: &Tensor, w: &mut Tensor, pair: &mut (Tensor, Tensor)) -> Tensor {
        let mut y = x * 2.0;
        y += x;
        y -= &x.exp() * 0.5;
        y *= 3.0;
        y /= x.abs() + 1.0;
        y += 1;
        for _ in 0..x.dim(0) {
            y += x;
        }
        *w += &y;
        pair.1 *= w.clone();
        y
    }
    for n in [0, 1, 5] {
        let x = iota(&[n]) - 1.0;
        against_body!({
            let (mut w, mut pair) = (x.exp(), (x.clone(), x.sin()));
            let y = assigned(&x, &mut w, &mut pair);
            [y, w, pair.0, pair.1]
        });
    }
}
