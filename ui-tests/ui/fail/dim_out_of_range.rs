use tensorplay::{compile, prelude::*};

#[compile(spec(x = f32[4, 3]))]
fn softmax(x: &Tensor) -> Tensor {
    x.softmax(2)
}

#[compile(spec(x = f32[4, 3]))]
fn metadata(x: &Tensor) -> Tensor {
    x * (x.dim(-3) as f64)
}

fn main() {}
