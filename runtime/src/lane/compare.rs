//! Comparisons, which yield lanes of truth values, and the select between two lanes. Comparisons with NaN are
//! false, except `ne`.

use super::{Lane, Tier};

macro_rules! compare {
    ($($e:ty)*) => {$(
        impl<T: Tier> Lane<$e, T> {
            /// `self == other`.
            #[inline(always)]
            pub fn eq(self, other: Self) -> Lane<bool, T> {
                Lane::new(self.get() == other.get())
            }
            /// `self != other`.
            #[inline(always)]
            pub fn ne(self, other: Self) -> Lane<bool, T> {
                Lane::new(self.get() != other.get())
            }
            /// `self < other`.
            #[inline(always)]
            pub fn lt(self, other: Self) -> Lane<bool, T> {
                Lane::new(self.get() < other.get())
            }
            /// `self <= other`.
            #[inline(always)]
            pub fn le(self, other: Self) -> Lane<bool, T> {
                Lane::new(self.get() <= other.get())
            }
            /// `self > other`.
            #[inline(always)]
            pub fn gt(self, other: Self) -> Lane<bool, T> {
                Lane::new(self.get() > other.get())
            }
            /// `self >= other`.
            #[inline(always)]
            pub fn ge(self, other: Self) -> Lane<bool, T> {
                Lane::new(self.get() >= other.get())
            }
        }
    )*};
}
compare!(f32 f64 i32 i64 u8 bool);

impl<T: Tier> Lane<bool, T> {
    /// `a` where true, else `b`; both are computed.
    #[inline(always)]
    pub fn where_cond<E: Copy>(self, a: Lane<E, T>, b: Lane<E, T>) -> Lane<E, T> {
        if self.get() { a } else { b }
    }
}
