// conformance case 14
use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn condition(x: &Tensor) -> Tensor {
    if x.sum_all().item::<f32>() > 0.0 { x * 2.0 } else { x.neg() }
}

#[compile(fullgraph)]
fn scrutinee(x: &Tensor) -> Tensor {
    match x.argmax(0).item::<i64>() {
        0 => x + 1.0,
        _ => x - 1.0,
    }
}

#[compile(fullgraph)]
fn steps(x: &Tensor) -> Tensor {
    let mut y = x.clone();
    while y.max_all().item::<f32>() < 100.0 {
        y = y * 2.0;
    }
    y
}

#[compile(fullgraph)]
fn assertion(x: &Tensor) -> Tensor {
    assert!(x.min_all().item::<f32>() > 0.0, "every value must be positive");
    x.log()
}

fn main() {}
