use tensorplay::{compile, prelude::*};

#[compile(options(native = "yes"))]
fn stax(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(options(target), backend = "tvm")]
fn tvm(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(options(fusion, fusion = false))]
fn twice(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
