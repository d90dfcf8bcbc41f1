use tensorplay::{compile, prelude::*};

trait Extension {
    fn gelo(&self) -> Tensor;
    fn quantise(&self) -> Tensor;
}

impl Extension for Tensor {
    fn gelo(&self) -> Tensor {
        self.gelu()
    }
    fn quantise(&self) -> Tensor {
        self.round()
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

fn main() {}
