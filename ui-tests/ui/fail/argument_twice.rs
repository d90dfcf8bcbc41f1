use tensorplay::{compile, prelude::*};

#[compile(fullgraph, fullgraph)]
fn flag(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(dtypes(f32, f32))]
fn dtype(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(spec(x = f32[4], x = f32[5]))]
fn spec_in_the_list(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(spec(x = f32[4]))]
fn spec_at_the_parameter_too(#[spec(f32[4])] x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
