use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn on_a_tensor(x: &Tensor) -> tensorplay::Result<Tensor> {
    Ok(x.relu()?)
}

fn main() {}
