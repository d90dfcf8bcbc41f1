use tensorplay::{prelude::*, substitute_in_graph};

fn softplus(x: &Tensor) -> Tensor {
    x.exp().log1p()
}

#[substitute_in_graph(softplus)]
fn one(x: &Tensor) -> Tensor {
    x.exp().log1p()
}

#[substitute_in_graph(softplus)]
fn another(x: &Tensor) -> Tensor {
    (x.exp() + 1.0).log()
}

fn main() {
    let _ = softplus;
}
