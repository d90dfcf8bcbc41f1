use tensorplay::{compile, prelude::*};

#[compile(mode = "max-autotune", options(fusion = false))]
fn mode_and_options(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(dynamic = true, dynamic_shapes = true)]
fn one_argument_under_two_names(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
