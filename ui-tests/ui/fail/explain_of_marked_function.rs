use tensorplay::{allow_in_graph, explain, graph, prelude::*, substitute_in_graph};

#[allow_in_graph]
fn quantise(x: &Tensor) -> Tensor {
    x.clone()
}

fn softplus(x: &Tensor) -> Tensor {
    x.exp().log1p()
}

#[substitute_in_graph(softplus)]
fn softplus_as_ops(x: &Tensor) -> Tensor {
    x.exp().log1p()
}

fn main() {
    let _ = (explain!(quantise), graph!(softplus));
}
