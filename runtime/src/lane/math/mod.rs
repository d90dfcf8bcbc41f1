//! f32 functions that LLVM vectorises: no branches, calls, libm or saturating conversions.
//!
//! Arguments are clamped with compares that let NaN through (`if LO > x { LO } else { x }` is one `maxps`), never
//! with `f32::max`, which drops it. Polynomials are minimax fits (Lawson iteration against f64 values,
//! coefficients rounded to f32 one by one from the constant term, the rest refitted).

#![allow(clippy::excessive_precision)]

mod erf;
mod exp;
mod gelu;
mod log;
mod round;
mod sigmoid;
mod tanh;

pub(crate) use erf::erf;
pub(crate) use exp::{exp, exp_flush, exp2, expm1};
pub(crate) use gelu::{gelu, gelu_tanh};
pub(crate) use log::{log, log1p, log2, log10};
pub(crate) use round::{ceil, ceil64, floor, floor64, round, round64, trunc, trunc64};
pub(crate) use sigmoid::{logsigmoid, mish, sigmoid, silu, softplus};
pub(crate) use tanh::tanh;

use super::Tier;

/// `a * b + c`, rounded once if the tier can.
#[inline(always)]
fn fma<T: Tier>(a: f32, b: f32, c: f32) -> f32 {
    if T::FMA { a.mul_add(b, c) } else { a * b + c }
}

/// `c[0] + c[1] x + c[2] x^2 + ..`, written out: a loop costs every kernel of a user's build its unrolling.
macro_rules! horner {
    ($t:ty, $x:ident, [$c:expr $(,)?]) => { $c };
    ($t:ty, $x:ident, [$c:expr, $($rest:expr),+ $(,)?]) => {
        fma::<$t>(horner!($t, $x, [$($rest),+]), $x, $c)
    };
}
use horner;

/// At least `lo`; NaN stays.
#[inline(always)]
fn at_least(lo: f32, x: f32) -> f32 {
    if lo > x { lo } else { x }
}

/// At most `hi`; NaN stays.
#[inline(always)]
fn at_most(hi: f32, x: f32) -> f32 {
    if hi < x { hi } else { x }
}
