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

#[compile(fullgraph)]
fn as_many_as_a_call_says(x: &Tensor) -> Vec<Tensor> {
    let mut rows = Vec::new();
    for i in 0..x.dim(0) {
        rows.push(x.select(0, i));
    }
    rows
}

fn main() {}
