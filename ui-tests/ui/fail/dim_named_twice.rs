use tensorplay::{compile, prelude::*};

#[compile(spec(x = f32[4, 3]))]
fn sum(x: &Tensor) -> Tensor {
    x.sum((1, -1))
}

#[compile(spec(x = f32[4, 3]))]
fn permute(x: &Tensor) -> Tensor {
    x.permute((0, 0))
}

fn main() {}
