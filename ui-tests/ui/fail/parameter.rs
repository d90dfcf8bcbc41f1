use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn of_a_vec(x: &Tensor, ws: Vec<Tensor>) -> Tensor {
    x.matmul(&ws[0])
}

#[compile(fullgraph)]
fn by_unique_reference(x: &mut Tensor) -> Tensor {
    x.relu()
}

#[compile(fullgraph)]
fn a_pattern((x, y): (&Tensor, &Tensor)) -> Tensor {
    x + y
}

type Matrix = Tensor;

#[compile(fullgraph)]
fn of_an_alias(x: &Matrix) -> Tensor {
    x.relu()
}

fn main() {}
