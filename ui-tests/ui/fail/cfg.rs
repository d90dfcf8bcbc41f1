use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn conditional(x: &Tensor) -> Tensor {
    let y = x.relu();
    #[cfg(feature = "sharp")]
    let y = y.exp();
    y
}

fn main() {}
