//! What marked functions do where plain Rust calls them, and while a compiled function is on the stack.
#![deny(warnings)]

mod assumed;
mod disabled;
mod named;

use tensorplay::Tensor;

fn vector() -> Tensor {
    Tensor::from_slice(&[1.0f32, -2.0], 2)
}
