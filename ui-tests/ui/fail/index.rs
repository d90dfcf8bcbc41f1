use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn by_a_parameter(x: &Tensor, i: usize) -> Tensor {
    let parts = x.chunk(2, 0);
    parts[i].relu()
}

#[compile(fullgraph)]
fn of_an_unknown_length(x: &Tensor) -> Tensor {
    Tensor::cat(&x.split(2, 0), 1)
}

#[tensorplay::model]
mod net {
    use tensorplay::nn::Linear;
    use tensorplay::{compile, prelude::*};

    pub struct Net {
        layers: Vec<Linear>,
    }

    impl Net {
        #[compile(fullgraph)]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let mut h = x.clone();
            for i in 0..self.layers.len() {
                h = self.layers[i].forward(&h);
            }
            h
        }
    }
}

fn main() {}
