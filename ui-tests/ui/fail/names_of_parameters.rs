use tensorplay::{compile, prelude::*};

#[compile(specialize(x = f32[1, 784], wieght = f32[784, 10]))]
fn specialised(x: &Tensor, weight: &Tensor) -> Tensor {
    x.matmul(weight)
}

#[compile(specialize(x = f32[B, 784], return = f32[B, 10]), specialize(x = f32[B, _]))]
fn without_a_size(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(grad(w))]
fn gradient(x: &Tensor) -> Tensor {
    x.sum_all()
}

fn main() {}
