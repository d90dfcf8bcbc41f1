//! The operations of the table as methods: of [`Proxy`], or of [`Trace`] where no tensor is the receiver.

use super::{HostList, Options, Proxy, Trace, TraceArg};
use crate::{Expr, Op};

/// What a parameter of that kind takes, and how it becomes an argument.
macro_rules! param {
    (type tensor) => { &Proxy };
    (type index) => { &Proxy };
    (type opt_tensor) => { Option<&Proxy> };
    (type tensors) => { &[Proxy] };
    (type operand) => { impl Into<TraceArg> };
    (type scalar) => { impl Into<Expr> };
    (type float) => { impl Into<Expr> };
    (type int) => { impl Into<Expr> };
    (type dim) => { impl Into<Expr> };
    (type dtype) => { impl Into<Expr> };
    (type flag) => { impl Into<Expr> };
    (type dims) => { impl HostList };
    (type shape) => { impl HostList };
    (type ints) => { impl HostList };
    (type $options:ident) => { impl Into<Options> };
    (value tensor $p:ident) => { TraceArg::from($p) };
    (value index $p:ident) => { TraceArg::from($p) };
    (value opt_tensor $p:ident) => { TraceArg::from($p) };
    (value tensors $p:ident) => { TraceArg::List($p.iter().map(TraceArg::from).collect()) };
    (value operand $p:ident) => { $p.into() };
    (value scalar $p:ident) => { TraceArg::Host($p.into()) };
    (value float $p:ident) => { TraceArg::Host($p.into()) };
    (value int $p:ident) => { TraceArg::Host($p.into()) };
    (value dim $p:ident) => { TraceArg::Host($p.into()) };
    (value dtype $p:ident) => { TraceArg::Host($p.into()) };
    (value flag $p:ident) => { TraceArg::Host($p.into()) };
    (value dims $p:ident) => { $p.list() };
    (value shape $p:ident) => { $p.list() };
    (value ints $p:ident) => { $p.list() };
    (value $options:ident $p:ident) => { TraceArg::Options($p.into()) };
}

macro_rules! method {
    // control flow is not traced
    ([$($doc:tt)*] $op:ident $name:ident regions $params:tt) => {};
    ([$($doc:tt)*] $op:ident $name:ident $results:ident ($recv:ident: tensor $(, $p:ident: $k:ident)*)) => {
        impl Proxy {
            $($doc)*
            #[track_caller]
            pub fn $name(&self $(, $p: param!(type $k))*) -> method!(@type $results) {
                let args = vec![TraceArg::from(self) $(, param!(value $k $p))*];
                method!(@call $results self.trace(), Op::$op, args)
            }
        }
    };
    ([$($doc:tt)*] $op:ident $name:ident $results:ident ($($p:ident: $k:ident),*)) => {
        impl Trace {
            $($doc)*
            #[track_caller]
            pub fn $name(&self $(, $p: param!(type $k))*) -> method!(@type $results) {
                let args = vec![$(param!(value $k $p)),*];
                method!(@call $results self, Op::$op, args)
            }
        }
    };
    (@type one) => { Proxy };
    (@type indexed) => { (Proxy, Proxy) };
    (@type list) => { Vec<Proxy> };
    (@call one $trace:expr, $op:expr, $args:ident) => { $trace.one($op, $args) };
    (@call indexed $trace:expr, $op:expr, $args:ident) => { $trace.two($op, $args) };
    (@call list $trace:expr, $op:expr, $args:ident) => { $trace.call($op, $args) };
}

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident $method:ident $twin:ident ($($p:ident : $k:ident),*)
        => $results:ident, $shape:ident, $dtype:ident, $lower:ident $(($class:ident))?;)*) => {
        $(method!([$(#[$doc])*] $variant $method $results ($($p: $k),*));)*
    };
}
crate::op_table!(methods);
