use tensorplay::{compile, prelude::*};

#[compile(fulgraph)]
fn near(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(quantise = 8)]
fn far(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
