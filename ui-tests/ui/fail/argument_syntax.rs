use tensorplay::{compile, prelude::*};

#[compile(fullgraph, 8)]
fn number(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(name =)]
fn no_value(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
