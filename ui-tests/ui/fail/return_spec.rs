use tensorplay::{compile, prelude::*};

#[compile(spec(x = f32[B, 64], w = f32[9, 64], return = f32[B, 10]))]
fn shape(x: &Tensor, w: &Tensor) -> Tensor {
    x.linear(w, None)
}

#[compile(spec(x = f32[B], return = f32[B]))]
fn dtype(x: &Tensor) -> Tensor {
    x.gt(0.0)
}

fn main() {}
