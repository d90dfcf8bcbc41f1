use tensorplay::{compile, prelude::*};

#[compile(mode = "max-autotun")]
fn near(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(mode = "fast")]
fn far(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(options(fast_mth, quick))]
fn option(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(backend = "tvm", options(fast_math))]
fn option_of_another_backend(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
