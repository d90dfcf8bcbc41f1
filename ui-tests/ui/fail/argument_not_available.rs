use tensorplay::{compile, prelude::*};

#[compile(inline(helper), grad(x), specialize(x = f32[1, 784]))]
fn later(x: &Tensor) -> Tensor {
    x.relu()
}

// an option that is known, and acts in no backend yet
#[compile(options(fast_math))]
fn options(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
