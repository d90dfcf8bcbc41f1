use tensorplay::{compile, prelude::*};

#[compile(fullgraph = 3)]
fn flag(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(name = 3)]
fn name(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(dtypes(i32, float))]
fn dtypes(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(dtypes())]
fn no_dtypes(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(crate = "tensorplay")]
fn path(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(dynamic = 1, recompile_limit = 0, mode = fast)]
fn not_available_and_wrong(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
