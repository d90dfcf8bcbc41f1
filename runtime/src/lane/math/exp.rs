//! exp, exp2, expm1.
//!
//! x = n ln 2 + r with |r| <= ln 2 / 2. n is x log2 e rounded by adding and subtracting 1.5 * 2^23, which also
//! leaves n in the low mantissa bits, so that a shift makes the exponent field of 2^n: no conversion, no rounding
//! call. n ln 2 is taken off in two parts, the first exact. exp(r) = 1 + r + r^2 Q(r), Q of degree 4, relative
//! error 3.1e-9.
//!
//! One factor 2^n does not span the range: 2^128 overflows and 2^-126 is the least normal. The upper end is
//! reached with 2^(n-1) and a doubled polynomial, at no cost. Below 2^-125 [`exp_flush`] is 0, because there the
//! exponent field reaches 0. [`exp`] scales by 2^(n+31) there, then by 2^-32, so subnormal results are rounded
//! once; far below them the field reaches 0 again, so masked-out elements (-inf, -1e9) cost no slow underflow.

use super::{Tier, at_least, at_most, fma, horner};

/// x + MAGIC rounds x to the nearest even integer.
const MAGIC: f32 = 12_582_912.0;
/// ln 2 in two parts; the first has 9 mantissa bits, so n times it is exact.
const LN2_HI: f32 = 0.693_359_375;
const LN2_LO: f32 = -2.121_944_4e-4;
/// exp is infinite from here; n is 128 here.
const HIGHEST: f32 = 89.0;
/// n is -158 here, where even 1e2 exp is 0.
const LOWEST: f32 = -109.5;
/// n is -126 here, where `exp_flush` is 0.
const LOWEST_FLUSH: f32 = -87.6;
/// From here downwards the exponent is offset by 32.
const LOW: f32 = -80.0;
const LOW_SCALE: f32 = 1.0 / (1u64 << 32) as f32;

/// n as the low bits of a float, n as a float, and r.
#[inline(always)]
fn reduce<T: Tier>(x: f32) -> (u32, f32) {
    let t = fma::<T>(x, std::f32::consts::LOG2_E, MAGIC);
    let n = t - MAGIC;
    let r = fma::<T>(n, -LN2_HI, x);
    (t.to_bits(), fma::<T>(n, -LN2_LO, r))
}

/// 2 exp(r).
#[inline(always)]
fn doubled<T: Tier>(r: f32) -> f32 {
    let q = horner!(
        T,
        r,
        [
            0.999_999_881,
            0.333_330_423,
            0.083_336_532_1,
            0.016_737_354_9,
            0.002_764_146_78,
        ]
    );
    if T::FMA {
        fma::<T>(fma::<T>(q, r, 2.0), r, 2.0)
    } else {
        // one more operation, and the larger rounding errors are scaled down
        (q * r * r + 2.0 * r) + 2.0
    }
}

/// exp with results below 2^-125 flushed to 0.
#[inline(always)]
pub(crate) fn exp_flush<T: Tier>(x: f32) -> f32 {
    let x = at_least(LOWEST_FLUSH, at_most(HIGHEST, x));
    let (n, r) = reduce::<T>(x);
    doubled::<T>(r) * f32::from_bits(n.wrapping_add(126) << 23)
}

/// exp(x) as a pair: `scaled` is exp(x), or 2^32 exp(x) where `low`, that is x < -80.
#[derive(Clone, Copy)]
pub(super) struct Scaled {
    pub(super) scaled: f32,
    low: bool,
}

impl Scaled {
    /// exp(x) for x <= 0, or up to overflow.
    #[inline(always)]
    pub(super) fn new<T: Tier>(x: f32) -> Self {
        let low = x < LOW;
        let (n, r) = reduce::<T>(at_least(LOWEST, at_most(HIGHEST, x)));
        let n = n.wrapping_add(if low { 158 } else { 126 });
        Scaled {
            scaled: doubled::<T>(r) * f32::from_bits(n << 23),
            low,
        }
    }

    /// exp(x) y, which may be normal where exp(x) is not.
    #[inline(always)]
    pub(super) fn times(self, y: f32) -> f32 {
        let product = self.scaled * y;
        if self.low { product * LOW_SCALE } else { product }
    }
}

/// e to the power x.
#[inline(always)]
pub(crate) fn exp<T: Tier>(x: f32) -> f32 {
    Scaled::new::<T>(x).times(1.0)
}

/// 2 to the power x; r = x - n is exact, and 2^r = 1 + r P(r), P of degree 5, relative error 3e-9.
#[inline(always)]
pub(crate) fn exp2<T: Tier>(x: f32) -> f32 {
    let low = x < -120.0;
    let x = at_least(-158.0, at_most(128.0, x));
    let t = x + MAGIC;
    let r = x - (t - MAGIC);
    let p = horner!(
        T,
        r,
        [
            1.386_294_36,
            0.480_452_955,
            0.111_007_191,
            0.019_237_000_5,
            0.002_678_195_25,
            3.065_781_49e-4,
        ]
    );
    let n = t.to_bits().wrapping_add(if low { 158 } else { 126 });
    let y = fma::<T>(p, r, 2.0) * f32::from_bits(n << 23);
    if low { y * LOW_SCALE } else { y }
}

/// expm1 in [-17.4, 89]: 2^n (exp(r) - 1) + (2^n - 1), with exp(r) - 1 = r + r^2 Q(r) to 1.4e-8 of itself.
#[inline(always)]
fn halves<T: Tier>(x: f32) -> f32 {
    let (n, r) = reduce::<T>(x);
    let q = horner!(
        T,
        r,
        [
            0.499_999_97,
            0.166_665_465,
            0.041_667_439,
            0.008_366_261_6,
            0.001_387_032_7,
        ]
    );
    let p = fma::<T>(q * r, r, r);
    let s = f32::from_bits(n.wrapping_add(126) << 23);
    fma::<T>(s, p, s - 0.5)
}

/// exp(x) - 1.
#[inline(always)]
pub(crate) fn expm1<T: Tier>(x: f32) -> f32 {
    let y = halves::<T>(at_least(-17.4, at_most(HIGHEST, x)));
    (2.0 * y).copysign(x)
}

/// exp(x) - 1 for 0 <= x <= 80 or NaN.
#[inline(always)]
pub(super) fn expm1_moderate<T: Tier>(x: f32) -> f32 {
    2.0 * halves::<T>(x)
}
