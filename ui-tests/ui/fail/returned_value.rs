use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn no_ok(x: &Tensor) -> tensorplay::Result<Tensor> {
    x.relu()
}

#[compile(fullgraph)]
fn no_result(x: &Tensor) -> Tensor {
    x.try_relu()
}

#[compile(fullgraph)]
fn number(x: &Tensor) -> Tensor {
    x.rank()
}

#[compile(fullgraph)]
fn pair(x: &Tensor) -> (Tensor, Tensor) {
    x.relu()
}

fn main() {}
