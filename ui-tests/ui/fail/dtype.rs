use tensorplay::{compile, prelude::*};

#[compile(spec(x = f32[4]))]
fn bitwise(x: &Tensor) -> Tensor {
    x.bitwise_not()
}

#[compile(spec(x = i64[4]))]
fn mean(x: &Tensor) -> Tensor {
    x.mean(0)
}

#[compile(spec(x = f32[4]))]
fn condition(x: &Tensor) -> Tensor {
    x.where_cond(1.0, 0.0)
}

fn main() {}
