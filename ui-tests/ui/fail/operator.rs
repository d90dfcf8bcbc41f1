use tensorplay::{compile, prelude::*};

#[compile]
fn remainder(a: &Tensor, b: &Tensor) -> Tensor {
    a % b
}

#[compile]
fn compare(a: &Tensor, b: &Tensor) -> Tensor {
    a == b
}

#[compile]
fn not(a: &Tensor) -> Tensor {
    !a
}

fn main() {}
