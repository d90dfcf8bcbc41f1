use tensorplay::{compile, prelude::*};

#[compile(spec(
    a = f32,
    b = [B, 784],
    c = f33[B],
    d = f32[4; 5],
    e = f32[.., 3],
    f = f32[8..=4],
    g = f32[-1],
    h = f32[4usize],
    i = f32[B] [C],
    j
))]
#[allow(clippy::too_many_arguments)]
fn bad(
    a: &Tensor,
    b: &Tensor,
    c: &Tensor,
    d: &Tensor,
    e: &Tensor,
    f: &Tensor,
    g: &Tensor,
    h: &Tensor,
    i: &Tensor,
    j: &Tensor,
) -> Tensor {
    a + b + c + d + e + f + g + h + i + j
}

#[compile]
fn at_the_parameter(#[spec] x: &Tensor, #[spec(f32(4))] y: &Tensor, #[spec()] z: &Tensor) -> Tensor {
    x + y + z
}

#[compile(spec())]
fn empty(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
