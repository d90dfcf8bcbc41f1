use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn applied(x: &Tensor) -> Tensor {
    let double = |t: &Tensor| t * 2.0;
    double(x).relu()
}

fn main() {}
