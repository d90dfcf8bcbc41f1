use tensorplay::{compile, prelude::*};

#[compile(dtypes(f16, bf16), spec(x = f32[B, 784]))]
fn of_a_parameter(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(dtypes(f32), spec(return = f64[4]))]
fn of_the_result(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
