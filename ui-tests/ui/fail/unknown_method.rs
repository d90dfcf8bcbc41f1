use tensorplay::{compile, nn::Linear, prelude::*};

trait Extension {
    fn gelo(&self) -> Tensor;
    fn quantise(&self) -> Tensor;
    fn view(&self, shape: (i64, i64)) -> Tensor;
}

impl Extension for Tensor {
    fn gelo(&self) -> Tensor {
        self.gelu()
    }
    fn quantise(&self) -> Tensor {
        self.round()
    }
    fn view(&self, shape: (i64, i64)) -> Tensor {
        self.reshape(shape)
    }
}

#[compile(fullgraph)]
fn near(x: &Tensor) -> Tensor {
    x.gelo()
}

#[compile(fullgraph)]
fn far(x: &Tensor) -> Tensor {
    x.quantise()
}

#[compile(fullgraph)]
fn of_another_library(x: &Tensor) -> Tensor {
    x.view((2, -1))
}

struct Net {
    layer: Linear,
}

impl Net {
    #[compile(fullgraph)]
    fn of_a_field(&self, x: &Tensor) -> Tensor {
        self.layer.forward(x)
    }
}

fn main() {}
