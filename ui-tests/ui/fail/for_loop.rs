use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn repeated(x: &Tensor, n: usize) -> Tensor {
    let mut y = x.relu();
    for _ in 0..n {
        y = y.sin();
    }
    y
}

fn main() {}
