//! Transcendental methods of f32: the vectorising ones of `math`, std's for the rest.
//!
//! `pow`, `hypot` and the inverse hyperbolic functions compute in f64, which makes the rounding to f32 the
//! only error that counts.

use super::{Lane, Tier, math};

macro_rules! unary {
    ($($name:ident, $doc:literal, |$x:ident| $body:expr;)*) => {
        impl<T: Tier> Lane<f32, T> {$(
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
    exp, "e to the power `self`.", |x| math::exp::<T>(x);
    exp_flush, "`exp` with results below 2^-125 flushed to 0: for softmax, where they vanish in the sum.", |x| math::exp_flush::<T>(x);
    exp2, "2 to the power `self`.", |x| math::exp2::<T>(x);
    expm1, "`exp(self) - 1`, accurate near 0.", |x| math::expm1::<T>(x);
    log, "The natural logarithm.", |x| math::log::<T>(x);
    log2, "The logarithm to base 2.", |x| math::log2::<T>(x);
    log10, "The logarithm to base 10.", |x| math::log10::<T>(x);
    log1p, "`log(1 + self)`, accurate near 0.", |x| math::log1p::<T>(x);
    sin, "The sine.", |x| x.sin();
    cos, "The cosine.", |x| x.cos();
    tan, "The tangent.", |x| x.tan();
    asin, "The arc sine.", |x| x.asin();
    acos, "The arc cosine.", |x| x.acos();
    atan, "The arc tangent.", |x| x.atan();
    sinh, "The hyperbolic sine.", |x| x.sinh();
    cosh, "The hyperbolic cosine.", |x| x.cosh();
    tanh, "The hyperbolic tangent.", |x| math::tanh::<T>(x);
    asinh, "The inverse hyperbolic sine.", |x| f64::from(x).asinh() as f32;
    acosh, "The inverse hyperbolic cosine.", |x| f64::from(x).acosh() as f32;
    atanh, "The inverse hyperbolic tangent.", |x| f64::from(x).atanh() as f32;
    erf, "The error function.", |x| math::erf::<T>(x);
    erfc, "`1 - erf(self)`, accurate in the tail.", |x| libm::erfcf(x);
    sigmoid, "`1 / (1 + exp(-self))`.", |x| math::sigmoid::<T>(x);
    logsigmoid, "`log(sigmoid(self))`.", |x| math::logsigmoid::<T>(x);
    gelu, "`self` times the normal distribution function at `self`.", |x| math::gelu::<T>(x);
    gelu_tanh, "The tanh approximation of `gelu`.", |x| math::gelu_tanh::<T>(x);
    silu, "`self * sigmoid(self)`.", |x| math::silu::<T>(x);
    mish, "`self * tanh(softplus(self))`.", |x| math::mish::<T>(x);
}

impl<T: Tier> Lane<f32, T> {
    /// `log(1 + exp(beta * self)) / beta`, or `self` where `beta * self` is over `threshold`.
    #[inline(always)]
    pub fn softplus(self, beta: Self, threshold: Self) -> Self {
        Lane::new(math::softplus::<T>(self.get(), beta.get(), threshold.get()))
    }

    /// `self` to the power `exponent`.
    #[inline(always)]
    pub fn pow(self, exponent: Self) -> Self {
        Lane::new(f64::from(self.get()).powf(f64::from(exponent.get())) as f32)
    }

    /// The angle of the point (`x`, `self`).
    #[inline(always)]
    pub fn atan2(self, x: Self) -> Self {
        Lane::new(self.get().atan2(x.get()))
    }

    /// `sqrt(self^2 + other^2)`, infinite if either is.
    #[inline(always)]
    pub fn hypot(self, other: Self) -> Self {
        let (a, b) = (self.get(), other.get());
        let (x, y) = (f64::from(a), f64::from(b));
        let h = (x * x + y * y).sqrt() as f32;
        let infinite = a.abs() == f32::INFINITY || b.abs() == f32::INFINITY;
        Lane::new(if infinite { f32::INFINITY } else { h })
    }
}
