use tensorplay::{compile, prelude::*};

#[derive(Clone, Copy)]
enum Activation {
    Relu,
    Gelu,
}

const KIND: Activation = Activation::Relu;

#[compile]
fn matched(x: &Tensor) -> Tensor {
    match KIND {
        Activation::Relu => x.relu(),
        Activation::Gelu => x.gelu(),
    }
}

#[compile]
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

#[compile]
fn let_else(x: &Tensor) -> Tensor {
    let Some(b) = Some(x) else { return x.relu() };
    b.exp()
}

#[compile]
fn borrowed(x: &Tensor) -> Tensor {
    let mut y = x.relu();
    let z = &mut y;
    z.exp()
}

fn main() {
    let _ = Activation::Gelu;
}
