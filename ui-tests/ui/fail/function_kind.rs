use tensorplay::{compile, prelude::*};

#[compile]
const fn constant(x: &Tensor) -> Option<&Tensor> {
    Some(x)
}

#[compile]
async fn later(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile]
unsafe fn dangerous(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile]
extern "C" fn foreign(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
