//! What new parameters are before training: PyTorch's defaults, drawn from the generator that `manual_seed` sets.

use crate::prelude::*;
use tensorplay_runtime::Shape;

/// The bound of PyTorch's `kaiming_uniform_` with `a = sqrt(5)`, and of the bias that goes with it: `1 / sqrt(fan_in)`.
pub(super) fn kaiming_bound(fan_in: usize) -> f64 {
    if fan_in == 0 {
        0.0
    } else {
        1.0 / (fan_in as f64).sqrt()
    }
}

/// The bound of PyTorch's `xavier_uniform_`: `sqrt(6 / (fan_in + fan_out))`.
pub(super) fn xavier_bound(fan_in: usize, fan_out: usize) -> f64 {
    (6.0 / (fan_in + fan_out).max(1) as f64).sqrt()
}

/// A parameter, uniform within the bound on either side of 0.
pub(super) fn uniform(shape: impl Shape, bound: f64) -> Tensor {
    let unit = Tensor::rand(shape, DType::F32);
    (unit * (2.0 * bound) - bound).requires_grad_(true)
}

/// A parameter, normal with mean 0 and variance 1.
pub(super) fn normal(shape: impl Shape) -> Tensor {
    Tensor::randn(shape, DType::F32).requires_grad_(true)
}

/// A parameter of zeros.
pub(super) fn zeros(shape: impl Shape) -> Tensor {
    Tensor::zeros(shape, DType::F32).requires_grad_(true)
}

/// A parameter of ones.
pub(super) fn ones(shape: impl Shape) -> Tensor {
    Tensor::ones(shape, DType::F32).requires_grad_(true)
}
