use tensorplay::{compile, prelude::*};

#[compile(
    dynamic = true,
    backend = "eager",
    mode = "max-autotune",
    options(fast_math),
    recompile_limit = 4,
    isolate_recompiles,
    strict_native,
    dynamic_shapes = true,
    inline(helper),
    grad(x),
    specialize(x = f32[1, 784]),
    self_test
)]
fn later(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
