use tensorplay::{compile, prelude::*};

struct Layer {
    w: Vec<f32>,
    eps: String,
}

impl Layer {
    #[compile]
    fn not_a_tensor(&self, x: &Tensor) -> Tensor {
        x.matmul(&self.w)
    }

    #[compile]
    fn not_a_number(&self, x: &Tensor) -> Tensor {
        x + self.eps
    }
}

fn main() {}
