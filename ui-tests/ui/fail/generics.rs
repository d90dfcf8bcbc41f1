use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn of_a_type<T: Into<f64>>(x: &Tensor, s: T) -> Tensor {
    x * s.into()
}

fn main() {}
