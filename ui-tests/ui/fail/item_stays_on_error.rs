use tensorplay::{compile, prelude::*};

// the item is emitted beside its errors: calls of it add none
#[compile(fullgraph)]
fn kept(x: &Tensor) -> Tensor {
    if x.max_all().item::<f32>() > 1.0 { x.relu() } else { x.exp() }
}

fn main() {
    let y: Tensor = kept(&Tensor::zeros(4, DType::F32));
    let _ = y;
}
