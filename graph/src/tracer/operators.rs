//! Operators on proxies: a proxy or a scalar on either side.

use super::{Proxy, TraceArg};
use crate::Op;
use std::ops::{Add, Div, Mul, Neg, Sub};

macro_rules! operators {
    ($($trait:ident $method:ident $swapped:ident;)*) => {$(
        operators!(@right $trait $method Proxy);
        operators!(@right $trait $method &Proxy);
        operators!(@left $trait $method $swapped f64);
        operators!(@left $trait $method $swapped i64);
    )*};
    (@right $trait:ident $method:ident $t:ty) => {
        impl<T: Into<TraceArg>> $trait<T> for $t {
            type Output = Proxy;
            #[track_caller]
            fn $method(self, rhs: T) -> Proxy {
                Proxy::$method(&self, rhs)
            }
        }
    };
    (@left $trait:ident $method:ident $swapped:ident $s:ty) => {
        impl $trait<Proxy> for $s {
            type Output = Proxy;
            #[track_caller]
            fn $method(self, rhs: Proxy) -> Proxy {
                rhs.trace().one(Op::$swapped, vec![(&rhs).into(), self.into()])
            }
        }
        impl $trait<&Proxy> for $s {
            type Output = Proxy;
            #[track_caller]
            fn $method(self, rhs: &Proxy) -> Proxy {
                rhs.trace().one(Op::$swapped, vec![rhs.into(), self.into()])
            }
        }
    };
}
operators! { Add add Add; Sub sub Rsub; Mul mul Mul; Div div Rdiv; }

impl Neg for Proxy {
    type Output = Proxy;
    #[track_caller]
    fn neg(self) -> Proxy {
        Proxy::neg(&self)
    }
}

impl Neg for &Proxy {
    type Output = Proxy;
    #[track_caller]
    fn neg(self) -> Proxy {
        Proxy::neg(self)
    }
}
