//! Derivatives.

use crate::check::{assert_exact, assert_near, both, counting, row};
use tensorplay::{compile, prelude::*};

#[test]
fn report_009_the_gradient_of_negation_flips_the_sign_of_zero() {
    #[compile(grad)]
    fn negated(x: &Tensor) -> Tensor {
        -x
    }
    let x = row([1.0f32, 2.0]).requires_grad_(true);
    let cotangent = row([0.0f32, -0.0]);
    for y in both(|| negated(&x)) {
        x.zero_grad();
        tensorplay::backward(&[&y], &[&cotangent]);
        assert_exact(&x.grad().expect("a gradient"), &row([-0.0f32, 0.0]));
    }
}

#[test]
fn report_050_the_gradient_of_a_layer_norm_between_swapped_axes() {
    #[compile(grad, dtypes(f32, f64))]
    fn swapped(x: &Tensor, w: &Tensor) -> Tensor {
        let y = x
            .reshape((2, 3, 20))
            .transpose(1, 2)
            .layer_norm(1, Some(w), None, 1e-5);
        (y.transpose(1, 2).reshape((6, 4, 5)) * 2.0).sin()
    }
    let data = ((counting(&[2, 3, 4, 5]) * 0.7).sin(), row([0.5f32, 1.0, -2.0]));
    let of = |dtype| {
        let x = data.0.to_dtype(dtype).requires_grad_(true);
        let w = data.1.to_dtype(dtype).requires_grad_(true);
        both(|| {
            (x.zero_grad(), w.zero_grad());
            swapped(&x, &w).sum_all().backward();
            [&x, &w].map(|t| t.grad().expect("a gradient"))
        })
    };
    let [compiled, right] = of(DType::F64);
    for got in of(DType::F32).iter().chain([&compiled]) {
        for (got, right) in got.iter().zip(&right) {
            assert!(
                got.to_dtype(DType::F64).allclose(right, 1e-4, 1e-5),
                "{got}, not {right}"
            );
        }
    }
}

#[test]
fn report_054_the_gradient_of_a_variance_that_is_not_a_number() {
    #[compile(grad)]
    fn variance(x: &Tensor) -> Tensor {
        x.var(0, 1)
    }
    let x = row([3.0f32]).requires_grad_(true);
    for y in both(|| variance(&x)) {
        x.zero_grad();
        y.backward();
        assert!(x.grad().expect("a gradient").item::<f32>().is_nan());
    }
}

#[test]
fn report_082_the_gradient_of_a_reflected_pad() {
    #[compile(grad)]
    fn padded(x: &Tensor) -> Tensor {
        x.pad(&[6, 6], PadMode::Reflect)
    }
    let x = counting(&[1, 7]).requires_grad_(true);
    for y in both(|| padded(&x)) {
        x.zero_grad();
        assert_eq!(y.shape(), [1, 19]);
        y.sum_all().backward();
        let want = row([2.0f32, 3.0, 3.0, 3.0, 3.0, 3.0, 2.0]).reshape((1, 7));
        assert_near(&x.grad().expect("a gradient"), &want, 0.0);
    }
}
