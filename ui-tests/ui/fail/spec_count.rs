use tensorplay::{compile, prelude::*};

#[compile(spec(pair = f32[2], x = (f32[2], f32[3])))]
fn of_parts(pair: (&Tensor, &Tensor), x: &Tensor) -> Tensor {
    pair.0 + pair.1 + x
}

#[compile]
fn of_a_pattern(#[spec(f32[2])] (x, y): (&Tensor, &Tensor)) -> Tensor {
    x + y
}

#[compile(spec(return = f32[2]))]
fn of_an_option(x: &Tensor) -> Option<Tensor> {
    Some(x.relu())
}

fn main() {}
