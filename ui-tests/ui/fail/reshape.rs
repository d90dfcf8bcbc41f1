use tensorplay::{compile, prelude::*};

#[compile(spec(x = f32[4, 3]))]
fn sizes(x: &Tensor) -> Tensor {
    x.reshape((5, 3))
}

#[compile(spec(x = f32[4, 3]))]
fn two_inferred(x: &Tensor) -> Tensor {
    x.reshape((-1, -1))
}

#[compile(spec(x = f32[4, 3]))]
fn expand(x: &Tensor) -> Tensor {
    x.expand((8, 3))
}

fn main() {}
