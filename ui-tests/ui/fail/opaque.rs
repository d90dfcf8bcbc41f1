use tensorplay::{compile, prelude::*};

type Matrix = Tensor;

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Plain,
    Scaled(f64),
}

#[compile(fullgraph)]
fn of_an_alias(x: &Matrix) -> Tensor {
    x.relu()
}

#[compile(fullgraph)]
fn a_name_in_a_pattern(x: &Tensor, mode: Mode) -> Tensor {
    match mode {
        Mode::Scaled(s) => x * s,
        Mode::Plain => x.relu(),
    }
}

#[compile(fullgraph)]
fn a_guard(x: &Tensor, mode: Mode) -> Tensor {
    match mode {
        Mode::Scaled(_) if x.rank() > 1 => x.exp(),
        _ => x.relu(),
    }
}

#[compile(fullgraph)]
fn as_a_number(x: &Tensor, mode: Mode, letter: char) -> Tensor {
    if mode == mode.other() {
        x * (letter as i32)
    } else {
        x.relu()
    }
}

impl Mode {
    fn other(self) -> Mode {
        self
    }
}

fn main() {}
