//! Lanes: the scalar values that emitted kernels are written in.
//!
//! A kernel body is straight-line code over `Lane<E, T>`; a strip runs it over contiguous elements, and LLVM
//! vectorises that loop inside `#[target_feature]` wrappers. So everything here is `#[inline(always)]`, has no
//! target features and no intrinsics, and what can be is free of branches, calls and saturating conversions.
//!
//! The [`Tier`] says whether the instruction set of the wrapper has a fused multiply-add. Transcendental
//! functions use it inside; the operators never do: the user's own `a * b + c` is rounded twice in every tier, unless
//! `fast_math` makes it a `fmuladd`.
//!
//! A [`Store`] is an element in memory. The half types are computed in f32 and rounded once, on store.
//!
//! Semantics are PyTorch's on the CPU; error bounds are in `docs/numerics.md`, asserted by the tests.

mod boolean;
mod cast;
mod compare;
mod float;
mod float32;
mod float64;
mod half;
mod int;
pub(crate) mod math;
mod operators;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use tensorplay_graph::DType;

/// What the instruction set of a kernel instance offers.
pub trait Tier: Copy + Send + Sync + 'static {
    /// `mul_add` is one instruction rather than a call, and so are the roundings to an integer.
    const FMA: bool;
}

/// Baseline code of any architecture.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

/// Code inside wrappers that enable `fma` and at least AVX2 (or the like elsewhere).
#[derive(Clone, Copy, Debug)]
pub struct Fused;

impl Tier for Portable {
    const FMA: bool = false;
}

impl Tier for Fused {
    const FMA: bool = true;
}

/// What emitted kernels are built for: no x86-64 kernel is emitted for less than AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
pub type Native = Fused;
/// What emitted kernels are built for: the baseline.
#[cfg(not(target_arch = "x86_64"))]
pub type Native = Portable;

/// One element of a vector register: `f32 f64 i32 i64 u8 bool`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Lane<E, T: Tier>(E, PhantomData<T>);

impl<E, T: Tier> Lane<E, T> {
    /// Wraps an element.
    #[inline(always)]
    pub fn new(e: E) -> Self {
        Lane(e, PhantomData)
    }

    /// Wraps a constant.
    #[inline(always)]
    pub fn splat(e: E) -> Self {
        Lane(e, PhantomData)
    }

    /// The element.
    #[inline(always)]
    pub fn get(self) -> E {
        self.0
    }
}

/// An element in memory, and the type in which kernels compute with it.
pub trait Store: Copy + Send + Sync + 'static {
    /// The type of the lane: f32 for the half types, the type itself otherwise.
    type Elem: Copy;
    /// The dtype of tensors with such elements.
    const DTYPE: DType;
    /// Widens to the lane type, exactly.
    fn load(self) -> Self::Elem;
    /// Narrows to the memory type, to nearest even.
    fn store(e: Self::Elem) -> Self;
}

macro_rules! store {
    ($($t:ty => $dtype:ident),*) => {$(
        impl Store for $t {
            type Elem = $t;
            const DTYPE: DType = DType::$dtype;
            #[inline(always)]
            fn load(self) -> $t {
                self
            }
            #[inline(always)]
            fn store(e: $t) -> $t {
                e
            }
        }
    )*};
}
store!(f32 => F32, f64 => F64, i32 => I32, i64 => I64, u8 => U8, bool => Bool);
