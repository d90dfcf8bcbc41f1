//! `Fields`: a struct of tensors is flattened into the arguments of a call, in the order of its
//! [`Schema`](tensorplay_graph::Schema); and `Places`: the tensors that it lends get their new values in that order.
//!
//! Invariant: what is pushed depends on the type, the lengths and the flags that were pushed before, and on nothing else.

use crate::dispatch::{HostArg, Outputs};
use crate::{Conv1dOptions, Conv2dOptions, ConvTranspose2dOptions, DType, PoolOptions, Tensor};
use smallvec::SmallVec;
use tensorplay_graph::Host;

/// The flattened arguments of a call.
#[derive(Debug, Default)]
pub struct Arguments<'a> {
    tensors: SmallVec<[&'a Tensor; 24]>,
    hosts: SmallVec<[HostArg; 24]>,
}

impl<'a> Arguments<'a> {
    /// The arguments of a function's own parameters.
    pub fn new(tensors: &[&'a Tensor], hosts: &[HostArg]) -> Arguments<'a> {
        Arguments {
            tensors: tensors.into(),
            hosts: hosts.into(),
        }
    }

    /// With the parts of an aggregate behind them.
    #[must_use]
    pub fn with<T: Fields + ?Sized>(mut self, value: &'a T) -> Arguments<'a> {
        value.fields(&mut self);
        self
    }

    /// With a number behind all others.
    #[must_use]
    pub fn ending(mut self, last: HostArg) -> Arguments<'a> {
        self.hosts.push(last);
        self
    }

    /// Appends a number.
    pub fn number(&mut self, value: usize) {
        self.hosts.push(HostArg::from(value));
    }

    /// The tensors in order.
    pub fn tensors(&self) -> &[&'a Tensor] {
        &self.tensors
    }

    /// The numbers in order.
    pub fn hosts(&self) -> &[HostArg] {
        &self.hosts
    }
}

/// What capture took for a layer, a tensor or a number.
#[diagnostic::on_unimplemented(
    message = "a captured method reads a field of type `{Self}`, which is no tensor, number, or struct of a `#[model]` module",
    label = "not part of a model",
    note = "fields are tensors, numbers, bools, dtypes, `Option`, `Vec`, `Box` and arrays of these, and structs of `#[model]` modules"
)]
pub trait Fields {
    /// Appends the parts of the value.
    fn fields<'a>(&'a self, out: &mut Arguments<'a>);
}

/// A field whose type was looked up: where no macro told of the type, that is the one error.
#[derive(Debug)]
pub struct LookedUp<'a, T>(pub &'a T);

/// The parts of a type that a macro told of.
pub trait FieldsFound<'a> {
    /// Appends the parts of the value.
    fn looked_up(&self, out: &mut Arguments<'a>);
}

impl<'a, T: Fields> FieldsFound<'a> for LookedUp<'a, T> {
    fn looked_up(&self, out: &mut Arguments<'a>) {
        self.0.fields(out);
    }
}

/// Method look-up comes here for a type without [`Fields`].
pub trait FieldsMissing<'a> {
    /// Appends nothing.
    fn looked_up(&self, _: &mut Arguments<'a>) {}
}

impl<'a, T> FieldsMissing<'a> for &LookedUp<'a, T> {}

/// Gives what the caller lends as `&mut` its new values: walks the tensors of aggregates in the order in which they were
/// flattened.
#[derive(Debug)]
pub struct Writer<'o> {
    outputs: &'o mut Outputs,
    /// The number of the next tensor.
    next: u32,
}

