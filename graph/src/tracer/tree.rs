//! `ProxyTree`: what a traced function returns.

use super::Proxy;

/// Tensors in any arrangement: one, a tuple, an array, a slice, a `Vec`, and these in one another.
pub trait ProxyTree {
    /// Adds the tensors in order.
    fn proxies(self, out: &mut Vec<Proxy>);
}

impl ProxyTree for Proxy {
    fn proxies(self, out: &mut Vec<Proxy>) {
        out.push(self);
    }
}

impl ProxyTree for &Proxy {
    fn proxies(self, out: &mut Vec<Proxy>) {
        out.push(self.clone());
    }
}

impl<T: ProxyTree, const N: usize> ProxyTree for [T; N] {
    fn proxies(self, out: &mut Vec<Proxy>) {
        self.into_iter().for_each(|t| t.proxies(out));
    }
}

impl<T: ProxyTree> ProxyTree for Vec<T> {
    fn proxies(self, out: &mut Vec<Proxy>) {
        self.into_iter().for_each(|t| t.proxies(out));
    }
}

impl ProxyTree for &[Proxy] {
    fn proxies(self, out: &mut Vec<Proxy>) {
        out.extend_from_slice(self);
    }
}

macro_rules! tuples {
    ($(($($t:ident $v:ident),*);)*) => {$(
        impl<$($t: ProxyTree),*> ProxyTree for ($($t,)*) {
            fn proxies(self, out: &mut Vec<Proxy>) {
                let _ = &out;
                let ($($v,)*) = self;
                $($v.proxies(out);)*
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
