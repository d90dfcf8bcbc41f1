//! Everything by globs, callers before and after what they call.

pub use after::Deep;

#[tensorplay::model]
mod before {
    use super::middle::*;
    use tensorplay::nn::*;
    use tensorplay::prelude::*;

    /// Calls what is further down.
    pub struct Early {
        block: Middle,
        head: Linear,
    }

    impl Early {
        /// Drawn at random.
        pub fn new() -> Self {
            Self {
                block: Middle::new(),
                head: Linear::new(4, 4),
            }
        }

        /// A function and a layer.
        #[tensorplay::compile(fullgraph)]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            self.head.forward(&residue(&self.block.forward(x)))
        }
    }
}

mod middle {
    use layers::deep::*;
    pub use layers::*;
    use tensorplay::prelude::*;

    #[tensorplay::nested_compile_region]
    pub fn residue(x: &Tensor) -> Tensor {
        x + unit(x)
    }

    #[tensorplay::model]
    mod parts {
        use super::super::inner::*;
        use super::*;
        use tensorplay::nn::*;

        /// Layers of two crates.
        pub struct Middle {
            norm: LayerNorm,
            block: Block,
        }

        impl Middle {
            /// Drawn at random.
            pub fn new() -> Self {
                Self {
                    norm: LayerNorm::new(4, 1e-5),
                    block: Block::new(4),
                }
            }

            /// One unit.
            #[tensorplay::nested_compile_region]
            pub fn forward(&self, x: &Tensor) -> Tensor {
                inner(&self.block.forward(&self.norm.forward(x)))
            }
        }
    }
    pub use parts::*;
}

mod inner {
    use layers::deep::*;
    use tensorplay::prelude::*;

    #[tensorplay::nested_compile_region]
    pub fn inner(x: &Tensor) -> Tensor {
        unit(&twice(x))
    }
}

#[tensorplay::model]
mod after {
    use super::before::*;
    use tensorplay::prelude::*;

    /// Calls what is further up.
    pub struct Deep {
        early: Early,
    }

    impl Deep {
        /// Drawn at random.
        pub fn new() -> Self {
            Self { early: Early::new() }
        }

        /// A compiled method as a unit.
        #[tensorplay::compile(fullgraph)]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            self.early.forward(x).relu()
        }
    }
}
