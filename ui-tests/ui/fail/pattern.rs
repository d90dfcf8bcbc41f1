use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn rest(x: &Tensor) -> Tensor {
    let (a, ..) = (x.relu(), x.exp());
    a
}

#[compile(fullgraph)]
fn pieces(x: &Tensor) -> Tensor {
    let [a, b] = x.chunk(2, 0).try_into().unwrap();
    a + b
}

fn main() {}
