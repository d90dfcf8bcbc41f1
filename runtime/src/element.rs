//! Rust types that tensors hold.
//!
//! Problem: kernels and host reads need the Rust type behind a [`DType`]. Method: a sealed trait with one
//! implementation a dtype, and two macros that turn a run-time dtype into a type. Invariant: `T::DTYPE.size()`
//! is `size_of::<T>()` and at least `align_of::<T>()`; a Bool byte is 0 or 1.

use half::{bf16, f16};
use std::fmt;
use tensorplay_graph::{DType, Scalar};

mod sealed {
    pub trait Sealed {}
}

/// A type that a tensor can hold: `f32 f64 half::f16 half::bf16 i32 i64 u8 bool`.
pub trait Element: Copy + PartialEq + Default + fmt::Debug + Send + Sync + 'static + sealed::Sealed {
    /// The dtype of tensors of this type.
    const DTYPE: DType;
    /// The value as f64; large `i64`s are rounded.
    fn to_f64(self) -> f64;
    /// Casts as Rust's `as`: floats saturate to integers, NaN is 0; any non-zero is `true`.
    fn from_f64(v: f64) -> Self;
    /// Casts as Rust's `as`: integers wrap.
    fn from_i64(v: i64) -> Self;
    /// Casts a host scalar.
    fn from_scalar(s: Scalar) -> Self {
        match s {
            Scalar::Float(v) => Self::from_f64(v),
            Scalar::Int(v) => Self::from_i64(v),
            Scalar::Bool(v) => Self::from_i64(i64::from(v)),
        }
    }
}

macro_rules! elements {
    ($($t:ty, $dtype:ident, $x:ident => $to:expr, $f:ident => $from_f:expr, $i:ident => $from_i:expr;)*) => {$(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
            #[inline(always)]
            fn to_f64(self) -> f64 { let $x = self; $to }
            #[inline(always)]
            fn from_f64($f: f64) -> Self { $from_f }
            #[inline(always)]
            fn from_i64($i: i64) -> Self { $from_i }
        }
        const _: () = assert!(size_of::<$t>() == DType::$dtype.size() && align_of::<$t>() <= size_of::<$t>());
    )*};
}
elements! {
    f32, F32, x => x as f64, v => v as f32, i => i as f32;
    f64, F64, x => x, v => v, i => i as f64;
    f16, F16, x => x.to_f64(), v => f16::from_f64(v), i => f16::from_f64(i as f64);
    bf16, BF16, x => x.to_f64(), v => bf16::from_f64(v), i => bf16::from_f64(i as f64);
    i32, I32, x => x as f64, v => v as i32, i => i as i32;
    i64, I64, x => x as f64, v => v as i64, i => i;
    u8, U8, x => x as f64, v => v as u8, i => i as u8;
    bool, Bool, x => f64::from(u8::from(x)), v => v != 0.0, i => i != 0;
}

/// Evaluates an expression with a type alias bound to the element type of a dtype.
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {{
        use tensorplay_graph::DType as D;
        match $dtype {
            D::F32 => {
                type $T = f32;
                $body
            }
            D::F64 => {
                type $T = f64;
                $body
            }
            D::F16 => {
                type $T = half::f16;
                $body
            }
            D::BF16 => {
                type $T = half::bf16;
                $body
            }
            D::I32 => {
                type $T = i32;
                $body
            }
            D::I64 => {
                type $T = i64;
                $body
            }
            D::U8 => {
                type $T = u8;
                $body
            }
            D::Bool => {
                type $T = bool;
                $body
            }
        }
    }};
}
pub(crate) use with_element;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_are_rusts() {
        assert_eq!(u8::from_f64(300.0), 255);
        assert_eq!(i32::from_f64(f64::NAN), 0);
        assert_eq!(i64::from_f64(f64::INFINITY), i64::MAX);
        assert_eq!(u8::from_i64(257), 1);
        assert!(bool::from_f64(f64::NAN));
        assert_eq!(f16::from_f64(1e9), f16::INFINITY);
        assert_eq!(f32::from_scalar(Scalar::Bool(true)), 1.0);
    }

    #[test]
    fn every_dtype_has_its_type() {
        for d in DType::ALL {
            with_element!(d, T => {
                assert_eq!(T::DTYPE, d);
                assert_eq!(T::from_i64(1).to_f64(), 1.0);
                assert_eq!(T::from_f64(0.0), T::default());
            });
        }
    }
}
