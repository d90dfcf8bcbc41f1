//! erf, with no division: x + x P(x^2) below 1 (degree 5 in x^2), 1 - q(|x|)^4 above, q a polynomial of degree 8
//! for the fourth root of erfc, which is far smoother than erfc. Beyond |x| = 3.94 the power is under half an ulp
//! of 1 and the result is exactly 1.

use super::{Tier, at_most, fma, horner};

/// The error function.
#[inline(always)]
pub(crate) fn erf<T: Tier>(x: f32) -> f32 {
    let a = at_most(4.25, x.abs());
    let s = a * a;
    let p = horner!(
        T,
        s,
        [
            0.128_379_121,
            -0.376_123_22,
            0.112_801_515,
            -0.026_710_577_3,
            0.004_916_755_48,
            -5.628_342_61e-4,
        ]
    );
    let small = fma::<T>(a, p, a);
    let q = horner!(
        T,
        a,
        [
            1.003_412_49,
            -0.299_719_84,
            -0.080_275_982_6,
            -0.032_994_043_1,
            0.055_042_788_4,
            -0.017_822_552_5,
            0.002_170_219_32,
            -3.512_018_16e-5,
            -8.421_911_84e-6,
        ]
    );
    let q2 = q * q;
    let large = fma::<T>(-q2, q2, 1.0);
    (if a < 1.0 { small } else { large }).copysign(x)
}
