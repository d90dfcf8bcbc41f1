use tensorplay::{compile, prelude::*};

#[compile]
fn broken(x: &Tensor) -> Tensor {
    let y = = x.relu();
    y
}

fn main() {}
