//! `TraceArg`: what the operations of a trace take.

use super::{Options, Proxy};
use crate::{DType, Expr, Scalar};

/// An argument of a traced call.
#[derive(Clone, Debug)]
pub enum TraceArg {
    /// A tensor.
    Tensor(Proxy),
    /// A number, a flag, a dtype or a size.
    Host(Expr),
    /// A list.
    List(Vec<TraceArg>),
    /// Settings.
    Options(Options),
    /// An absent optional tensor.
    None,
}

impl From<Proxy> for TraceArg {
    fn from(p: Proxy) -> TraceArg {
        TraceArg::Tensor(p)
    }
}

impl From<&Proxy> for TraceArg {
    fn from(p: &Proxy) -> TraceArg {
        TraceArg::Tensor(p.clone())
    }
}

impl From<Option<&Proxy>> for TraceArg {
    fn from(p: Option<&Proxy>) -> TraceArg {
        p.map_or(TraceArg::None, TraceArg::from)
    }
}

impl From<Options> for TraceArg {
    fn from(o: Options) -> TraceArg {
        TraceArg::Options(o)
    }
}

impl From<Vec<TraceArg>> for TraceArg {
    fn from(l: Vec<TraceArg>) -> TraceArg {
        TraceArg::List(l)
    }
}

macro_rules! host {
    ($($t:ty)*) => {$(
        impl From<$t> for TraceArg {
            fn from(v: $t) -> TraceArg {
                TraceArg::Host(v.into())
            }
        }
    )*};
}
host! { f64 f32 i64 i32 isize usize bool DType Scalar Expr &Expr }

/// Sizes, dims and other integers: one, a tuple, an array, a slice or a `Vec` of numbers and host expressions; for a
/// shape, also a tensor whose sizes are meant.
pub trait HostList {
    /// As an argument.
    fn list(self) -> TraceArg;
}

macro_rules! one {
    ($($t:ty)*) => {$(
        impl HostList for $t {
            fn list(self) -> TraceArg {
                TraceArg::Host(self.into())
            }
        }
    )*};
}
one! { i32 i64 isize usize Expr &Expr }

impl HostList for &Proxy {
    fn list(self) -> TraceArg {
        self.into()
    }
}

fn listed<T: Into<Expr>>(items: impl IntoIterator<Item = T>) -> TraceArg {
    TraceArg::List(items.into_iter().map(|e| TraceArg::Host(e.into())).collect())
}

impl<T: Into<Expr>, const N: usize> HostList for [T; N] {
    fn list(self) -> TraceArg {
        listed(self)
    }
}

impl<T: Into<Expr>> HostList for Vec<T> {
    fn list(self) -> TraceArg {
        listed(self)
    }
}

impl<T: Into<Expr> + Clone> HostList for &[T] {
    fn list(self) -> TraceArg {
        listed(self.iter().cloned())
    }
}

macro_rules! tuples {
    ($(($($t:ident $v:ident),*);)*) => {$(
        impl<$($t: Into<Expr>),*> HostList for ($($t,)*) {
            fn list(self) -> TraceArg {
                let ($($v,)*) = self;
                TraceArg::List(vec![$(TraceArg::Host($v.into())),*])
            }
        }
    )*};
}
tuples! {
    ();
    (A a);
    (A a, B b);
    (A a, B b, C c);
    (A a, B b, C c, D d);
    (A a, B b, C c, D d, E e);
    (A a, B b, C c, D d, E e, F f);
}

impl TraceArg {
    pub(super) fn host(self) -> Option<Expr> {
        match self {
            TraceArg::Host(e) => Some(e),
            _ => None,
        }
    }
}
