use tensorplay::compiler::NestedCompileRegionOptions;
use tensorplay::{nested_compile_region, prelude::*};

static BOTH: NestedCompileRegionOptions = NestedCompileRegionOptions {
    fw_compiler: Some("tvm"),
    bw_compiler: Some("tvm"),
};

#[nested_compile_region(options = BOTH)]
fn with_a_gradient_elsewhere(x: &Tensor) -> Tensor {
    x.relu()
}

#[nested_compile_region(options = "tvm")]
fn by_name(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
