//! floor, ceil, round to even, trunc.
//!
//! With fused multiply-add the instruction set has a rounding instruction, and std's methods compile to it. The
//! baseline of x86-64 has none, and they would be calls: there, |x| + 2^23 - 2^23 rounds to even, larger values
//! and NaN are taken as they are, and the directed roundings correct by one. The sign, also of 0, is put back.

use super::Tier;

macro_rules! roundings {
    ($f:ty, $integral:expr, $nearest:ident, $round:ident $trunc:ident $floor:ident $ceil:ident) => {
        #[inline(always)]
        fn $nearest(a: $f) -> $f {
            let r = (a + $integral) - $integral;
            if a < $integral { r } else { a }
        }
        /// To the nearest integer, ties to even.
        #[inline(always)]
        pub(crate) fn $round<T: Tier>(x: $f) -> $f {
            if T::FMA {
                x.round_ties_even()
            } else {
                $nearest(x.abs()).copysign(x)
            }
        }
        /// Towards zero.
        #[inline(always)]
        pub(crate) fn $trunc<T: Tier>(x: $f) -> $f {
            if T::FMA {
                return x.trunc();
            }
            let (a, r) = (x.abs(), $nearest(x.abs()));
            (if r > a { r - 1.0 } else { r }).copysign(x)
        }
        /// Down.
        #[inline(always)]
        pub(crate) fn $floor<T: Tier>(x: $f) -> $f {
            if T::FMA {
                return x.floor();
            }
            let r = $nearest(x.abs()).copysign(x);
            (if r > x { r - 1.0 } else { r }).copysign(x)
        }
        /// Up.
        #[inline(always)]
        pub(crate) fn $ceil<T: Tier>(x: $f) -> $f {
            if T::FMA {
                return x.ceil();
            }
            let r = $nearest(x.abs()).copysign(x);
            (if r < x { r + 1.0 } else { r }).copysign(x)
        }
    };
}
roundings!(f32, 8_388_608.0, nearest, round trunc floor ceil);
roundings!(f64, 4_503_599_627_370_496.0, nearest64, round64 trunc64 floor64 ceil64);
