// conformance case 10
use tensorplay::{compile, prelude::*};

#[compile(mode = "max-autotune", options(fusion = false))]
fn both(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(mode = "default", options())]
fn even_if_they_say_nothing(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(dynamic = true, dynamic_shapes = true)]
fn dynamic_twice(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
