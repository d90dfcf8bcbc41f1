use tensorplay::{compile, prelude::*};

#[compile]
fn on_a_tensor(x: &Tensor) -> tensorplay::Result<Tensor> {
    Ok(x.relu()?)
}

fn main() {}
