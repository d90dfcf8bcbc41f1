use tensorplay::{compile, prelude::*};

#[compile]
fn literal(x: &Tensor) -> Tensor {
    x * "2"
}

#[compile]
fn method(x: &Tensor, n: usize) -> Tensor {
    x.narrow(0, 0, n.next_power_of_two())
}

#[compile]
fn cast(x: &Tensor, n: usize) -> Tensor {
    x.narrow(0, 0, n as u16)
}

#[compile]
fn operator(x: &Tensor, n: usize) -> Tensor {
    x.narrow(0, 0, n << 1)
}

fn main() {}
