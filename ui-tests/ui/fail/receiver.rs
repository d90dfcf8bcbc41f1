use tensorplay::{compile, prelude::*};

struct Layer {
    w: Tensor,
}

impl Layer {
    #[compile(fullgraph)]
    fn by_value(self, x: &Tensor) -> Tensor {
        x.matmul(&self.w)
    }

    #[compile(fullgraph)]
    fn by_unique_reference(&mut self, x: &Tensor) -> Tensor {
        x.matmul(&self.w)
    }
}

fn main() {}
