use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn of_a_list_in_a_tuple(x: &Tensor, ws: (Tensor, Vec<Tensor>)) -> Tensor {
    x.matmul(&ws.0)
}

#[compile(fullgraph)]
fn of_an_option_of_a_unique_reference(x: &Tensor, cache: Option<&mut Tensor>) {
    if let Some(cache) = cache {
        *cache = x.relu();
    }
}

#[compile(fullgraph)]
fn of_an_array_of_any_length<const N: usize>(xs: [Tensor; N]) -> Tensor {
    Tensor::stack(&xs, 0)
}

#[compile(fullgraph)]
fn a_pattern((x, ..): (&Tensor, &Tensor)) -> Tensor {
    x.relu()
}

fn main() {}
