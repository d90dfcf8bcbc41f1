//! `explain!` and `graph!` through modules, renames and types; functions inside functions; methods.
#![deny(warnings, let_underscore_drop)]
#![allow(missing_docs)]
#![forbid(unsafe_code)]

use tensorplay::{compile, explain, graph, nested_compile_region, prelude::*};

mod nets {
    pub mod deep {
        use tensorplay::prelude::*;

        #[tensorplay::compile]
        pub fn forward(x: &Tensor) -> Tensor {
            x.relu()
        }

        #[tensorplay::compile]
        pub(super) fn private(x: &Tensor, n: usize, on: bool, to: DType) -> Tensor {
            x.narrow(0, 0, n).to_dtype(to) + on
        }
    }

    // the same name in another module
    #[tensorplay::compile]
    pub fn forward(x: &tensorplay::Tensor) -> tensorplay::Tensor {
        x.exp()
    }

    pub fn private_calls() -> u64 {
        tensorplay::explain!(deep::private).calls.dispatched
    }

    pub fn run(x: &tensorplay::Tensor) -> tensorplay::Tensor {
        deep::private(x, 1, true, tensorplay::DType::F32)
    }
}

use nets::deep as renamed;
use nets::deep::forward as first;
pub use nets::forward as second;

struct Layer {
    w: Tensor,
    scale: f64,
}

type Alias = Layer;

impl Layer {
    #[compile]
    fn apply(&self, x: &Tensor) -> Tensor {
        x.matmul(&self.w) * self.scale
    }

    #[compile]
    fn unit(x: &Tensor) -> Tensor {
        let this = Self::SHIFT;
        x + this
    }

    const SHIFT: f64 = 1.0;
}

#[nested_compile_region]
fn part(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(fullgraph)]
fn whole(x: &Tensor) -> Tensor {
    part(x) + part(x)
}

/// Nothing is returned, and a result that is no tensor.
#[compile]
fn doubled(x: &mut Tensor) {
    *x = &*x * 2.0;
}

#[compile]
fn none() -> Tensor {
    Tensor::ones(2, DType::F32)
}

fn outer(x: &Tensor) -> (Tensor, u64) {
    #[compile]
    fn inner(x: &Tensor) -> Tensor {
        x.sqrt()
    }
    let y = inner(x);
    (y, explain!(inner).calls.dispatched)
}

/// One macro, two functions of one name and place.
pub mod generated {
    macro_rules! module {
        ($name:ident, $op:ident) => {
            pub mod $name {
                use tensorplay::{compile, prelude::*};
                #[compile]
                pub fn go(x: &Tensor) -> Tensor {
                    x.$op()
                }
            }
        };
    }
    module!(a, relu);
    module!(b, exp);
}

fn main() {
    let x = Tensor::from_slice(&[1.0f32, 4.0], 2);
    first(&x);
    renamed::forward(&x);
    second(&x);
    assert_eq!(explain!(first).calls.dispatched, 2);
    assert_eq!(explain!(renamed::forward).calls.dispatched, 2);
    assert_eq!(explain!(nets::deep::forward).calls.dispatched, 2);
    assert_eq!(explain!(self::nets::forward).calls.dispatched, 1);
    assert_eq!(explain!(crate::second).calls.dispatched, 1);
    assert!(
        explain!(first).path.ends_with("nets::deep::forward"),
        "{}",
        explain!(first).path
    );
    assert!(
        explain!(second).path.ends_with("nets::forward"),
        "{}",
        explain!(second).path
    );
    assert!(graph!(first).to_string().contains("relu"));
    assert!(graph!(second).to_string().contains("exp"));
    nets::run(&x);
    assert_eq!(nets::private_calls(), 1);

    let layer = Layer {
        w: Tensor::eye(2, DType::F32),
        scale: 3.0,
    };
    let row = x.unsqueeze(0);
    assert_eq!(layer.apply(&row).to_vec::<f32>(), [3.0, 12.0]);
    assert_eq!(Alias::unit(&x).to_vec::<f32>(), [2.0, 5.0]);
    assert_eq!(explain!(Layer::apply).calls.dispatched, 1);
    assert_eq!(explain!(Alias::unit).calls.dispatched, 1);
    assert_eq!(explain!(crate::Layer::apply).calls.dispatched, 1);

    assert_eq!(whole(&x).to_vec::<f32>(), [2.0, 8.0]);
    let mut twice = x.clone();
    doubled(&mut twice);
    assert_eq!(twice.to_vec::<f32>(), [2.0, 8.0]);
    assert_eq!(none().shape(), [2]);
    for e in [explain!(whole), explain!(doubled), explain!(none)] {
        assert_eq!(e.calls.dispatched, 1, "{e}");
    }

    let (y, calls) = outer(&x);
    assert_eq!(y.to_vec::<f32>(), [1.0, 2.0]);
    assert_eq!(calls, 1);
    generated::a::go(&x);
    assert_eq!(explain!(generated::a::go).calls.dispatched, 1);
    assert_eq!(explain!(generated::b::go).calls.dispatched, 0);
    // asking runs no body and counts no call
    assert_eq!(explain!(first).calls.dispatched, 2);
}
