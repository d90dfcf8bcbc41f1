use tensorplay::{compile, prelude::*};

#[compile]
fn too_few(x: &Tensor, w: &Tensor) -> Tensor {
    x.linear(w)
}

#[compile]
fn too_many(x: &Tensor) -> Tensor {
    x.relu(0.1)
}

fn main() {}
