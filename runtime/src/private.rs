//! What code that the macros emit refers to. Not public API: it changes with every version.

pub use crate::backend::registry::{BuiltIn, Submitted};
pub use crate::dispatch::explain::{explain, graphs};
pub use crate::dispatch::{
    Assumed, BreakRecord, Disabled, Entered, Function, HostArg, Outputs, Setting, assumed, disabled, enter,
    is_entered, leave, probe,
};
pub use crate::kernels::__private::*;
pub use crate::lane::{Fused, Portable};
pub use crate::strip;
pub use crate::structure::{Arguments, Fields, FieldsFound, FieldsMissing, LookedUp, Places, Writer};
use crate::sync::lock;
pub use crate::{DType, Device, Error, Tensor};
pub use inventory;
use std::sync::{Mutex, OnceLock};
pub use tensorplay_graph::{Mode, distance};

/// Stands for the record of a function whose look-up failed, which is an error already.
pub mod fallback {
    /// No function.
    pub static __TP_FUNCTION: crate::dispatch::Function = crate::dispatch::Function::new("", "", 0, &[], &[]);
}

/// The error of a dispatched call, as a panic at the caller's line.
#[track_caller]
#[cold]
#[inline(never)]
pub fn raise(e: Error) -> ! {
    e.raise()
}

/// What a method is called on, as a number.
#[inline]
pub fn instance<T: ?Sized>(this: &T) -> HostArg {
    HostArg::from(std::ptr::from_ref(this).cast::<()>().addr())
}

/// Compares what a compiled function gives with its operations one by one: the test that `self_test` emits.
///
/// # Panics
/// They differ, or a parameter has no spec that says what to test with.
#[track_caller]
pub fn self_test(f: &'static Function) {
    crate::dispatch::self_test(f);
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

impl<T: IsTensor + ?Sized> IsTensor for &mut T {
    #[inline(always)]
    fn tensor(&self) -> &Tensor {
        (**self).tensor()
    }
}

/// What a parameter, const, field or local that capture took for a number must be.
#[diagnostic::on_unimplemented(
    message = "capture took this for a number, but it is `{Self}`",
    label = "not a number, `bool` or `DType`",
    note = "a tensor is borrowed where it is used, as in `x * &self.w`"
)]
pub trait IsNumber {
    /// The number.
    fn number(self) -> HostArg;
}

#[diagnostic::do_not_recommend]
impl<T> IsNumber for T
where
    HostArg: From<T>,
{
    #[inline(always)]
    fn number(self) -> HostArg {
        HostArg::from(self)
    }
}

/// Confirms a guess of capture at the user's tokens.
#[inline(always)]
pub fn number<T: IsNumber>(value: T) -> HostArg {
    value.number()
}

/// The error type of a compiled function that returns a `Result`.
#[diagnostic::on_unimplemented(
    message = "the error type `{Self}` of a compiled function is not made of `tensorplay::Error`",
    label = "`{Self}: From<tensorplay::Error>` is missing",
    note = "a compiled function that returns a `Result` gives errors of dispatch as `Err`, so its error type is made of `tensorplay::Error`"
)]
pub trait FromError {
    /// The error of a dispatched call.
    fn from_error(e: Error) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: From<Error>> FromError for T {
    fn from_error(e: Error) -> T {
        T::from(e)
    }
}

/// The error of a dispatched call, as the function's own.
pub fn error<T: FromError>(e: Error) -> T {
    T::from_error(e)
}

/// What an absent `Option` passes in place of a tensor.
pub fn absent() -> &'static Tensor {
    static ABSENT: OnceLock<Tensor> = OnceLock::new();
    ABSENT.get_or_init(Tensor::dummy)
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

impl Dummy for crate::DType {
    fn dummy() -> Self {
        crate::DType::F32
    }
}

impl<T: Dummy> Dummy for &T {
    fn dummy() -> Self {
        kept(T::dummy())
    }
}

impl<T: Dummy> Dummy for &mut T {
    fn dummy() -> Self {
        kept(T::dummy())
    }
}

/// A value that lives on: whoever asks a function for its name may pass references.
fn kept<'a, T: 'a>(value: T) -> &'a mut T {
    static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let value = Box::leak(Box::new(value));
    let address = std::ptr::from_mut(value).expose_provenance();
    lock(&KEPT).push(address);
    value
}

impl<T> Dummy for Option<T> {
    fn dummy() -> Self {
        None
    }
}

impl<T: Dummy, const N: usize> Dummy for [T; N] {
    fn dummy() -> Self {
        std::array::from_fn(|_| T::dummy())
    }
}

impl<T> Dummy for &[T] {
    fn dummy() -> Self {
        &[]
    }
}

impl<T> Dummy for &mut [T] {
    fn dummy() -> Self {
        &mut []
    }
}

impl<T> Dummy for Vec<T> {
    fn dummy() -> Self {
        Vec::new()
    }
}

impl Dummy for &str {
    fn dummy() -> Self {
        ""
    }
}

macro_rules! dummies {
    ($($t:ty)*) => {$(
        impl Dummy for $t {
            fn dummy() -> $t { <$t>::default() }
        }
    )*};
}
dummies!(usize isize i64 i32 i16 i8 u64 u32 u16 u8 f32 f64 bool char String);

macro_rules! tuples {
    ($($($t:ident)*;)*) => {$(
        impl<$($t: Dummy),*> Dummy for ($($t,)*) {
            fn dummy() -> Self { ($($t::dummy(),)*) }
        }
    )*};
}
tuples! { A; A B; A B C; A B C D; A B C D E; A B C D E F; }

/// An argument of the type that the call asks for.
pub fn dummy<T: Dummy>() -> T {
    T::dummy()
}
