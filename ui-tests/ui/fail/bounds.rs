use tensorplay::{compile, prelude::*};

#[compile(spec(x = f32[4, 3]))]
fn narrow(x: &Tensor) -> Tensor {
    x.narrow(0, 3, 2)
}

#[compile(spec(x = f32[4, 3]))]
fn select(x: &Tensor) -> Tensor {
    x.select(1, 3)
}

#[compile(spec(x = f32[4, 3]))]
fn piece(x: &Tensor) -> Tensor {
    let parts = x.chunk(2, 0);
    parts[2].relu()
}

fn main() {}
