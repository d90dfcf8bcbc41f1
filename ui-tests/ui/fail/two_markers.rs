use tensorplay::{allow_in_graph, compile, disable, disallow_in_graph, prelude::*, unused};

#[allow_in_graph]
#[disable(recursive = false)]
fn in_and_out(x: &Tensor) -> Tensor {
    x.relu()
}

#[unused]
#[unused]
fn twice(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile]
#[disallow_in_graph]
fn above(x: &Tensor) -> Tensor {
    x.relu()
}

#[tensorplay::nonstrict_trace]
#[compile]
fn below(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
