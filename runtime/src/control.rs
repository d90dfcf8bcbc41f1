//! Control flow over tensors: `cond` and `while_loop`.
//!
//! Problem: a branch on data, or a loop whose length is data, is one operation to a compiler and plain code otherwise.
//! Method: here they are plain code that reads one element; a compiled function captures each as one node of its
//! graph. Invariant: what a loop carries keeps its shapes and dtypes, as in a compiled function.

use crate::error::OrRaise;
use crate::{Error, Result, Tensor};
use tensorplay_graph::Code;

mod sealed {
    pub trait Sealed {}
}

/// Tensors in tuples, arrays and `Vec`s.
pub trait TensorTree: sealed::Sealed {
    /// Calls `f` with every tensor in order.
    fn tensors<'a>(&'a self, f: &mut dyn FnMut(&'a Tensor));
}

impl sealed::Sealed for Tensor {}
impl TensorTree for Tensor {
    fn tensors<'a>(&'a self, f: &mut dyn FnMut(&'a Tensor)) {
        f(self);
    }
}

macro_rules! tuples {
    ($($($n:ident)+;)*) => {$(
        impl<$($n: TensorTree),+> sealed::Sealed for ($($n,)+) {}
        #[allow(non_snake_case)]
        impl<$($n: TensorTree),+> TensorTree for ($($n,)+) {
            fn tensors<'a>(&'a self, f: &mut dyn FnMut(&'a Tensor)) {
                let ($($n,)+) = self;
                $($n.tensors(f);)+
            }
        }
    )*};
}
tuples! { A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H; }

macro_rules! lists {
    ($([$($generics:tt)*] $t:ty;)*) => {$(
        impl<T: TensorTree $($generics)*> sealed::Sealed for $t {}
        impl<T: TensorTree $($generics)*> TensorTree for $t {
            fn tensors<'a>(&'a self, f: &mut dyn FnMut(&'a Tensor)) {
                self.iter().for_each(|t| t.tensors(f));
            }
        }
    )*};
}
lists! { [, const N: usize] [T; N]; [] Vec<T>; }

/// The value of a condition.
pub(crate) fn holds(op: &'static str, pred: &Tensor) -> Result<bool> {
    if pred.dtype() != crate::DType::Bool {
        let message = format!("takes a bool condition, got {}", pred.dtype());
        return Err(Error::dtype(op, message).with_help("compare first, as in x.gt(0.0)"));
    }
    if pred.elem_count() != 1 {
        let message = format!("the condition is {:?}, expected one element", pred.shape());
        return Err(
            Error::shape(Code::SIZES, op, message).with_help("reduce first, as in x.min_all().gt(0.0)")
        );
    }
    pred.try_item::<bool>()
}

/// `yes()` if the one element of `pred` is true, else `no()`. In a compiled function it is one node of the graph, whose
/// branches give tensors of the same shapes and dtypes.
///
/// ```
/// # mod tensorplay { pub use tensorplay_runtime::*; pub mod prelude { pub use tensorplay_runtime::*; } }
/// use tensorplay::{cond, prelude::*};
/// let x = Tensor::from_slice(&[1.0f32, 4.0], 2);
/// let y = cond(&x.min_all().gt(0.0), || x.sqrt(), || x.abs());
/// assert_eq!(y.to_vec::<f32>(), [1.0, 2.0]);
/// ```
///
/// # Panics
/// If `pred` is not one bool.
#[track_caller]
pub fn cond<R: TensorTree>(pred: &Tensor, yes: impl FnOnce() -> R, no: impl FnOnce() -> R) -> R {
    if holds("cond", pred).or_raise() {
        yes()
    } else {
        no()
    }
}

/// `carry` after `body` was applied to it while `pred` holds. In a compiled function it is one node of the graph.
///
/// ```
/// # mod tensorplay { pub use tensorplay_runtime::*; pub mod prelude { pub use tensorplay_runtime::*; } }
/// use tensorplay::{prelude::*, while_loop};
/// let x = Tensor::from_slice(&[3.0f32], 1);
/// let y = while_loop(x, |x| x.lt(100.0), |x| x * 2.0);
/// assert_eq!(y.item::<f32>(), 192.0);
/// ```
///
/// # Panics
/// If `pred` does not give one bool, or `body` changes a shape or dtype.
#[track_caller]
pub fn while_loop<C: TensorTree>(carry: C, pred: impl Fn(&C) -> Tensor, body: impl Fn(&C) -> C) -> C {
    let mut carry = carry;
    while holds("while_loop", &pred(&carry)).or_raise() {
        let next = body(&carry);
        same(&carry, &next).or_raise();
        carry = next;
    }
    carry
}

/// Whether what is carried keeps its form.
fn same<C: TensorTree>(old: &C, new: &C) -> Result<()> {
    let list = |c: &C| {
        let mut l = Vec::new();
        c.tensors(&mut |t| l.push(t.clone()));
        l
    };
    let (old, new) = (list(old), list(new));
    let alike = |(a, b): (&Tensor, &Tensor)| a.dtype() == b.dtype() && a.shape() == b.shape();
    if old.len() == new.len() && old.iter().zip(&new).all(alike) {
        return Ok(());
    }
    let shown = |l: &[Tensor]| {
        let each = l.iter().map(|t| format!("{}{:?}", t.dtype(), t.shape()));
        each.collect::<Vec<_>>().join(", ")
    };
    let (old, new) = (shown(&old), shown(&new));
    let message = format!("the carried values and the body's are {old} and {new}");
    Err(Error::shape(Code::SIZES, "while_loop", message)
        .with_help("what a loop carries keeps its shapes and dtypes; convert or reshape it in the body"))
}
