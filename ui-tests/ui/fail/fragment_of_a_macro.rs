//! Errors in what a `macro_rules!` is given are at the caller's tokens.

use tensorplay::{compile, prelude::*};

macro_rules! scaled {
    ($off:ident, $whole:ident, $e:expr, $read:expr) => {
        #[compile(disable)]
        fn $off(x: &Tensor) -> Tensor {
            x * 2.0 * $e
        }

        #[compile(fullgraph)]
        fn $whole(x: &Tensor) -> Tensor {
            let k = $read;
            x.relu() * k
        }
    };
}
scaled!(off, whole, { let k: f64 = "two"; k } + 1.0, 1.0 + Tensor::ones(1, DType::F32).item::<f64>());

fn main() {}
