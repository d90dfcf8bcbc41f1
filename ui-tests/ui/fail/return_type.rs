use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn of_a_number(x: &Tensor) -> usize {
    x.dim(0)
}

#[compile(fullgraph)]
fn of_a_reference(x: &Tensor) -> &Tensor {
    x
}

#[compile(fullgraph)]
fn of_an_array_of_any_length<const N: usize>(x: &Tensor) -> [Tensor; N] {
    unimplemented(x)
}

fn unimplemented<const N: usize>(_: &Tensor) -> [Tensor; N] {
    unimplemented!()
}

fn main() {}
