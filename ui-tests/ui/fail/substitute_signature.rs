use tensorplay::{prelude::*, substitute_in_graph};

fn scaled(x: &Tensor, by: f64) -> Tensor {
    x * by
}

#[substitute_in_graph(scaled)]
fn scaled_without_a_number(x: &Tensor) -> Tensor {
    x * 2.0
}

fn halves(x: &Tensor) -> (Tensor, Tensor) {
    (x * 0.5, x * 0.5)
}

#[substitute_in_graph(halves)]
fn halves_as_a_list(x: &Tensor) -> Vec<Tensor> {
    x.chunk(2, 0)
}

#[substitute_in_graph(sofplus)]
fn of_a_function_that_is_not_here(x: &Tensor) -> Tensor {
    x.exp().log1p()
}

fn main() {
    let _ = scaled;
    let _ = halves;
}
