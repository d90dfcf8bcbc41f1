use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn item(x: &Tensor) -> Tensor {
    let s = x.sum_all().item::<f32>();
    x * s
}

#[compile(fullgraph)]
fn to_vec(x: &Tensor) -> Tensor {
    let v = x.to_vec::<f32>();
    x * v[0]
}

fn main() {}
