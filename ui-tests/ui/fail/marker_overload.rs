use tensorplay::{overload_method, prelude::*};

#[overload_method]
fn scale(x: &Tensor, by: f64) -> Tensor {
    x * by
}

fn main() {}
