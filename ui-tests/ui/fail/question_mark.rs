use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn on_a_tensor(x: &Tensor) -> tensorplay::Result<Tensor> {
    Ok(x.relu()?)
}

#[compile(fullgraph)]
fn on_an_option(x: &Tensor, bias: Option<&Tensor>) -> Option<Tensor> {
    let b = bias?;
    Some(x + b)
}

fn main() {}
