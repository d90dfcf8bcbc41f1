use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn literal(x: &Tensor) -> Tensor {
    x * "2"
}

#[compile(fullgraph)]
fn method(x: &Tensor, n: usize) -> Tensor {
    x.narrow(0, 0, n.next_power_of_two())
}

#[compile(fullgraph)]
fn cast(x: &Tensor, n: usize) -> Tensor {
    x.narrow(0, 0, n as u16)
}

#[compile(fullgraph)]
fn operator(x: &Tensor, n: usize) -> Tensor {
    x.narrow(0, 0, n << 1)
}

fn main() {}
