//! Normalisation by groups and by running statistics.

use tensorplay::{compile, prelude::*};

use crate::check::row;

#[test]
fn report_057_a_group_of_equal_numbers_becomes_zero() {
    for value in [1.0, 0.1, 1e6] {
        let (x, zero) = (
            Tensor::full((2, 4, 5), value, DType::F32),
            Tensor::zeros((2, 4, 5), DType::F32),
        );
        exact!([x: f32 = x] x.group_norm(2, None, None, 1e-5) => zero);
        exact!([x: f32 = x] x.group_norm(4, None, None, 1e-5) => zero);
        exact!([x: f64 = x] x.group_norm(1, None, None, 1e-5) => zero.to_dtype(DType::F64));
    }
}

#[test]
fn report_057_the_running_mean_becomes_the_bias() {
    let mean = row([0.1f32, 1e6]);
    let x = mean.reshape((1, 2, 1, 1)).expand((3, 2, 2, 2));
    let (var, w, b) = (row([0.0f32, 0.0]), row([3.7f32, -0.3]), row([0.3f32, -7.1]));
    exact!([x: f32 = x, m: f32 = mean, v: f32 = var, w: f32 = w, b: f32 = b]
        x.batch_norm(m, v, Some(w), Some(b), 1e-5) => b.reshape((1, 2, 1, 1)).expand((3, 2, 2, 2)));
    exact!([x: f32 = x, m: f32 = mean, v: f32 = var]
        x.batch_norm(m, v, None, None, 1e-5) => Tensor::zeros((3, 2, 2, 2), DType::F32));
}
