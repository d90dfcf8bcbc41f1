use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn looped(x: &Tensor) -> Tensor {
    let mut y = x.relu();
    while y.rank() < 3 {
        y = y.unsqueeze(0);
    }
    loop {
        break;
    }
    y
}

#[compile(fullgraph)]
fn borrowed(x: &Tensor) -> Tensor {
    let mut y = x.relu();
    let z = &mut y;
    z.exp()
}

#[compile(fullgraph)]
fn mapped(x: &Tensor) -> Tensor {
    (0..3).map(|i| x * i).fold(x.clone(), |a, b| a + b)
}

fn main() {}
