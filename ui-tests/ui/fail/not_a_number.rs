//! What capture took for a number, and is none: one error, at the field, const or local.

use tensorplay::{compile, prelude::*};

struct Reference<'a> {
    w: &'a Tensor,
}

impl Reference<'_> {
    #[compile]
    fn forward(&self, x: &Tensor) -> Tensor {
        x * self.w
    }
}

const NAME: &str = "n";

#[compile(fullgraph)]
fn named(x: &Tensor) -> Tensor {
    x * NAME
}

fn main() {}
