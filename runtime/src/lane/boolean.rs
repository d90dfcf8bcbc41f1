//! Methods of truth values. `bitwise_*` are the logical operations; false orders before true.

use super::{Lane, Tier};

impl<T: Tier> Lane<bool, T> {
    /// Negation.
    #[inline(always)]
    pub fn logical_not(self) -> Self {
        Lane::new(!self.get())
    }
    /// Negation.
    #[inline(always)]
    pub fn bitwise_not(self) -> Self {
        self.logical_not()
    }
}

macro_rules! logic {
    ($($name:ident, $doc:literal, $op:tt;)*) => {
        impl<T: Tier> Lane<bool, T> {$(
            #[doc = $doc]
            #[inline(always)]
            pub fn $name(self, other: Self) -> Self {
                Lane::new(self.get() $op other.get())
            }
        )*}
    };
}
logic! {
    logical_and, "Conjunction.", &;
    logical_or, "Disjunction.", |;
    logical_xor, "Exclusive or.", ^;
    bitwise_and, "Conjunction.", &;
    bitwise_or, "Disjunction.", |;
    bitwise_xor, "Exclusive or.", ^;
    maximum, "The greater: disjunction.", |;
    minimum, "The lesser: conjunction.", &;
}
