//! Host expressions from numbers, and arithmetic on them.

use crate::{DType, Expr, Host, HostBinary, Scalar};
use std::ops::{Add, Div, Mul, Rem, Sub};

macro_rules! from {
    ($($t:ty: $v:ident => $host:expr;)*) => {$(
        impl From<$t> for Expr {
            fn from($v: $t) -> Expr {
                Expr::Literal($host)
            }
        }
    )*};
}
from! {
    i64: v => Host::Int(v);
    i32: v => Host::Int(v.into());
    isize: v => Host::Int(v as i64);
    usize: v => Host::size(v);
    f64: v => Host::Float(v);
    f32: v => Host::Float(v.into());
    bool: v => Host::Bool(v);
    DType: v => Host::DType(v);
    Scalar: v => v.into();
}

impl From<&Expr> for Expr {
    fn from(e: &Expr) -> Expr {
        e.clone()
    }
}

macro_rules! arithmetic {
    ($($trait:ident $method:ident;)*) => {$(
        /// Rust's arithmetic, done when the graph is bound.
        impl<T: Into<Expr>> $trait<T> for Expr {
            type Output = Expr;
            fn $method(self, rhs: T) -> Expr {
                Expr::binary(HostBinary::$trait, self, rhs.into())
            }
        }
    )*};
}
arithmetic! { Add add; Sub sub; Mul mul; Div div; Rem rem; }
