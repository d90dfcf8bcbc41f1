use tensorplay::{compile, prelude::*};

// the item is emitted beside its errors: calls of it add none
#[compile]
fn kept(x: &Tensor) -> Tensor {
    x.relu();
    loop {}
}

fn main() {
    let y: Tensor = kept(&Tensor::zeros(4, DType::F32));
    let _ = y;
}
