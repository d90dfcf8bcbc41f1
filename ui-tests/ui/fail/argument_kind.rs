use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn bias(x: &Tensor, w: &Tensor, b: &Tensor) -> Tensor {
    x.linear(w, b)
}

#[compile(fullgraph)]
fn number_for_tensor(x: &Tensor) -> Tensor {
    x.matmul(2.0)
}

#[compile(fullgraph)]
fn tensor_for_number(x: &Tensor) -> Tensor {
    x.clamp(x, 1.0)
}

#[compile(fullgraph)]
fn list(a: &Tensor, b: &Tensor) -> Tensor {
    Tensor::cat(a, 0).relu() + b
}

#[compile(fullgraph)]
fn variant(x: &Tensor) -> Tensor {
    x.to_dtype(DType::F8)
}

fn main() {}
