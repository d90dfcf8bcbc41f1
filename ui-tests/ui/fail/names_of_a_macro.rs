use tensorplay::{compile, model, prelude::*};

macro_rules! two_locals {
    ($name:ident, $y:ident, $e:expr) => {
        #[compile(fullgraph)]
        fn $name($y: &Tensor) -> Tensor {
            let y = $y * 100.0;
            $e + y
        }
    };
}
two_locals!(f, y, y * 2.0);

macro_rules! with_breaks {
    ($name:ident, $n:ident, $e:expr) => {
        #[compile]
        fn $name(x: &Tensor, $n: usize) -> Tensor {
            println!("a break");
            let n = $n + 10;
            if $e > 5 { x * n as f64 } else { x + n as f64 }
        }
    };
}
with_breaks!(g, n, n);

macro_rules! helper {
    ($h:ident, $e:expr) => {
        #[model]
        mod net {
            use tensorplay::{compile, prelude::*};

            fn scaled($h: &Tensor) -> Tensor {
                [1.0, 2.0].into_iter().map(|h| $h * h).fold($e, |a, b| a + b)
            }

            #[compile]
            pub fn forward(x: &Tensor) -> Tensor {
                scaled(x).relu()
            }
        }
    };
}
helper!(h, h * 2.0);

fn main() {}
