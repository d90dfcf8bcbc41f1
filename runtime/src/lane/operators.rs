//! `+ - * /` and unary `-`: one rounding each, never contracted; integers wrap and have no `/`.

use super::{Lane, Tier};
use std::ops::{Add, Div, Mul, Neg, Sub};

macro_rules! binary {
    ($($trait:ident $method:ident: $($e:ty)*, |$a:ident, $b:ident| $body:expr;)*) => {$($(
        impl<T: Tier> $trait for Lane<$e, T> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let ($a, $b) = (self.get(), other.get());
                Lane::new($body)
            }
        }
    )*)*};
}
binary! {
    Add add: f32 f64, |a, b| a + b;
    Sub sub: f32 f64, |a, b| a - b;
    Mul mul: f32 f64, |a, b| a * b;
    Div div: f32 f64, |a, b| a / b;
    Add add: i32 i64 u8, |a, b| a.wrapping_add(b);
    Sub sub: i32 i64 u8, |a, b| a.wrapping_sub(b);
    Mul mul: i32 i64 u8, |a, b| a.wrapping_mul(b);
}

macro_rules! negate {
    ($($e:ty)*, |$a:ident| $body:expr) => {$(
        impl<T: Tier> Neg for Lane<$e, T> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                let $a = self.get();
                Lane::new($body)
            }
        }
    )*};
}
negate!(f32 f64, |a| -a);
negate!(i32 i64 u8, |a| a.wrapping_neg());
