use tensorplay::prelude::*;

/// Where the operation of `rows` is.
pub const FILE: &str = file!();
pub const LINE: u32 = line!() + 5;

/// The rows of a tensor.
#[tensorplay::nested_compile_region]
pub fn rows(x: &Tensor, i: &Tensor) -> Tensor {
    x.index_select(i, 0)
}
