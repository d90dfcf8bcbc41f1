//! The public methods of `Tensor`, one pair a row of the op table: `x.exp()` panics with the documented message,
//! `x.try_exp()` returns it.

use super::{EagerArg, call, call_indexed, call_list};
use crate::error::OrRaise;
use crate::options::{
    AttentionOptions, Conv1dOptions, Conv2dOptions, ConvTranspose2dOptions, Interpolate, PadMode, PoolOptions,
};
use crate::shape::{Dim, Dims, Shape};
use crate::tensor::operators::IntoOperand;
use crate::{DType, Result, Scalar, Tensor};
use tensorplay_graph::Op;

/// Expands one row. `@p` moves one parameter at a time into the signature and the argument list.
macro_rules! method {
    ([$($doc:tt)*] $op:ident $name:ident $twin:ident $results:ident ($recv:ident: tensor $(, $p:ident: $k:ident)*)) => {
        method!(@p [$($doc)*] $op $name $twin $results [$recv: &self] [] [EagerArg::Tensor(self),] [] $($p: $k,)*);
    };
    ([$($doc:tt)*] $op:ident $name:ident $twin:ident $results:ident ($($p:ident: $k:ident),*)) => {
        method!(@p [$($doc)*] $op $name $twin $results [] [] [] [] $($p: $k,)*);
    };
    // control flow has functions of its own
    (@p $d:tt $op:ident $n:ident $t:ident regions $($rest:tt)*) => {};
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: tensor, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: &Tensor,] [$($arg)* EagerArg::Tensor($p),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: opt_tensor, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: Option<&Tensor>,] [$($arg)* $p.map_or(EagerArg::None, EagerArg::Tensor),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: tensors, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: &[impl AsRef<Tensor>],] [$($arg)* EagerArg::Tensors($p.iter().map(AsRef::as_ref).collect()),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: operand, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: impl IntoOperand,] [$($arg)* EagerArg::from($p.operand()),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: scalar, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: impl Into<Scalar>,] [$($arg)* EagerArg::Scalar($p.into()),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: float, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: f64,] [$($arg)* EagerArg::Scalar(Scalar::Float($p)),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: int, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: impl Dim,] [$($arg)* EagerArg::Int($p.to_i64()),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: dim, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: impl Dim,] [$($arg)* EagerArg::Int($p.to_i64()),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: dims, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: impl Dims,] [$($arg)* EagerArg::Ints($p.dims()),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: shape, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: impl Shape,] [$($arg)* EagerArg::Ints($p.sizes()),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: dtype, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: DType,] [$($arg)* EagerArg::DType($p),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: index, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: &Tensor,] [$($arg)* EagerArg::Tensor($p),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: ints, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: &[impl Dim],] [$($arg)* EagerArg::Ints($p.iter().map(|v| v.to_i64()).collect()),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: flag, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: bool,] [$($arg)* EagerArg::Scalar(Scalar::Bool($p)),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: conv1d_options, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: Conv1dOptions,] [$($arg)* EagerArg::Options($p.settings()),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: conv2d_options, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: Conv2dOptions,] [$($arg)* EagerArg::Options($p.settings()),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: conv_transpose2d_options, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: ConvTranspose2dOptions,] [$($arg)* EagerArg::Options($p.settings()),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: pool_options, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: PoolOptions,] [$($arg)* EagerArg::Options($p.settings()),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: attention_options, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: AttentionOptions,] [$($arg)* EagerArg::Options($p.settings()),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: pad_mode, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: PadMode,] [$($arg)* EagerArg::Options($p.settings()),] [$($pass)* $p,] $($rest)*);
    };
    (@p $d:tt $op:ident $n:ident $t:ident $r:ident $recv:tt [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*] $p:ident: interpolate, $($rest:tt)*) => {
        method!(@p $d $op $n $t $r $recv [$($sig)* $p: Interpolate,] [$($arg)* EagerArg::Options($p.settings()),] [$($pass)* $p,] $($rest)*);
    };
    (@p [$($doc:tt)*] $op:ident $n:ident $t:ident one [$recv:ident: &$self:ident] [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*]) => {
        $($doc)*
        #[track_caller]
        #[allow(clippy::should_implement_trait)]
        pub fn $n(&$self, $($sig)*) -> Tensor {
            call(Op::$op, &[$($arg)*]).or_raise()
        }
        #[doc = concat!("Fallible twin of [`", stringify!($n), "`](Tensor::", stringify!($n), ").")]
        #[doc = ""]
        #[doc = "# Errors\nA broken shape or dtype rule, or a failing data check."]
        pub fn $t(&$self, $($sig)*) -> Result<Tensor> {
            call(Op::$op, &[$($arg)*])
        }
    };
    (@p [$($doc:tt)*] $op:ident $n:ident $t:ident indexed [$recv:ident: &$self:ident] [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*]) => {
        $($doc)*
        #[track_caller]
        pub fn $n(&$self, $($sig)*) -> (Tensor, Tensor) {
            call_indexed(Op::$op, &[$($arg)*]).or_raise()
        }
        #[doc = concat!("Fallible twin of [`", stringify!($n), "`](Tensor::", stringify!($n), ").")]
        #[doc = ""]
        #[doc = "# Errors\nA broken shape or dtype rule."]
        pub fn $t(&$self, $($sig)*) -> Result<(Tensor, Tensor)> {
            call_indexed(Op::$op, &[$($arg)*])
        }
    };
    (@p [$($doc:tt)*] $op:ident $n:ident $t:ident list [$recv:ident: &$self:ident] [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*]) => {
        $($doc)*
        #[track_caller]
        pub fn $n(&$self, $($sig)*) -> Vec<Tensor> {
            call_list(Op::$op, &[$($arg)*]).or_raise()
        }
        #[doc = concat!("Fallible twin of [`", stringify!($n), "`](Tensor::", stringify!($n), ").")]
        #[doc = ""]
        #[doc = "# Errors\nA broken shape or dtype rule."]
        pub fn $t(&$self, $($sig)*) -> Result<Vec<Tensor>> {
            call_list(Op::$op, &[$($arg)*])
        }
    };
    (@p [$($doc:tt)*] $op:ident $n:ident $t:ident one [] [$($sig:tt)*] [$($arg:tt)*] [$($pass:tt)*]) => {
        $($doc)*
        #[track_caller]
        pub fn $n($($sig)*) -> Tensor {
            call(Op::$op, &[$($arg)*]).or_raise()
        }
        #[doc = concat!("Fallible twin of [`", stringify!($n), "`](Tensor::", stringify!($n), ").")]
        #[doc = ""]
        #[doc = "# Errors\nA broken shape or dtype rule, or an argument out of range."]
        pub fn $t($($sig)*) -> Result<Tensor> {
            call(Op::$op, &[$($arg)*])
        }
    };
}

macro_rules! methods {
    ($($(#[$doc:meta])* $op:ident $name:ident $twin:ident ($($p:ident: $k:ident),*)
        => $results:ident, $shape:ident, $dtype:ident, $lower:ident $(($class:ident))?;)*) => {
        impl Tensor {
            $(method!([$(#[$doc])*] $op $name $twin $results ($($p: $k),*));)*
        }
    };
}
tensorplay_graph::op_table!(methods);
