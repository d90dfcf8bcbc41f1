use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn of_a_type<T: Into<f64>>(x: &Tensor, s: T) -> Tensor {
    x * s.into()
}

#[compile(fullgraph)]
fn of_a_const<const N: i64>(x: &Tensor) -> Tensor {
    x * N
}

fn main() {}
