//! The same regions from a second crate, with a model of its own.

use layers::deep::*;
use tensorplay::{Tensor, compile};

pub mod globs;

/// The region by its own name, from a glob.
#[compile(fullgraph)]
pub fn sum(x: &Tensor, w: &Tensor, v: &Tensor) -> Tensor {
    gated(x, w, v).sum(0)
}

/// A layer by its re-exported name.
#[tensorplay::model]
pub mod pair {
    use layers::Block as Layer;
    use tensorplay::{Tensor, compile};

    /// Two blocks, of which the second may be missing.
    pub struct Pair {
        one: Layer,
        two: Option<Box<Layer>>,
    }

    impl Pair {
        /// Drawn at random.
        pub fn new(dim: usize, both: bool) -> Self {
            Self {
                one: Layer::new(dim),
                two: both.then(|| Box::new(Layer::new(dim))),
            }
        }

        /// One or two calls of a region.
        #[compile(fullgraph)]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let h = self.one.forward(x);
            match &self.two {
                Some(two) => two.forward(&h),
                None => h,
            }
        }
    }
}
