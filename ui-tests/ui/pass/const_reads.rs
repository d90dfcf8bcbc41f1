//! Consts: of the module, of a type, of the body, of the standard library.
#![deny(warnings)]
#![forbid(unsafe_code)]

use tensorplay::{compile, compiler, explain, prelude::*};

const SCALE: f32 = 0.5;
const N: usize = 2;

struct Consts;

impl Consts {
    const EPS: f64 = 1e-5;
}

#[compile]
fn of_the_module(x: &Tensor) -> Tensor {
    x * SCALE
}

#[compile]
fn of_a_type(x: &Tensor) -> Tensor {
    x + Consts::EPS
}

#[compile]
fn of_the_body(x: &Tensor) -> Tensor {
    const SHIFT: f64 = 3.0;
    x * 2.0 + SHIFT + f64::INFINITY.min(1.0)
}

#[compile]
fn as_a_size(x: &Tensor) -> Tensor {
    x.narrow(0, 0, N) + 1
}

fn main() {
    let x = Tensor::from_slice(&[1.0f32, -2.0, 3.0], 3);
    for f in [of_the_module, of_a_type, of_the_body, as_a_size] {
        let (compiled, plain) = (f(&x), compiler::disable_capture(|| f(&x)));
        assert!(compiled.allclose(&plain, 1e-6, 1e-6), "{compiled} != {plain}");
    }
    assert_eq!(explain!(of_the_module).calls.dispatched, 1);
}
