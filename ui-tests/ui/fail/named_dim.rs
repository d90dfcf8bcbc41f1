use tensorplay::{compile, prelude::*};

// the messages show named dims and ranges as written
#[compile(spec(x = f32[N, 784], w = f32[784, N], return = f32[N, 10]))]
fn in_the_result(x: &Tensor, w: &Tensor) -> Tensor {
    x.matmul(w).narrow(1, 0, 12)
}

#[compile(spec(x = f32[N, 784], w = f32[512, N]))]
fn in_an_operand(x: &Tensor, w: &Tensor) -> Tensor {
    x.matmul(w)
}

#[compile(spec(x = f32[N, 3], y = f32[N, 4]))]
fn in_a_sum(x: &Tensor, y: &Tensor) -> Tensor {
    x * 2.0 + y.exp()
}

fn main() {}
