//! A `Result` of the user's own error type.
#![deny(warnings)]
#![forbid(unsafe_code)]

use std::fmt;
use tensorplay::{compile, prelude::*};

#[derive(Debug)]
enum AppError {
    Tensor(tensorplay::Error),
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AppError::Tensor(e) = self;
        write!(f, "app: {e}")
    }
}

impl std::error::Error for AppError {}

impl From<tensorplay::Error> for AppError {
    fn from(e: tensorplay::Error) -> AppError {
        AppError::Tensor(e)
    }
}

#[compile]
fn product(x: &Tensor, w: &Tensor) -> Result<Tensor, AppError> {
    let y = x.try_matmul(w)?;
    Ok(y.relu())
}

#[compile]
fn boxed(x: &Tensor, w: &Tensor) -> Result<(Tensor, Tensor), Box<dyn std::error::Error + Send + Sync>> {
    Ok((x + w, x.matmul(w)))
}

fn main() {
    let x = Tensor::from_slice(&[1.0f32, -2.0, 3.0, 0.5, -0.25, 8.0], (3, 2));
    let w = Tensor::from_slice(&[1.0f32, 2.0, -3.0, 4.0], (2, 2));
    assert!(product(&x, &w).is_ok());
    let e = product(&x, &x).expect_err("inner dimensions differ");
    assert_eq!(
        e.to_string().lines().next(),
        Some("app: error[TP0012]: matmul: inner dimensions differ: lhs [3, 2] @ rhs [3, 2] (2 != 3)")
    );
    let e = boxed(&x, &w).expect_err("they do not broadcast");
    assert!(e.to_string().contains("TP0010"), "{e}");
    assert!(boxed(&w, &w).is_ok());
}
