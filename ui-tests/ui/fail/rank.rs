use tensorplay::{compile, prelude::*};

#[compile(spec(x = f32[2, 3, 4]))]
fn transpose(x: &Tensor) -> Tensor {
    x.t()
}

#[compile(spec(x = f32[], w = f32[4, 4]))]
fn matmul(x: &Tensor, w: &Tensor) -> Tensor {
    x.matmul(w)
}

fn main() {}
