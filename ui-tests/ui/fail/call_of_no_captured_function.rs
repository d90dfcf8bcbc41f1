//! Calls that no macro answers, whatever is in scope: one error each, at the call.

use tensorplay::{Tensor, compile, nested_compile_region};

#[compile(fullgraph)]
fn itself(x: &Tensor) -> Tensor {
    if x.dim(0) > 2 { itself(&x.narrow(0, 0, 1)) } else { x.relu() }
}

#[nested_compile_region]
#[allow(unconditional_recursion)]
fn region(x: &Tensor) -> Tensor {
    region(x) + 1.0
}

#[compile(fullgraph)]
fn standard(x: &Tensor) -> Tensor {
    x * std::hint::black_box(2.0) + core::convert::identity(1.0)
}

fn named(_: &str, _: &str) -> f64 {
    2.0
}

#[compile(fullgraph)]
fn text(x: &Tensor) -> Tensor {
    x * named("a", r"b")
}

fn main() {
    let _: [fn(&Tensor) -> Tensor; 4] = [itself, region, standard, text];
}
