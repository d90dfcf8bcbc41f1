use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn chatty(x: &Tensor) -> Tensor {
    let y = x.relu();
    println!("{y}");
    assert!(y.rank() == 2);
    y
}

fn main() {}
