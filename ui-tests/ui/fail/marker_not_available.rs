use tensorplay::{export, prelude::*, substitute_in_graph};

#[export]
fn exported(x: &Tensor) -> Tensor {
    x.relu()
}

fn softplus(x: &Tensor) -> Tensor {
    x.exp().log1p()
}

#[substitute_in_graph(softplus, can_constant_fold_through = true)]
fn softplus_again(x: &Tensor) -> Tensor {
    x.exp().log1p()
}

fn main() {}
