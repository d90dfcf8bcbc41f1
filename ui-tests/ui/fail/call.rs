use tensorplay::{compile, prelude::*};

fn helper(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(fullgraph)]
fn calls_a_function(x: &Tensor) -> Tensor {
    helper(x).exp()
}

#[compile(fullgraph)]
fn fails_by_hand(x: &Tensor) -> tensorplay::Result<Tensor> {
    let _ = x.relu();
    Err(tensorplay::Error::msg("no"))
}

fn main() {}
