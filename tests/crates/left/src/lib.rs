//! Regions of another crate under other names, and through a re-export.

use layers::deep::gated as feed_forward;
use tensorplay::{Tensor, compile};

/// What this crate passes on.
pub mod exports {
    pub use layers::blocks;
    pub use layers::deep::{residual, unit as normal};
}

/// A region by its new name, twice, and a compiled function.
#[compile(fullgraph)]
pub fn stack(x: &Tensor, w: &Tensor, v: &Tensor) -> Tensor {
    let x = x + feed_forward(x, w, v);
    let x = &x + feed_forward(&exports::normal(&x), w, v);
    x.relu()
}

/// A region that calls regions.
#[compile(fullgraph)]
pub fn deep(x: &Tensor, w: &Tensor, v: &Tensor) -> Tensor {
    exports::residual(x, w, v) + layers::deep::twice(x)
}

pub use net::Net;

#[tensorplay::model]
mod net {
    use crate::exports;
    use tensorplay::{Tensor, compile};

    /// Blocks of another crate.
    pub struct Net {
        first: exports::blocks::Block,
        rest: Vec<exports::blocks::Block>,
        head: layers::blocks::Plain,
    }

    impl Net {
        /// Drawn at random.
        pub fn new(dim: usize, depth: usize) -> Self {
            Self {
                first: exports::blocks::Block::new(dim),
                rest: (1..depth).map(|_| layers::Block::new(dim)).collect(),
                head: layers::blocks::Plain::new(dim, depth > 2),
            }
        }

        /// All of it in one graph.
        #[compile(fullgraph)]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let mut h = self.first.unit(&self.first.forward(x));
            for block in &self.rest {
                h = block.forward(&h) + block.tail(&h);
            }
            self.head.forward(&h)
        }
    }
}
