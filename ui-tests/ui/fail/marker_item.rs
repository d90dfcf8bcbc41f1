use tensorplay::{allow_in_graph, assume_constant_result, disable, disallow_in_graph, nonstrict_trace, unused};
use tensorplay::{prelude::*, substitute_in_graph};

#[disable]
struct Net {
    w: Tensor,
}

impl Net {
    #[disable(reason = "prints")]
    fn report(&self) {
        println!("{}", self.w);
    }

    #[allow_in_graph]
    fn make() -> Self {
        Net { w: Tensor::from_slice(&[1.0f32], 1) }
    }
}

#[assume_constant_result]
const fn size() -> usize {
    8
}

#[nonstrict_trace]
async fn later(x: Tensor) -> Tensor {
    x
}

#[unused]
unsafe fn raw(x: *const f32) -> f32 {
    unsafe { *x }
}

#[disallow_in_graph]
extern "C" fn callback() {}

#[substitute_in_graph(softplus)]
use std::f32::consts::PI;

fn main() {
    let _ = PI;
}
