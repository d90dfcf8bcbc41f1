//! Regions, a compiled function and a layer, for crates that know their paths alone.

pub mod deep {
    //! Functions of a module inside.

    use tensorplay::{Tensor, compile, nested_compile_region};

    /// Two products, one as the gate of the other.
    #[nested_compile_region]
    pub fn gated(x: &Tensor, w: &Tensor, v: &Tensor) -> Tensor {
        x.matmul(w).relu() * x.matmul(v)
    }

    /// A region that calls another.
    #[nested_compile_region]
    pub fn residual(x: &Tensor, w: &Tensor, v: &Tensor) -> Tensor {
        let h = gated(x, w, v);
        scaled(&(x + h), 0.5)
    }

    /// A region that this crate keeps to itself.
    #[nested_compile_region]
    fn scaled(x: &Tensor, by: f32) -> Tensor {
        x * by
    }

    /// A compiled function that stands inside its callers.
    #[compile]
    pub fn unit(x: &Tensor) -> Tensor {
        x / (x.square().sum_keepdim(-1) + 1.0)
    }

    /// A compiled function that calls a region.
    #[compile(fullgraph)]
    pub fn twice(x: &Tensor) -> Tensor {
        scaled(&unit(x), 2.0)
    }
}

/// Plain Rust.
pub fn iota(shape: &[usize]) -> Tensor {
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|i| i as f32 * 0.125 - 1.0).collect();
    Tensor::from_vec(values, shape)
}

use tensorplay::Tensor;

pub use blocks::Block;

#[tensorplay::model]
pub mod blocks {
    //! Layers of layers.

    use crate::deep::unit as normal;
    use tensorplay::nn::{LayerNorm, Linear};
    use tensorplay::{Tensor, nested_compile_region};

    /// A feed-forward block.
    pub struct Block {
        norm: LayerNorm,
        up: Linear,
        down: Linear,
    }

    impl Block {
        /// Drawn at random.
        pub fn new(dim: usize) -> Self {
            Self {
                norm: LayerNorm::new(dim, 1e-5),
                up: Linear::new(dim, 2 * dim),
                down: Linear::new(2 * dim, dim),
            }
        }

        /// Kept as one unit.
        #[nested_compile_region]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            x + self.tail(&self.norm.forward(x))
        }

        /// Joins the graph of its caller.
        pub fn tail(&self, x: &Tensor) -> Tensor {
            self.down.forward(&self.up.forward(x).gelu())
        }

        /// A region with a function of another module.
        #[nested_compile_region]
        pub fn unit(&self, x: &Tensor) -> Tensor {
            normal(&self.norm.forward(x))
        }
    }

    /// No method of it has an attribute.
    pub struct Plain {
        head: Linear,
        extra: Option<Linear>,
    }

    impl Plain {
        /// Drawn at random.
        pub fn new(dim: usize, extra: bool) -> Self {
            Self {
                head: Linear::new(dim, 3),
                extra: extra.then(|| Linear::new(3, 3)),
            }
        }

        /// Joins the graph of its caller.
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let y = self.head.forward(x);
            match &self.extra {
                Some(extra) => extra.forward(&y),
                None => y,
            }
        }
    }
}
