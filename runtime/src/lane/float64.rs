//! Transcendental methods of f64: std's, and `libm` for erf, erfc, atanh (std's is a hundred ulp off near -1) and acosh
//! (std's loses four digits near 1; libm's is not NaN below -1). Scalar.

use super::{Lane, Tier};

macro_rules! unary {
    ($($name:ident, $doc:literal, |$x:ident| $body:expr;)*) => {
        impl<T: Tier> Lane<f64, T> {$(
            #[doc = $doc]
            #[inline(always)]
            pub fn $name(self) -> Self {
                let $x = self.get();
                Lane::new($body)
            }
        )*}
    };
}
unary! {
    exp, "e to the power `self`.", |x| x.exp();
    exp_flush, "`exp`.", |x| x.exp();
    exp2, "2 to the power `self`.", |x| x.exp2();
    expm1, "`exp(self) - 1`, accurate near 0.", |x| x.exp_m1();
    log, "The natural logarithm.", |x| x.ln();
    log2, "The logarithm to base 2.", |x| x.log2();
    log10, "The logarithm to base 10.", |x| x.log10();
    log1p, "`log(1 + self)`, accurate near 0.", |x| x.ln_1p();
    sin, "The sine.", |x| x.sin();
    cos, "The cosine.", |x| x.cos();
    tan, "The tangent.", |x| x.tan();
    asin, "The arc sine.", |x| x.asin();
    acos, "The arc cosine.", |x| x.acos();
    atan, "The arc tangent.", |x| x.atan();
    sinh, "The hyperbolic sine.", |x| x.sinh();
    cosh, "The hyperbolic cosine.", |x| x.cosh();
    tanh, "The hyperbolic tangent.", |x| x.tanh();
    asinh, "The inverse hyperbolic sine.", |x| x.asinh();
    acosh, "The inverse hyperbolic cosine.", |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) };
    atanh, "The inverse hyperbolic tangent.", |x| libm::atanh(x);
    erf, "The error function.", |x| libm::erf(x);
    erfc, "`1 - erf(self)`, accurate in the tail.", |x| libm::erfc(x);
    sigmoid, "`1 / (1 + exp(-self))`.", |x| 1.0 / (1.0 + (-x).exp());
    logsigmoid, "`log(sigmoid(self))`.", |x| (if x > 0.0 { 0.0 } else { x }) - (-x.abs()).exp().ln_1p();
    gelu, "`self` times the normal distribution function at `self`.", |x| gelu(x);
    gelu_tanh, "The tanh approximation of `gelu`.", |x| weighted(x, x * (1.595_769_121_605_730_8 + 0.071_354_816_272_600_25 * (x * x)));
    silu, "`self * sigmoid(self)`.", |x| weighted(x, x);
    mish, "`self * tanh(softplus(self))`.", |x| x * softplus(x).tanh();
}

impl<T: Tier> Lane<f64, T> {
    /// `log(1 + exp(beta * self)) / beta`, or `self` where `beta * self` is over `threshold`.
    #[inline(always)]
    pub fn softplus(self, beta: Self, threshold: Self) -> Self {
        let z = self * beta;
        let y = Lane::new(softplus(z.get())) / beta;
        z.gt(threshold).where_cond(self, y)
    }

    /// `self` to the power `exponent`.
    #[inline(always)]
    pub fn pow(self, exponent: Self) -> Self {
        Lane::new(self.get().powf(exponent.get()))
    }

    /// The angle of the point (`x`, `self`).
    #[inline(always)]
    pub fn atan2(self, x: Self) -> Self {
        Lane::new(self.get().atan2(x.get()))
    }

    /// `sqrt(self^2 + other^2)` without overflow of the squares.
    #[inline(always)]
    pub fn hypot(self, other: Self) -> Self {
        Lane::new(self.get().hypot(other.get()))
    }
}

#[inline(always)]
fn softplus(z: f64) -> f64 {
    (if z < 0.0 { 0.0 } else { z }) + (-z.abs()).exp().ln_1p()
}

/// 0 at -inf, where the product is NaN.
#[inline(always)]
fn gelu(x: f64) -> f64 {
    let y = 0.5 * x * libm::erfc(x * -std::f64::consts::FRAC_1_SQRT_2);
    if x == f64::NEG_INFINITY { 0.0 } else { y }
}

/// x / (1 + exp(-v)) from an exponential that cannot overflow; v has the sign of x.
#[inline(always)]
fn weighted(x: f64, v: f64) -> f64 {
    let e = (-v.abs()).exp();
    (if v < 0.0 { x * e } else { x }) / (1.0 + e)
}
