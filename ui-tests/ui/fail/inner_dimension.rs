use tensorplay::{compile, prelude::*};

#[compile(spec(x = f32[B, 784], w = f32[512, 10]))]
fn matmul(x: &Tensor, w: &Tensor) -> Tensor {
    x.matmul(w).relu()
}

#[compile(spec(x = f32[B, 784]))]
fn linear(x: &Tensor, #[spec(f32[10, 512])] w: &Tensor) -> Tensor {
    let h = x.gelu();
    h.linear(w, None)
}

#[compile(spec(x = f32[B, 64], w1 = f32[32, 64], w2 = f32[10, 64]))]
fn of_an_intermediate(x: &Tensor, w1: &Tensor, w2: &Tensor) -> Tensor {
    x.linear(w1, None).relu().linear(w2, None)
}

fn main() {}
