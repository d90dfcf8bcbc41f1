use tensorplay::{compile, prelude::*};

struct Net {
    w: Tensor,
}

impl Net {
    #[compile(self_test)]
    fn forward(&self, x: &Tensor) -> Tensor {
        x * &self.w
    }
}

trait Layer {
    fn run(&self, x: &Tensor) -> Tensor;
}

impl Layer for Net {
    #[compile(fullgraph, self_test)]
    fn run(&self, x: &Tensor) -> Tensor {
        x * &self.w
    }
}

#[compile(self_test)]
fn of_any_size<const N: usize>(x: &Tensor) -> Tensor {
    x.narrow(0, 0, N)
}

fn main() {}
