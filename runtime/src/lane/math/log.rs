//! log, log2, log10, log1p.
//!
//! x = 2^i (1 + f) with 1 + f in [2/3, 4/3), both by integer arithmetic on the bits; subnormal x is first multiplied by
//! 2^25. log(1 + f) = f - f^2 / 2 + f^3 R(f), R of degree 7, relative error 4.6e-9. Other bases add the
//! parts of f times the base's constant in an order that keeps the leading one exact (as cephes does).
//!
//! log1p(x): i comes from the bits of 1 + x, but f = 2^-i x + (2^-i - 1) from x itself, so nothing is lost when
//! x is small, and no correction with a division is needed.

use super::{Tier, fma, horner};

/// Bits of 2/3.
const TWO_THIRDS: u32 = 0x3f2a_aaab;
const EXPONENT: u32 = 0xff80_0000;
/// ln 2 in two parts; the first has 9 mantissa bits, so i times it is exact.
const LN2_HI: f32 = 0.693_359_375;
const LN2_LO: f32 = -2.121_944_4e-4;

/// i and f.
#[inline(always)]
fn reduce(x: f32) -> (f32, f32) {
    let tiny = x < f32::MIN_POSITIVE;
    let bits = (if tiny { x * (1 << 25) as f32 } else { x }).to_bits();
    let e = bits.wrapping_sub(TWO_THIRDS) & EXPONENT;
    let f = f32::from_bits(bits.wrapping_sub(e)) - 1.0;
    let i = (e as i32 >> 23) as f32;
    (if tiny { i - 25.0 } else { i }, f)
}

/// log(1 + f) - f for |f| <= 1/3.
#[inline(always)]
fn tail<T: Tier>(f: f32) -> f32 {
    let r = horner!(
        T,
        f,
        [
            0.333_332_151,
            -0.249_998_048,
            0.200_104_445,
            -0.166_801_81,
            0.140_053_406,
            -0.121_883_437,
            0.139_867_067,
            -0.128_744_87,
        ]
    );
    f * f * fma::<T>(f, r, -0.5)
}

/// i ln 2 + log(1 + f).
#[inline(always)]
fn assemble<T: Tier>(i: f32, f: f32) -> f32 {
    fma::<T>(i, LN2_HI, fma::<T>(i, LN2_LO, tail::<T>(f)) + f)
}

/// Replaces `y` at the arguments that have no finite logarithm.
#[inline(always)]
fn guard(x: f32, y: f32) -> f32 {
    let other = if x < 0.0 { f32::NAN } else { x };
    let other = if x == 0.0 { f32::NEG_INFINITY } else { other };
    if x > 0.0 && x < f32::INFINITY { y } else { other }
}

/// The natural logarithm.
#[inline(always)]
pub(crate) fn log<T: Tier>(x: f32) -> f32 {
    let (i, f) = reduce(x);
    guard(x, assemble::<T>(i, f))
}

/// The logarithm to base 2.
#[inline(always)]
pub(crate) fn log2<T: Tier>(x: f32) -> f32 {
    // log2 e - 1
    const C: f32 = 0.442_695_04;
    let (i, f) = reduce(x);
    let t = tail::<T>(f);
    // f + i is exact where they cancel
    guard(x, (f + i) + fma::<T>(f, C, fma::<T>(t, C, t)))
}

/// The logarithm to base 10.
#[inline(always)]
pub(crate) fn log10<T: Tier>(x: f32) -> f32 {
    // log10 e and log10 2, the leading parts with 8 or 9 mantissa bits
    const E_HI: f32 = 0.434_570_31;
    const E_LO: f32 = -2.758_306e-4;
    const TWO_HI: f32 = 0.300_781_25;
    const TWO_LO: f32 = 2.487_456_6e-4;
    let (i, f) = reduce(x);
    let t = tail::<T>(f);
    let low = fma::<T>(i, TWO_LO, fma::<T>(f + t, E_LO, t * E_HI));
    // near 4/3 the parts of f and i cancel; without fma their sum comes first
    let y = if T::FMA {
        fma::<T>(i, TWO_HI, fma::<T>(f, E_HI, low))
    } else {
        (f * E_HI + i * TWO_HI) + low
    };
    guard(x, y)
}

/// log(1 + x).
#[inline(always)]
pub(crate) fn log1p<T: Tier>(x: f32) -> f32 {
    let u = 1.0 + x;
    let e = u.to_bits().wrapping_sub(TWO_THIRDS) & EXPONENT;
    // 4 * 2^-i and 2^-i x
    let s = f32::from_bits(4f32.to_bits().wrapping_sub(e));
    let m = x * (0.25 * s);
    let f = m + fma::<T>(0.25, s, -1.0);
    let y = assemble::<T>((e as i32 >> 23) as f32, f).copysign(x);
    let other = if u < 0.0 { f32::NAN } else { u };
    let other = if u == 0.0 { f32::NEG_INFINITY } else { other };
    if u > 0.0 && u < f32::INFINITY { y } else { other }
}
