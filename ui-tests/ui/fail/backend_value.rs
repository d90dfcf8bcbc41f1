use tensorplay::{compile, prelude::*};

// neither a name nor a path
#[compile(backend = 3)]
fn number(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(backend = "")]
fn empty(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(backend("stax"))]
fn in_parentheses(x: &Tensor) -> Tensor {
    x.relu()
}

// a path to something else
static NAME: &str = "stax";

#[compile(backend = NAME)]
fn another_static(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
