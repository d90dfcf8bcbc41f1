use tensorplay::{compile, prelude::*};

#[compile(
    backend = "eager",
    mode = "max-autotune",
    recompile_limit = 4,
    isolate_recompiles,
    strict_native,
    inline(helper),
    grad(x),
    specialize(x = f32[1, 784]),
    self_test
)]
fn later(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(options(fast_math))]
fn options(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
