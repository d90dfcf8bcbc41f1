//! A function that no macro tells of: one error, at the call.

use tensorplay::{Tensor, compile};

mod layers {
    use tensorplay::Tensor;

    pub fn gated(x: &Tensor) -> Tensor {
        x.relu()
    }
}

#[compile(fullgraph)]
fn twice(x: &Tensor) -> Tensor {
    let y = layers::gated(x);
    y.exp() + y
}

fn main() {
    // the function is there
    let _: fn(&Tensor) -> Tensor = twice;
}
