use tensorplay as tp;
use tensorplay::{compile, nested_compile_region, prelude::*};

#[compile]
#[compile(fullgraph)]
pub fn twice(x: &Tensor) -> Tensor {
    x + 1.0
}

#[compile]
#[tensorplay::nested_compile_region]
pub fn compiled_first(x: &Tensor) -> Tensor {
    x + 1.0
}

#[nested_compile_region]
#[compile]
pub fn region_first(x: &Tensor) -> Tensor {
    x + 1.0
}

#[tp::compile(crate = tp)]
#[tp::compile(crate = tp)]
fn renamed(x: &Tensor) -> Tensor {
    x + 1.0
}

struct Net {
    w: Tensor,
}

#[compile]
#[compile]
impl Net {
    #[inline]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.matmul(&self.w)
    }
}

#[tensorplay::model]
mod net {
    use tensorplay::{compile, prelude::*};

    pub struct Layer {
        w: Tensor,
    }

    impl Layer {
        #[compile(fullgraph)]
        #[tensorplay::nested_compile_region]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            x.matmul(&self.w)
        }
    }
}

fn main() {}
