//! A function that no macro tells of: one error, at the call, whoever calls its caller.

use tensorplay::{Tensor, compile, nested_compile_region};

mod layers {
    use tensorplay::Tensor;

    pub fn gated(x: &Tensor) -> Tensor {
        x.relu()
    }
}

#[nested_compile_region]
fn twice(x: &Tensor) -> Tensor {
    let y = layers::gated(x);
    y.exp() + y
}

#[compile(fullgraph)]
fn calls_the_region(x: &Tensor) -> Tensor {
    twice(x).exp()
}

fn main() {
    // the functions are there
    let _: [fn(&Tensor) -> Tensor; 2] = [twice, calls_the_region];
}
