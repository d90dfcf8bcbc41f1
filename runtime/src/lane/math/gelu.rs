//! gelu and its tanh approximation.
//!
//! gelu(x) = x Phi(x) = max(x, 0) - |x| Phi(-|x|), Phi the normal distribution function. Phi(-a) = q(a)^4, q a
//! polynomial of degree 8: the fourth root decays a quarter as fast as the tail, so it takes far fewer terms than the
//! tail or erf to the same error, and there is no division. At the clamp q is just below 0, and it is cut off
//! at 0, so the result is exactly 0 or x from there: also at -inf, where PyTorch has NaN. The error is absolute in
//! Phi (1.9e-7): far out on the negative side few digits are right, as with 0.5 x (1 + erf(x / sqrt 2)).
//!
//! gelu_tanh(x) = x / (1 + exp(-v)), v = sqrt(8 / pi) (x + 0.044715 x^3), see `sigmoid`.

use super::sigmoid::weighted;
use super::{Tier, at_least, at_most, fma, horner};

/// q is -0.001 here, and Phi(-a) is 7e-9.
const SATURATION: f32 = 5.666;

/// x Phi(x).
#[inline(always)]
pub(crate) fn gelu<T: Tier>(x: f32) -> f32 {
    let a = at_most(SATURATION, x.abs());
    let q = horner!(
        T,
        a,
        [
            0.840_896_428,
            -0.167_733_952,
            -0.050_198_201_1,
            0.004_650_875_93,
            0.003_794_157_41,
            -3.425_238_17e-5,
            -3.077_363_94e-4,
            5.846_101_7e-5,
            -3.402_330_55e-6,
        ]
    );
    let q = at_least(0.0, q);
    let q2 = q * q;
    fma::<T>(-a, q2 * q2, at_least(0.0, x))
}

/// The tanh approximation of gelu.
#[inline(always)]
pub(crate) fn gelu_tanh<T: Tier>(x: f32) -> f32 {
    const LINEAR: f32 = 1.595_769_1;
    const CUBIC: f32 = 0.071_354_81;
    weighted::<T>(x, x * fma::<T>(x * x, CUBIC, LINEAR))
}