impl<'o> Writer<'o> {
    /// Behind the tensors of a function's own parameters.
    pub fn new(outputs: &'o mut Outputs, own: u32) -> Writer<'o> {
        Writer { outputs, next: own }
    }

    /// An aggregate that is only read.
    pub fn skip<T: Fields + ?Sized>(&mut self, value: &T) {
        let parts = Arguments::default().with(value);
        self.next += parts.tensors.len() as u32;
    }

    /// An aggregate that is lent.
    pub fn write<T: Places + ?Sized>(&mut self, value: &mut T) {
        value.write(self);
    }
}

/// What a lent list may hold.
pub trait Places {
    /// Assigns the tensors that have new values.
    fn write(&mut self, writer: &mut Writer<'_>);
}

impl Places for Tensor {
    fn write(&mut self, writer: &mut Writer<'_>) {
        if let Some(new) = writer.outputs.written(writer.next) {
            *self = new;
        }
        writer.next += 1;
    }
}

impl<T: Places> Places for Option<T> {
    fn write(&mut self, writer: &mut Writer<'_>) {
        if let Some(value) = self {
            value.write(writer);
        }
    }
}

impl<T: Places> Places for [T] {
    fn write(&mut self, writer: &mut Writer<'_>) {
        self.iter_mut().for_each(|value| value.write(writer));
    }
}

macro_rules! places_in {
    ($($t:ty),* $(,)?) => {$(
        impl<T: Places + ?Sized> Places for $t {
            fn write(&mut self, writer: &mut Writer<'_>) {
                (**self).write(writer);
            }
        }
    )*};
}
places_in!(&mut T, Box<T>);

impl<T: Places> Places for Vec<T> {
    fn write(&mut self, writer: &mut Writer<'_>) {
        self.as_mut_slice().write(writer);
    }
}

impl<T: Places, const N: usize> Places for [T; N] {
    fn write(&mut self, writer: &mut Writer<'_>) {
        self.as_mut_slice().write(writer);
    }
}

impl Fields for Tensor {
    fn fields<'a>(&'a self, out: &mut Arguments<'a>) {
        out.tensors.push(self);
    }
}

macro_rules! numbers {
    ($($t:ty)*) => {$(
        impl Fields for $t {
            fn fields<'a>(&'a self, out: &mut Arguments<'a>) {
                out.hosts.push(HostArg::from(*self));
            }
        }

        impl Places for $t {
            fn write(&mut self, _: &mut Writer<'_>) {}
        }
    )*};
}
numbers!(usize isize i64 i32 u8 f32 f64 bool DType);

impl<T: Fields> Fields for Option<T> {
    fn fields<'a>(&'a self, out: &mut Arguments<'a>) {
        out.hosts.push(HostArg::from(self.is_some()));
        if let Some(value) = self {
            value.fields(out);
        }
    }
}

impl<T: Fields> Fields for [T] {
    fn fields<'a>(&'a self, out: &mut Arguments<'a>) {
        out.hosts.push(HostArg::from(self.len()));
        self.iter().for_each(|value| value.fields(out));
    }
}

impl<T: Fields> Fields for Vec<T> {
    fn fields<'a>(&'a self, out: &mut Arguments<'a>) {
        self.as_slice().fields(out);
    }
}

impl<T: Fields, const N: usize> Fields for [T; N] {
    fn fields<'a>(&'a self, out: &mut Arguments<'a>) {
        self.as_slice().fields(out);
    }
}

macro_rules! tuples {
    ($(($($t:ident)*))*) => {$(
        impl<$($t: Fields),*> Fields for ($($t,)*) {
            fn fields<'a>(&'a self, out: &mut Arguments<'a>) {
                #[allow(non_snake_case)]
                let ($($t,)*) = self;
                $($t.fields(out);)*
            }
        }

        impl<$($t: Places),*> Places for ($($t,)*) {
            fn write(&mut self, writer: &mut Writer<'_>) {
                #[allow(non_snake_case)]
                let ($($t,)*) = self;
                $($t.write(writer);)*
            }
        }
    )*};
}
tuples!((A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F));

macro_rules! pointers {
    ($($t:ty)*) => {$(
        impl<T: Fields + ?Sized> Fields for $t {
            fn fields<'a>(&'a self, out: &mut Arguments<'a>) {
                (**self).fields(out);
            }
        }
    )*};
}
pointers!(&T &mut T Box<T> std::rc::Rc<T> std::sync::Arc<T>);

macro_rules! options {
    ($($t:ty)*) => {$(
        impl Fields for $t {
            fn fields<'a>(&'a self, out: &mut Arguments<'a>) {
                let values = self.settings();
                let values = values.into_iter().map(|v| v.unwrap_or(Host::Bool(false)));
                out.hosts.extend(values.map(HostArg::of));
            }
        }
    )*};
}
options!(Conv1dOptions Conv2dOptions ConvTranspose2dOptions PoolOptions);
