use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
const fn constant(x: &Tensor) -> Option<&Tensor> {
    Some(x)
}

#[compile(fullgraph)]
async fn later(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(fullgraph)]
unsafe fn dangerous(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(fullgraph)]
extern "C" fn foreign(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
