use tensorplay::{compile, prelude::*};

#[compile(spec(x = f32[4]))]
fn step(x: &Tensor) -> Tensor {
    x.slice(0, 0, 4, 0)
}

#[compile(spec(x = f32[4]))]
fn pieces(x: &Tensor) -> Tensor {
    x.chunk(0, 0)[0].relu()
}

fn main() {}
