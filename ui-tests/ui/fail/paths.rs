use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn many(x: &Tensor, a: bool, b: bool, c: bool, d: bool, e: bool, f: bool, g: bool) -> Tensor {
    let mut y = x.relu();
    for on in [a, b, c, d, e, f, g] {
        if on {
            y = y.exp();
        }
    }
    y
}

fn main() {}
