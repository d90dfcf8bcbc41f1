use tensorplay::{compile, prelude::*};

#[compile]
fn no_ok(x: &Tensor) -> tensorplay::Result<Tensor> {
    x.relu()
}

#[compile]
fn no_result(x: &Tensor) -> Tensor {
    x.try_relu()
}

#[compile]
fn number(x: &Tensor) -> Tensor {
    x.rank()
}

#[compile]
fn pair(x: &Tensor) -> (Tensor, Tensor) {
    x.relu()
}

fn main() {}
