use tensorplay::{compile, prelude::*};

#[compile(spec(x = f32[4, 3], y = f32[4, 5]))]
fn sizes(x: &Tensor, y: &Tensor) -> Tensor {
    x + y
}

#[compile(spec(x = f32[B, 3], mask = bool[B, 4]))]
fn in_a_method(x: &Tensor, mask: &Tensor) -> Tensor {
    x.masked_fill(mask, 0.0)
}

fn main() {}
