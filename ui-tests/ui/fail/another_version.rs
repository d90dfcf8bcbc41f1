//! What a crate says that uses another version of tensorplay: one error, at the path.

use tensorplay::{Tensor, compile};

mod layers {
    use tensorplay::Tensor;

    pub fn gated(x: &Tensor) -> Tensor {
        x.relu()
    }

    macro_rules! answer {
        (@export [$($step:tt)*] $($state:tt)*) => { $($step)*!{ b"\x7fanother" $($state)* } };
    }
    pub(super) use answer as gated;
}

#[compile(fullgraph)]
fn twice(x: &Tensor) -> Tensor {
    layers::gated(&layers::gated(x))
}

fn main() {
    // the function is there
    let _: fn(&Tensor) -> Tensor = twice;
}
