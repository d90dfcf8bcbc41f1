use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn by_a_parameter(x: &Tensor, i: usize) -> Tensor {
    let parts = x.chunk(2, 0);
    parts[i].relu()
}

#[compile(fullgraph)]
fn of_an_unknown_length(x: &Tensor) -> Tensor {
    Tensor::cat(&x.split(2, 0), 1)
}

fn main() {}
