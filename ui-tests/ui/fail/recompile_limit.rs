use tensorplay::{compile, prelude::*};

#[compile(recompile_limit = 0)]
fn none(x: &Tensor) -> Tensor {
    x.relu()
}

// a free function has no instances
#[compile(isolate_recompiles)]
fn free(x: &Tensor) -> Tensor {
    x.relu()
}

struct Net;

impl Net {
    #[compile(isolate_recompiles, recompile_limit = 2)]
    fn without_self(net: &Net, x: &Tensor) -> Tensor {
        let _ = net;
        x.relu()
    }
}

fn main() {}
