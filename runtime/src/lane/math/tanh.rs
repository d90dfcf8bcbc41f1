//! tanh(|x|) = m / (m + 2) with m = expm1(2|x|), the sign put back.
//!
//! m is accurate relative to itself, so small arguments need no case of their own, and one division serves both.
//! The argument is cut off at 9.1, where m exceeds 2^25 and the quotient is exactly 1.

use super::exp::expm1_moderate;
use super::{Tier, at_most};

/// The hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh<T: Tier>(x: f32) -> f32 {
    let m = expm1_moderate::<T>(2.0 * at_most(9.1, x.abs()));
    (m / (m + 2.0)).copysign(x)
}
