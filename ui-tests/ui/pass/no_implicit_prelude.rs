//! What is emitted resolves where nothing is in scope.
#![no_implicit_prelude]
#![deny(warnings)]
#![forbid(unsafe_code)]

use ::std::clone::Clone;
use ::std::option::Option;
use ::std::{assert, assert_eq, println};
use ::tensorplay::{DType, Tensor, compile, explain, nested_compile_region};

#[compile]
fn optional(x: &Tensor, m: Option<&Tensor>) -> Tensor {
    if let Option::Some(m) = m { x * m } else { x.neg() }
}

#[compile]
fn with_a_read(x: &Tensor, n: usize) -> Tensor {
    let k = x.sum_all().item::<f32>();
    println!("{k}");
    let y = x * k;
    y + n as f64
}

#[nested_compile_region]
fn part(x: &Tensor) -> Tensor {
    x.relu() * 2.0
}

#[compile(fullgraph)]
fn fallible(x: &Tensor, scale: f32) -> ::tensorplay::Result<Tensor> {
    ::std::result::Result::Ok(part(x) * scale)
}

fn main() {
    let x = Tensor::ones(2, DType::F32);
    assert_eq!(optional(&x, Option::Some(&x)).shape(), [2]);
    assert_eq!(optional(&x.clone(), Option::None).shape(), [2]);
    assert_eq!(with_a_read(&x, 1).max_all().item::<f32>(), 3.0);
    assert!(fallible(&x, 2.0).is_ok());
    assert_eq!(explain!(fallible).calls.dispatched, 1);
}
