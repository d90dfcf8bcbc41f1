//! Casts between lane types, with the meaning of Rust's `as`: float to integer truncates and saturates, NaN is 0.
//! `to_bool` is `!= 0`, so NaN is true.
//!
//! LLVM scalarises the saturating float to integer conversion, about nine times slower than the unchecked one.
//! Here the value is first selected into range, the conversion is unchecked, and the saturated results are
//! selected afterwards.

use super::half::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use super::{Lane, Tier};

/// Float to integer as `as` does; `$low` and `$high` are the least and one past the greatest integer, both exact.
macro_rules! saturate {
    ($x:expr, $f:ty, $i:ty, $low:expr, $high:expr) => {{
        let x = $x;
        let in_range = ($low..$high).contains(&x);
        let inside: $f = if in_range { x } else { 0.0 };
        // SAFETY: `inside` lies in [$low, $high), so its truncation fits.
        let i: $i = unsafe { inside.to_int_unchecked() };
        let i = if x < $low { <$i>::MIN } else { i };
        if x >= $high { <$i>::MAX } else { i }
    }};
}

macro_rules! from_float {
    ($f:ty) => {
        impl<T: Tier> Lane<$f, T> {
            /// As `as f32`.
            #[inline(always)]
            pub fn to_f32(self) -> Lane<f32, T> {
                Lane::new(self.get() as f32)
            }
            /// As `as f64`.
            #[inline(always)]
            pub fn to_f64(self) -> Lane<f64, T> {
                Lane::new(self.get() as f64)
            }
            /// Truncates and saturates; NaN is 0.
            #[inline(always)]
            pub fn to_i32(self) -> Lane<i32, T> {
                Lane::new(saturate!(
                    self.get(),
                    $f,
                    i32,
                    -2_147_483_648.0,
                    2_147_483_648.0
                ))
            }
            /// Truncates and saturates; NaN is 0.
            #[inline(always)]
            pub fn to_i64(self) -> Lane<i64, T> {
                Lane::new(saturate!(
                    self.get(),
                    $f,
                    i64,
                    -9_223_372_036_854_775_808.0,
                    9_223_372_036_854_775_808.0
                ))
            }
            /// Truncates and saturates; NaN is 0.
            #[inline(always)]
            pub fn to_u8(self) -> Lane<u8, T> {
                let x = self.get();
                let x = if x > 0.0 { x } else { 0.0 };
                let x = if x < 255.0 { x } else { 255.0 };
                // SAFETY: x lies in [0, 255]; NaN became 0.
                let i: i32 = unsafe { x.to_int_unchecked() };
                Lane::new(i as u8)
            }
            /// `self != 0`; NaN is true.
            #[inline(always)]
            pub fn to_bool(self) -> Lane<bool, T> {
                Lane::new(self.get() != 0.0)
            }
        }
    };
}
from_float!(f32);
from_float!(f64);

macro_rules! from_int {
    ($e:ty: $($name:ident $to:ty),*) => {
        impl<T: Tier> Lane<$e, T> {
            $(
                #[doc = concat!("As `as ", stringify!($to), "`.")]
                #[inline(always)]
                pub fn $name(self) -> Lane<$to, T> {
                    Lane::new(self.get() as $to)
                }
            )*
            /// `self != 0`.
            #[inline(always)]
            pub fn to_bool(self) -> Lane<bool, T> {
                Lane::new(self.get() != 0)
            }
        }
    };
}
from_int!(i32: to_f32 f32, to_f64 f64, to_i32 i32, to_i64 i64, to_u8 u8);
from_int!(i64: to_f32 f32, to_f64 f64, to_i32 i32, to_i64 i64, to_u8 u8);
from_int!(u8: to_f32 f32, to_f64 f64, to_i32 i32, to_i64 i64, to_u8 u8);

impl<T: Tier> Lane<bool, T> {
    /// 1 or 0.
    #[inline(always)]
    pub fn to_f32(self) -> Lane<f32, T> {
        Lane::new(if self.get() { 1.0 } else { 0.0 })
    }
    /// 1 or 0.
    #[inline(always)]
    pub fn to_f64(self) -> Lane<f64, T> {
        Lane::new(if self.get() { 1.0 } else { 0.0 })
    }
    /// 1 or 0.
    #[inline(always)]
    pub fn to_i32(self) -> Lane<i32, T> {
        Lane::new(self.get() as i32)
    }
    /// 1 or 0.
    #[inline(always)]
    pub fn to_i64(self) -> Lane<i64, T> {
        Lane::new(self.get() as i64)
    }
    /// 1 or 0.
    #[inline(always)]
    pub fn to_u8(self) -> Lane<u8, T> {
        Lane::new(self.get() as u8)
    }
    /// The value itself.
    #[inline(always)]
    pub fn to_bool(self) -> Self {
        self
    }
}

impl<T: Tier> Lane<f32, T> {
    /// Rounds to the precision and range of f16, to nearest even.
    #[inline(always)]
    pub fn round_f16(self) -> Self {
        Lane::new(f16_to_f32(f32_to_f16(self.get())))
    }
    /// Rounds to the precision of bf16, to nearest even.
    #[inline(always)]
    pub fn round_bf16(self) -> Self {
        Lane::new(bf16_to_f32(f32_to_bf16(self.get())))
    }
}
