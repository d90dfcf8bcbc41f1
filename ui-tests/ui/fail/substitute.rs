use tensorplay::{prelude::*, substitute_in_graph};

mod math {
    use tensorplay::prelude::*;

    pub fn softplus(x: &Tensor) -> Tensor {
        x.exp().log1p()
    }
}

#[substitute_in_graph]
fn of_nothing(x: &Tensor) -> Tensor {
    x.exp().log1p()
}

#[substitute_in_graph(math::softplus)]
fn of_another_module(x: &Tensor) -> Tensor {
    x.exp().log1p()
}

#[substitute_in_graph(of_itself)]
fn of_itself(x: &Tensor) -> Tensor {
    x.exp().log1p()
}

fn scaled(x: &Tensor, by: f64) -> Tensor {
    x * by
}

#[substitute_in_graph(scaled)]
fn scaled_by_any(x: &Tensor, by: impl Into<f64>) -> Tensor {
    x * by.into()
}

fn main() {
    let _ = math::softplus;
    let _ = scaled;
}
