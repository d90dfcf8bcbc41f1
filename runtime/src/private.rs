//! What code that the macros emit refers to. Not public API: it changes with every version.

pub use crate::dispatch::explain::{explain, graphs};
pub use crate::dispatch::{BreakRecord, Function, HostArg, Outputs, leave, probe};
pub use crate::kernels::__private::*;
pub use crate::lane::{Fused, Portable};
pub use crate::strip;
pub use crate::{Device, Error, Tensor};

/// The error of a dispatched call, as a panic at the caller's line.
#[track_caller]
#[cold]
#[inline(never)]
pub fn raise(e: Error) -> ! {
    e.raise()
}

/// What a parameter that capture took for a tensor must be.
#[diagnostic::on_unimplemented(
    message = "capture took this for a `tensorplay::Tensor`, but it is `{Self}`",
    label = "not a tensorplay tensor",
    note = "rename the type, or mark the function `#[compile(disable)]`"
)]
pub trait IsTensor {
    /// The tensor.
    fn tensor(&self) -> &Tensor;
}

impl IsTensor for Tensor {
    #[inline(always)]
    fn tensor(&self) -> &Tensor {
        self
    }
}

impl<T: IsTensor + ?Sized> IsTensor for &T {
    #[inline(always)]
    fn tensor(&self) -> &Tensor {
        (**self).tensor()
    }
}

/// Confirms a guess of capture at the user's tokens.
#[inline(always)]
pub fn witness<T: IsTensor + ?Sized>(x: &T) -> &Tensor {
    x.tensor()
}

/// A local that capture took for a tensor by its uses; what derefs to one is one.
#[inline(always)]
pub fn local(x: &Tensor) -> &Tensor {
    x
}

/// An argument of any type, for calls that only ask a function for its name.
#[diagnostic::on_unimplemented(
    message = "`explain!` and `graph!` cannot make an argument of type `{Self}`",
    note = "functions with parameters of this type are reached through their type: `Type::method`"
)]
pub trait Dummy {
    /// Some value.
    fn dummy() -> Self;
}

impl Dummy for Tensor {
    fn dummy() -> Tensor {
        Tensor::from_slice::<f32>(&[], 0)
    }
}

impl Dummy for &Tensor {
    fn dummy() -> Self {
        static EMPTY: std::sync::OnceLock<Tensor> = std::sync::OnceLock::new();
        EMPTY.get_or_init(Tensor::dummy)
    }
}

impl Dummy for crate::DType {
    fn dummy() -> Self {
        crate::DType::F32
    }
}

impl Dummy for &str {
    fn dummy() -> Self {
        ""
    }
}

impl<T> Dummy for &[T] {
    fn dummy() -> Self {
        &[]
    }
}

macro_rules! dummies {
    ($($t:ty)*) => {$(
        impl Dummy for $t {
            fn dummy() -> $t { <$t>::default() }
        }
    )*};
}
dummies!(usize isize i64 i32 u8 f32 f64 bool char u16 u32 u64 i8 i16 String);

/// An argument of the type that the call asks for.
pub fn dummy<T: Dummy>() -> T {
    T::dummy()
}
