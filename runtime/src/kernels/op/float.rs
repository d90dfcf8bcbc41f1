//! What the kernels of floats share.
//!
//! Problem: kernels of four float dtypes compute in two types, and hand blocks to `gemm` by pointers. Method: [`Real`] is
//! a compute type, [`with_float!`] names the element type, [`Wide`] has the elements in the compute type, widened by
//! all threads where they are halves, and [`product`] is a matrix product of it. Invariant: widening is exact.

use super::In;
use crate::element::Element;
use crate::kernels::arena::Scratch;
use crate::kernels::gemm::{self, Shape};
use crate::kernels::par::parts;
use crate::lane::{Store, Tier};
use std::marker::PhantomData;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// A type that floats are computed in: f32 or f64.
pub(crate) trait Real:
    Element
    + Store<Elem = Self>
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
{
    const NEG_INFINITY: Self;
    /// `self + a * b`, fused where that is one instruction.
    fn multiply_add<T: Tier>(self, a: Self, b: Self) -> Self;
}

macro_rules! reals {
    ($($t:ident)*) => {$(
        impl Real for $t {
            const NEG_INFINITY: $t = $t::NEG_INFINITY;
            #[inline(always)]
            fn multiply_add<T: Tier>(self, a: $t, b: $t) -> $t {
                if T::FMA { a.mul_add(b, self) } else { self + a * b }
            }
        }
    )*};
}
reals!(f32 f64);

/// Evaluates an expression with a type alias bound to the element type of a float dtype. Panics for another dtype.
macro_rules! with_float {
    ($dtype:expr, $S:ident => $body:expr) => {
        match $dtype {
            $crate::DType::F32 => {
                type $S = f32;
                $body
            }
            $crate::DType::F64 => {
                type $S = f64;
                $body
            }
            $crate::DType::F16 => {
                type $S = half::f16;
                $body
            }
            $crate::DType::BF16 => {
                type $S = half::bf16;
                $body
            }
            other => panic!("a kernel of floats was called with {other}"),
        }
    };
}
pub(crate) use with_float;

/// Whether elements are computed in their own type.
pub(super) fn is_wide<S: Store>() -> bool {
    size_of::<S>() == size_of::<S::Elem>()
}

/// A pointer that the parts of a kernel share.
pub(super) struct Shared<T>(*mut T);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Shared<T> {}

// SAFETY: a bare address; those who go through it answer for what they touch.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub(super) fn new<U>(p: *const U) -> Self {
        Shared(p.cast_mut().cast())
    }

    pub(super) fn at(self, offset: usize) -> *mut T {
        self.0.wrapping_add(offset)
    }
}

/// The elements of a tensor in their compute type: the tensor's own, or a widened copy.
pub(super) struct Wide<'a, E> {
    data: Shared<E>,
    _copy: Scratch,
    life: PhantomData<&'a E>,
}

/// Elements that are widened at a time.
const RUN: usize = 4096;

impl<'a, E: Real> Wide<'a, E> {
    pub(super) fn new<S: Store<Elem = E> + Element>(x: In<'a>) -> Self {
        let src = x.of::<S>();
        if is_wide::<S>() {
            return Wide {
                data: Shared::new(src.as_ptr()),
                _copy: Scratch::new(0),
                life: PhantomData,
            };
        }
        let copy = Scratch::new(size_of_val(src) / size_of::<S>() * size_of::<E>());
        let data = Shared::<E>::new(copy.ptr());
        parts(src.len() as u64 / 4, src.len().div_ceil(RUN), |range| {
            let (from, to) = (range.start * RUN, (range.end * RUN).min(src.len()));
            for (i, s) in src[from..to].iter().enumerate() {
                // SAFETY: the copy has room for all elements, and each is written by one part.
                unsafe { data.at(from + i).write(s.load()) };
            }
        });
        Wide {
            data,
            _copy: copy,
            life: PhantomData,
        }
    }

    pub(super) fn data(&self) -> Shared<E> {
        self.data
    }
}

/// A bias in its compute type; neutral elements where there is none.
pub(super) fn biases<S: Store<Elem: Real> + Element>(bias: Option<In>, channels: usize) -> Vec<S::Elem> {
    match bias {
        Some(b) => b.of::<S>().iter().map(|b| b.load()).collect(),
        None => vec![S::Elem::default(); channels],
    }
}

/// `out = a * b` for matrices of a compute type.
///
/// # Safety
/// That of [`gemm::matmul`].
pub(super) unsafe fn product<E: Real>(s: Shape, a: *const E, b: *const E, out: *mut E) {
    let dtype = <E as Element>::DTYPE;
    // SAFETY: the caller's contract.
    unsafe { gemm::batched(dtype, s, a.cast(), b.cast(), out.cast(), 1, |_| [0; 3]) }
}

/// Rounds `src[i] + bias` into `to`.
///
/// # Safety
/// `n` elements are readable at `src` and writable at `to`, which is `src` or does not overlap it.
pub(super) unsafe fn narrow<S: Store<Elem: Real>>(src: *const S::Elem, bias: S::Elem, to: *mut S, n: usize) {
    for i in 0..n {
        // SAFETY: the caller's contract.
        unsafe { to.add(i).write(S::store(*src.add(i) + bias)) };
    }
}

#[cfg(test)]
pub(super) mod testing;
