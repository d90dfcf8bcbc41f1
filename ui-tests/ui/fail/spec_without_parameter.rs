use tensorplay::{compile, prelude::*};

#[compile(spec(wieght = f32[4]))]
fn misspelt(weight: &Tensor) -> Tensor {
    weight.relu()
}

#[compile(spec(scale = f32[4]))]
fn of_a_number(x: &Tensor, scale: f32) -> Tensor {
    x * scale
}

#[compile(spec(return = (f32[4], f32[4])))]
fn too_many_returns(x: &Tensor) -> Tensor {
    x.relu()
}

struct Layer;

impl Layer {
    #[compile]
    fn of_self(#[spec(f32[4])] &self, x: &Tensor) -> Tensor {
        x.relu()
    }
}

fn main() {
    let _ = Layer.of_self(&Tensor::zeros(4, DType::F32));
}
