use tensorplay::{allow_in_graph, assume_constant_result, compile, disable, prelude::*, substitute_in_graph};

#[allow_in_graph]
fn opaque(x: &Tensor) -> Tensor {
    x * 2.0
}

#[disable(reason = "it draws on a screen")]
fn shown(x: &Tensor) -> Tensor {
    x * 3.0
}

#[assume_constant_result]
fn constant() -> Tensor {
    Tensor::from_slice(&[1.0f32], 1)
}

fn original(x: &Tensor) -> Tensor {
    x * 5.0
}

#[substitute_in_graph(original)]
fn stands_in(x: &Tensor) -> Tensor {
    println!("{x}");
    x * 7.0
}

#[compile(fullgraph)]
fn f(x: &Tensor) -> Tensor {
    let a = opaque(x);
    let b = shown(&a);
    let c = original(&b) + constant();
    c.relu()
}

fn main() {
    f(&Tensor::from_slice(&[1.0f32], 1));
}
