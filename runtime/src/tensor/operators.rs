//! `+ - * /`, their assigning forms and unary minus over tensors and scalars.
//!
//! Problem: `(x * 2.0).tanh()` must compile without annotations, which one impl per scalar type does not allow.
//! Method: one generic impl per receiver for scalars on the right; on the left only `f64` and `i64`, which the
//! literals fall back to. Invariant: every operator is one row of the op table; a scalar on the left of `-` and
//! `/` is `rsub` and `rdiv`.

use super::Tensor;
use std::ops;
use tensorplay_graph::{Op, Scalar};

/// The right operand of an operator or a comparison: a tensor or a scalar.
#[derive(Clone, Copy)]
pub enum Operand<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// A host number.
    Scalar(Scalar),
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(t: &'a Tensor) -> Self {
        Operand::Tensor(t)
    }
}

impl<S: Into<Scalar>> From<S> for Operand<'_> {
    fn from(s: S) -> Self {
        Operand::Scalar(s.into())
    }
}

/// What compare and binary operations take on the right: a tensor or a scalar.
pub trait IntoOperand {
    /// The operand.
    fn operand(&self) -> Operand<'_>;
}

impl IntoOperand for &Tensor {
    fn operand(&self) -> Operand<'_> {
        Operand::Tensor(self)
    }
}

impl<S: Into<Scalar> + Copy> IntoOperand for S {
    fn operand(&self) -> Operand<'_> {
        Operand::Scalar((*self).into())
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident $left:ident;)*) => {$(
        operators!(@tensors $trait $method $op: Tensor, Tensor; Tensor, &Tensor; &Tensor, Tensor; &Tensor, &Tensor);
        impl<S: Into<Scalar>> ops::$trait<S> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, rhs: S) -> Tensor { crate::ops::binary(Op::$op, &self, Operand::Scalar(rhs.into())) }
        }
        impl<S: Into<Scalar>> ops::$trait<S> for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, rhs: S) -> Tensor { crate::ops::binary(Op::$op, self, Operand::Scalar(rhs.into())) }
        }
        operators!(@left $trait $method $left: f64, Tensor; f64, &Tensor; i64, Tensor; i64, &Tensor);
    )*};
    (@tensors $trait:ident $method:ident $op:ident: $($lhs:ty, $rhs:ty);*) => {$(
        impl ops::$trait<$rhs> for $lhs {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, rhs: $rhs) -> Tensor {
                crate::ops::binary(Op::$op, self.as_ref(), Operand::Tensor(rhs.as_ref()))
            }
        }
    )*};
    (@left $trait:ident $method:ident $op:ident: $($lhs:ty, $rhs:ty);*) => {$(
        impl ops::$trait<$rhs> for $lhs {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, rhs: $rhs) -> Tensor { crate::ops::binary(Op::$op, rhs.as_ref(), Operand::Scalar(self.into())) }
        }
    )*};
}
operators! {
    Add add Add Add;
    Sub sub Sub Rsub;
    Mul mul Mul Mul;
    Div div Div Rdiv;
}

macro_rules! assigning {
    ($($trait:ident $method:ident $op:ident;)*) => {$(
        assigning!(@tensors $trait $method $op: Tensor; &Tensor);
        impl<S: Into<Scalar>> ops::$trait<S> for Tensor {
            #[track_caller]
            fn $method(&mut self, rhs: S) {
                *self = crate::ops::binary(Op::$op, self, Operand::Scalar(rhs.into()));
            }
        }
    )*};
    (@tensors $trait:ident $method:ident $op:ident: $($rhs:ty);*) => {$(
        impl ops::$trait<$rhs> for Tensor {
            #[track_caller]
            fn $method(&mut self, rhs: $rhs) {
                *self = crate::ops::binary(Op::$op, self, Operand::Tensor(rhs.as_ref()));
            }
        }
    )*};
}
assigning! {
    AddAssign add_assign Add;
    SubAssign sub_assign Sub;
    MulAssign mul_assign Mul;
    DivAssign div_assign Div;
}

impl ops::Neg for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        crate::ops::unary(Op::Neg, &self)
    }
}

impl ops::Neg for &Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        crate::ops::unary(Op::Neg, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Type-checks only; methods and comparisons find their receiver without annotations.
    #[allow(dead_code)]
    fn all_forms(x: Tensor, y: &Tensor) -> [Tensor; 14] {
        fn gt<'a>(x: &Tensor, _: impl Into<Operand<'a>>) -> Tensor {
            x.clone()
        }
        [
            (x.clone() * 2.0).detach(),
            (1.0 - x.clone()).detach(),
            &x * y,
            x.clone() + 3,
            x.clone() * 2.5f32,
            1 - &x,
            (1.0 / y).detach(),
            -(y + &x),
            -&x,
            x.clone() - true,
            (y / 7i64).detach(),
            gt(&x, 0.0),
            gt(&x, 1),
            gt(&x, y),
        ]
    }
}
