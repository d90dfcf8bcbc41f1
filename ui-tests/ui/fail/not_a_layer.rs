//! A field whose type no macro tells of: one error, at the type.

use tensorplay::Tensor;

pub struct Scale(f32);

impl Scale {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        x * self.0
    }
}

#[tensorplay::model]
mod net {
    use super::Scale;
    use tensorplay::nn::Linear;
    use tensorplay::{Tensor, compile, nested_compile_region};

    pub struct Net {
        head: Linear,
        scale: Scale,
    }

    impl Net {
        pub fn new() -> Self {
            Self {
                head: Linear::new(2, 2),
                scale: Scale(2.0),
            }
        }

        #[compile(fullgraph)]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            self.scale.forward(&self.head.forward(x))
        }

        #[nested_compile_region]
        pub fn again(&self, x: &Tensor) -> Tensor {
            self.scale.forward(x)
        }
    }
}

fn main() {
    // the methods are there
    let net = net::Net::new();
    let x = Tensor::from_slice(&[1f32, 2.0], 2);
    println!("{} {}", net.forward(&x), net.again(&x));
}
