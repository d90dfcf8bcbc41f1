use tensorplay::{compile, nested_compile_region, prelude::*};

#[derive(Clone, Copy)]
pub enum Mode {
    Plain,
    Doubled,
}

#[nested_compile_region]
fn asked(x: &Tensor, mode: Mode) -> Tensor {
    match mode {
        Mode::Plain => x.relu(),
        Mode::Doubled => x * 2.0,
    }
}

#[nested_compile_region]
fn sized<const N: usize>(x: &Tensor) -> Tensor {
    x.narrow(0, 0, N)
}

#[compile(fullgraph)]
fn without_its_const(x: &Tensor) -> Tensor {
    sized(x)
}

fn main() {}
