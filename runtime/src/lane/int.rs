//! Methods of integer lanes. Arithmetic wraps. Divisors are checked before a kernel runs; a zero that slips
//! through yields 0, never a trap.

use super::{Lane, Tier};

macro_rules! common {
    ($($e:ty)*) => {$(
        #[allow(clippy::should_implement_trait)]
        impl<T: Tier> Lane<$e, T> {
            /// Negation, wrapping.
            #[inline(always)]
            pub fn neg(self) -> Self {
                -self
            }
            /// `self * self`, wrapping.
            #[inline(always)]
            pub fn square(self) -> Self {
                self * self
            }
            /// The value, or 0 where negative.
            #[inline(always)]
            pub fn relu(self) -> Self {
                self.clamp_min(Lane::new(0))
            }
            /// Every bit flipped.
            #[inline(always)]
            pub fn bitwise_not(self) -> Self {
                Lane::new(!self.get())
            }
            /// Bits set in both.
            #[inline(always)]
            pub fn bitwise_and(self, other: Self) -> Self {
                Lane::new(self.get() & other.get())
            }
            /// Bits set in either.
            #[inline(always)]
            pub fn bitwise_or(self, other: Self) -> Self {
                Lane::new(self.get() | other.get())
            }
            /// Bits set in one only.
            #[inline(always)]
            pub fn bitwise_xor(self, other: Self) -> Self {
                Lane::new(self.get() ^ other.get())
            }
            /// The greater.
            #[inline(always)]
            pub fn maximum(self, other: Self) -> Self {
                Lane::new(if other.get() > self.get() { other.get() } else { self.get() })
            }
            /// The lesser.
            #[inline(always)]
            pub fn minimum(self, other: Self) -> Self {
                Lane::new(if other.get() < self.get() { other.get() } else { self.get() })
            }
            /// The greater.
            #[inline(always)]
            pub fn fmax(self, other: Self) -> Self {
                self.maximum(other)
            }
            /// The lesser.
            #[inline(always)]
            pub fn fmin(self, other: Self) -> Self {
                self.minimum(other)
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
            /// Between `lo` and `hi`; `hi` where they cross.
            #[inline(always)]
            pub fn clamp(self, lo: Self, hi: Self) -> Self {
                self.maximum(lo).minimum(hi)
            }
            /// The remainder with the sign of `self`.
            #[inline(always)]
            pub fn fmod(self, other: Self) -> Self {
                let d = other.get();
                let r = self.get().wrapping_rem(if d == 0 { 1 } else { d });
                Lane::new(if d == 0 { 0 } else { r })
            }
            /// The remainder with the sign of `other`.
            #[inline(always)]
            pub fn remainder(self, other: Self) -> Self {
                let (d, r) = (other.get(), self.fmod(other).get());
                #[allow(unused_comparisons)]
                let crossed = r != 0 && (r < 0) != (d < 0);
                Lane::new(if crossed { r.wrapping_add(d) } else { r })
            }
            /// The quotient, rounded down.
            #[inline(always)]
            pub fn floor_div(self, other: Self) -> Self {
                let (a, d) = (self.get(), other.get());
                let divisor = if d == 0 { 1 } else { d };
                let q = a.wrapping_div(divisor);
                let r = a.wrapping_rem(divisor);
                #[allow(unused_comparisons)]
                let crossed = r != 0 && (r < 0) != (d < 0);
                let q = if crossed { q.wrapping_sub(1) } else { q };
                Lane::new(if d == 0 { 0 } else { q })
            }
            /// `self` to the power `exponent`, wrapping; a negative power is that of the reciprocal, cut to 0
            /// unless the base is 1 or -1.
            #[inline(always)]
            pub fn pow(self, exponent: Self) -> Self {
                let (mut base, mut e, mut y): ($e, $e, $e) = (self.get(), exponent.get(), 1);
                #[allow(unused_comparisons)]
                if e < 0 {
                    let unit = base == 1 || base == (0 as $e).wrapping_sub(1);
                    base = if unit { base } else { 0 };
                    e &= 1;
                    e |= if unit { 0 } else { 1 };
                }
                while e > 0 {
                    y = if e & 1 == 1 { y.wrapping_mul(base) } else { y };
                    base = base.wrapping_mul(base);
                    e >>= 1;
                }
                Lane::new(y)
            }
            /// `pow`.
            #[inline(always)]
            pub fn powi(self, exponent: Self) -> Self {
                self.pow(exponent)
            }
            /// The value itself.
            #[inline(always)]
            pub fn floor(self) -> Self {
                self
            }
            /// The value itself.
            #[inline(always)]
            pub fn ceil(self) -> Self {
                self
            }
            /// The value itself.
            #[inline(always)]
            pub fn round(self) -> Self {
                self
            }
            /// The value itself.
            #[inline(always)]
            pub fn trunc(self) -> Self {
                self
            }
        }
    )*};
}
common!(i32 i64 u8);

macro_rules! signed {
    ($($e:ty)*) => {$(
        impl<T: Tier> Lane<$e, T> {
            /// The magnitude; that of the least integer wraps to itself.
            #[inline(always)]
            pub fn abs(self) -> Self {
                Lane::new(self.get().wrapping_abs())
            }
            /// -1, 0 or 1.
            #[inline(always)]
            pub fn sign(self) -> Self {
                Lane::new((self.get() > 0) as $e - (self.get() < 0) as $e)
            }
        }
    )*};
}
signed!(i32 i64);

impl<T: Tier> Lane<u8, T> {
    /// The value itself.
    #[inline(always)]
    pub fn abs(self) -> Self {
        self
    }
    /// 0 or 1.
    #[inline(always)]
    pub fn sign(self) -> Self {
        Lane::new((self.get() > 0) as u8)
    }
}
