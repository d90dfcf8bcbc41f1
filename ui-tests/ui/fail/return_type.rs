use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn of_nothing(x: &Tensor) {
    let _ = x.relu();
}

#[compile(fullgraph)]
fn of_a_number(x: &Tensor) -> usize {
    x.dim(0)
}

#[compile(fullgraph)]
fn of_a_vec(x: &Tensor) -> Vec<Tensor> {
    x.chunk(2, 0)
}

fn main() {}
