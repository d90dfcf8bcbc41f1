//! Methods that read the same for f32 and f64: exact or rounded once, or a few such operations.
//!
//! NaN propagates through `maximum minimum clamp relu relu6 hardtanh`: `if b > a { b } else { a }` is one `max`
//! instruction that keeps NaN in `a`, a blend keeps NaN in `b`.

use super::{Lane, Tier, math};

macro_rules! methods {
    ($e:ty: $round:ident $trunc:ident $floor:ident $ceil:ident) => {
        #[allow(clippy::should_implement_trait)]
        impl<T: Tier> Lane<$e, T> {
            /// Negation.
            #[inline(always)]
            pub fn neg(self) -> Self {
                -self
            }
            /// The magnitude.
            #[inline(always)]
            pub fn abs(self) -> Self {
                Lane::new(self.get().abs())
            }
            /// -1, 0 or 1; 0 for NaN.
            #[inline(always)]
            pub fn sign(self) -> Self {
                let x = self.get();
                let y = if x > 0.0 { 1.0 } else { 0.0 };
                Lane::new(if x < 0.0 { -1.0 } else { y })
            }
            /// The square root.
            #[inline(always)]
            pub fn sqrt(self) -> Self {
                Lane::new(self.get().sqrt())
            }
            /// `1 / sqrt(self)`.
            #[inline(always)]
            pub fn rsqrt(self) -> Self {
                Lane::new(1.0 / self.get().sqrt())
            }
            /// `1 / self`.
            #[inline(always)]
            pub fn reciprocal(self) -> Self {
                Lane::new(1.0 / self.get())
            }
            /// `self * self`.
            #[inline(always)]
            pub fn square(self) -> Self {
                self * self
            }
            /// The value, or 0 where negative.
            #[inline(always)]
            pub fn relu(self) -> Self {
                self.at_least(0.0)
            }
            /// The value between 0 and 6.
            #[inline(always)]
            pub fn relu6(self) -> Self {
                self.at_least(0.0).at_most(6.0)
            }
            /// `relu6(self + 3) / 6`.
            #[inline(always)]
            pub fn hardsigmoid(self) -> Self {
                Lane::new((self + Lane::new(3.0)).relu6().get() * (1.0 / 6.0))
            }
            /// `self * hardsigmoid(self)`.
            #[inline(always)]
            pub fn hardswish(self) -> Self {
                self * self.hardsigmoid()
            }
            /// `self / (1 + abs(self))`.
            #[inline(always)]
            pub fn softsign(self) -> Self {
                self / (Lane::new(1.0) + self.abs())
            }
            /// The greatest integer not above.
            #[inline(always)]
            pub fn floor(self) -> Self {
                Lane::new(math::$floor::<T>(self.get()))
            }
            /// The least integer not below.
            #[inline(always)]
            pub fn ceil(self) -> Self {
                Lane::new(math::$ceil::<T>(self.get()))
            }
            /// The nearest integer, ties to even.
            #[inline(always)]
            pub fn round(self) -> Self {
                Lane::new(math::$round::<T>(self.get()))
            }
            /// The integer part.
            #[inline(always)]
            pub fn trunc(self) -> Self {
                Lane::new(math::$trunc::<T>(self.get()))
            }
            /// The fractional part, with the sign of `self`.
            #[inline(always)]
            pub fn frac(self) -> Self {
                self - self.trunc()
            }
            /// Whether NaN.
            #[inline(always)]
            pub fn isnan(self) -> Lane<bool, T> {
                Lane::new(self.get().is_nan())
            }
            /// Whether either infinity.
            #[inline(always)]
            pub fn isinf(self) -> Lane<bool, T> {
                Lane::new(self.get().abs() == <$e>::INFINITY)
            }
            /// Whether neither infinite nor NaN.
            #[inline(always)]
            pub fn isfinite(self) -> Lane<bool, T> {
                Lane::new(self.get().abs() < <$e>::INFINITY)
            }
            /// The value, times `slope` unless positive.
            #[inline(always)]
            pub fn leaky_relu(self, slope: Self) -> Self {
                self.gt(Lane::new(0.0)).where_cond(self, self * slope)
            }
            /// The value where positive, else `alpha * expm1(self)`.
            #[inline(always)]
            pub fn elu(self, alpha: Self) -> Self {
                self.gt(Lane::new(0.0))
                    .where_cond(self, alpha * self.expm1())
            }
            /// The value where positive, else `alpha * expm1(self / alpha)`.
            #[inline(always)]
            pub fn celu(self, alpha: Self) -> Self {
                self.gt(Lane::new(0.0))
                    .where_cond(self, alpha * (self / alpha).expm1())
            }
            /// `elu` with the constants of self-normalising networks, scaled.
            #[inline(always)]
            pub fn selu(self) -> Self {
                const ALPHA: f64 = 1.673_263_242_354_377_2;
                const SCALE: f64 = 1.050_700_987_355_480_5;
                let negative = Lane::new((ALPHA * SCALE) as $e) * self.expm1();
                self.gt(Lane::new(0.0))
                    .where_cond(Lane::new(SCALE as $e) * self, negative)
            }
            /// `self` to a power that is the same for all elements: as `pow`, but 1/2, 2, 3 and their like take
            /// roots and products, which a literal exponent selects at compile time.
            #[inline(always)]
            pub fn powf(self, exponent: Self) -> Self {
                match exponent.get() {
                    0.5 => self.sqrt(),
                    2.0 => self * self,
                    3.0 => self * self * self,
                    -0.5 => self.rsqrt(),
                    -1.0 => self.reciprocal(),
                    -2.0 => self.square().reciprocal(),
                    _ => self.pow(exponent),
                }
            }
            /// `powf`.
            #[inline(always)]
            pub fn powi(self, exponent: Self) -> Self {
                self.powf(exponent)
            }
            /// The value between `lo` and `hi`.
            #[inline(always)]
            pub fn hardtanh(self, lo: Self, hi: Self) -> Self {
                self.clamp(lo, hi)
            }
            /// Between `lo` and `hi`; `hi` where they cross, NaN where any is.
            #[inline(always)]
            pub fn clamp(self, lo: Self, hi: Self) -> Self {
                self.maximum(lo).minimum(hi)
            }
            /// At least `lo`.
            #[inline(always)]
            pub fn clamp_min(self, lo: Self) -> Self {
                self.maximum(lo)
            }
            /// At most `hi`.
            #[inline(always)]
            pub fn clamp_max(self, hi: Self) -> Self {
                self.minimum(hi)
            }
            /// Replaces NaN and the infinities.
            #[inline(always)]
            pub fn nan_to_num(self, nan: Self, posinf: Self, neginf: Self) -> Self {
                let x = self.get();
                let y = if x == <$e>::INFINITY { posinf } else { self };
                let y = if x == <$e>::NEG_INFINITY { neginf } else { y };
                if x.is_nan() { nan } else { y }
            }
            /// The greater; NaN if either is, the first if equal.
            #[inline(always)]
            pub fn maximum(self, other: Self) -> Self {
                let (a, b) = (self.get(), other.get());
                let y = if b > a { b } else { a };
                Lane::new(if b.is_nan() { b } else { y })
            }
            /// The lesser; NaN if either is, the first if equal.
            #[inline(always)]
            pub fn minimum(self, other: Self) -> Self {
                let (a, b) = (self.get(), other.get());
                let y = if b < a { b } else { a };
                Lane::new(if b.is_nan() { b } else { y })
            }
            /// The greater; the other where one is NaN.
            #[inline(always)]
            pub fn fmax(self, other: Self) -> Self {
                let (a, b) = (self.get(), other.get());
                let y = if b > a { b } else { a };
                Lane::new(if a.is_nan() { b } else { y })
            }
            /// The lesser; the other where one is NaN.
            #[inline(always)]
            pub fn fmin(self, other: Self) -> Self {
                let (a, b) = (self.get(), other.get());
                let y = if b < a { b } else { a };
                Lane::new(if a.is_nan() { b } else { y })
            }
            /// The magnitude of `self` with the sign of `sign`.
            #[inline(always)]
            pub fn copysign(self, sign: Self) -> Self {
                Lane::new(self.get().copysign(sign.get()))
            }
            /// The remainder of the truncated division, exact, with the sign of `self`.
            #[inline(always)]
            pub fn fmod(self, other: Self) -> Self {
                Lane::new(self.get() % other.get())
            }
            /// The remainder of the floored division, with the sign of `other`.
            #[inline(always)]
            pub fn remainder(self, other: Self) -> Self {
                let (b, r) = (other.get(), self.get() % other.get());
                Lane::new(if r != 0.0 && (r < 0.0) != (b < 0.0) {
                    r + b
                } else {
                    r
                })
            }
            /// The quotient rounded down, from the exact remainder (Python's `//`).
            #[inline(always)]
            pub fn floor_div(self, other: Self) -> Self {
                let (a, b) = (self.get(), other.get());
                let r = a % b;
                let q = (a - r) / b;
                let q = if r != 0.0 && (r < 0.0) != (b < 0.0) {
                    q - 1.0
                } else {
                    q
                };
                let down = math::$floor::<T>(q);
                let y = if q - down > 0.5 { down + 1.0 } else { down };
                let y = if q == 0.0 {
                    <$e>::copysign(0.0, a / b)
                } else {
                    y
                };
                Lane::new(if b == 0.0 { a / b } else { y })
            }
            /// `self * factor + addend`, rounded once if the tier can: what `fast_math` makes of a product and a sum.
            #[inline(always)]
            pub fn fmuladd(self, factor: Self, addend: Self) -> Self {
                let (a, b, c) = (self.get(), factor.get(), addend.get());
                Lane::new(if T::FMA { a.mul_add(b, c) } else { a * b + c })
            }
            /// From `self` at weight 0 to `end` at 1, exact at both ends.
            #[inline(always)]
            pub fn lerp(self, end: Self, weight: Self) -> Self {
                let (a, b, w) = (self.get(), end.get(), weight.get());
                let d = b - a;
                let (near_start, near_end) = (a + w * d, b - d * (1.0 - w));
                Lane::new(if w.abs() < 0.5 { near_start } else { near_end })
            }

            #[inline(always)]
            fn at_least(self, lo: $e) -> Self {
                Lane::new(if lo > self.get() { lo } else { self.get() })
            }
            #[inline(always)]
            fn at_most(self, hi: $e) -> Self {
                Lane::new(if hi < self.get() { hi } else { self.get() })
            }
        }
    };
}
methods!(f32: round trunc floor ceil);
methods!(f64: round64 trunc64 floor64 ceil64);
