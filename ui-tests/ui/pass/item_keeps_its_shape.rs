//! Documentation, attributes and visibility stay; nothing that the expansion leaves gives a warning.
#![deny(warnings, missing_docs)]
#![forbid(unsafe_code)]

use tensorplay::{compile, explain, graph, prelude::*};

/// A documented module.
pub mod layers {
    use tensorplay::prelude::*;

    /// A documented function.
    ///
    /// With a second paragraph.
    #[tensorplay::compile(fullgraph, spec(x = f32[B, 4]))]
    #[inline]
    #[must_use]
    pub fn scaled(x: &Tensor, s: f32) -> Tensor {
        (x * s).tanh()
    }

    #[tensorplay::compile]
    #[inline(always)]
    #[allow(clippy::let_and_return)]
    pub(crate) fn shifted(x: &Tensor) -> Tensor {
        let y = x + 1;
        y
    }
}

/// A documented layer.
#[derive(Debug)]
pub struct Layer {
    w: Tensor,
    eps: f64,
}

impl Layer {
    /// A documented method.
    #[compile]
    #[must_use]
    pub fn forward(&self, x: &Tensor) -> Tensor {
        x.matmul(&self.w) + self.eps
    }
}

#[compile]
#[cfg(any(unix, windows))]
fn owned(x: Tensor, _unused: bool) -> Tensor {
    x.relu()
}

/// It only has to be there for the doc test of rustdoc's lints.
#[compile(disable)]
pub fn left_alone(x: &Tensor) -> usize {
    x.elem_count()
}

#[compile]
#[deprecated = "for the test"]
#[expect(dead_code)]
fn never_called(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {
    let x = Tensor::from_slice(&[1.0f32, -2.0, 3.0, 0.5], (1, 4));
    assert_eq!(layers::scaled(&x, 0.0).to_vec::<f32>(), [0.0, 0.0, 0.0, 0.0]);
    assert_eq!(layers::shifted(&x).to_vec::<f32>(), [2.0, -1.0, 4.0, 1.5]);
    let layer = Layer {
        w: Tensor::eye(4, DType::F32),
        eps: 0.5,
    };
    assert_eq!(layer.forward(&x).to_vec::<f32>(), [1.5, -1.5, 3.5, 1.0]);
    assert_eq!(owned(x.clone(), true).to_vec::<f32>(), [1.0, 0.0, 3.0, 0.5]);
    assert_eq!(left_alone(&x), 4);
    assert_eq!(explain!(layers::scaled).calls.dispatched, 1);
    assert_eq!(explain!(Layer::forward).calls.dispatched, 1);
    assert_eq!(graph!(owned).len(), 1);
    let pointer: fn(&Tensor, f32) -> Tensor = layers::scaled;
    assert_eq!(pointer(&x, 0.0).shape(), [1, 4]);
    assert_eq!(explain!(layers::scaled).calls.dispatched, 2);
}
