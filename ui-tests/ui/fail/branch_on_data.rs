use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn by_sum(x: &Tensor) -> Tensor {
    let y = if x.sum_all().item::<f32>() > 0.0 { x.gelu() } else { x.relu() };
    while y.max_all().item::<f32>() < 1.0 {}
    y.exp()
}

fn main() {}
