//! Operations with a kernel of their own: those that are neither lanes, folds, products nor views.
//!
//! Problem: gathers, sorts, scans, pooling, convolution and attention do not fit strips and nests. Method: one function
//! an operation (a file a family), on row-major operands, which the planner makes dense. Elements are moved by their size
//! or computed in their compute type ([`Store`](crate::lane::Store)): half types are widened, and rounded once, on store.
//!
//! Invariants: an output is row-major, overlaps no operand, and every element of it is written unless an error is
//! returned; shapes, ranks and dtypes were checked by the rules, so a kernel checks data only (indices). Results do not
//! depend on the thread count.

pub(crate) mod attention;
pub(crate) mod axis_map;
pub(crate) mod conv;
mod float;
pub(crate) mod index;
pub(crate) mod index_add;
pub(crate) mod pool;
pub(crate) mod resample;
mod row;
#[cfg(test)]
mod sample;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod sort;
pub(crate) mod triangle;
mod window;

use super::par::parts;
use crate::DType;
use crate::element::Element;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// A row-major tensor that a kernel reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct In<'a> {
    pub dtype: DType,
    pub shape: &'a [usize],
    data: *const u8,
    life: PhantomData<&'a u8>,
}

// SAFETY: the data is only read, and outlives 'a (the contract of `new`).
unsafe impl Send for In<'_> {}
// SAFETY: as above.
unsafe impl Sync for In<'_> {}

impl<'a> In<'a> {
    /// # Safety
    /// `data` is aligned and readable for the elements of the row-major shape until 'a ends; Bool bytes are 0 or 1.
    pub(crate) unsafe fn new(dtype: DType, shape: &'a [usize], data: *const u8) -> Self {
        In {
            dtype,
            shape,
            data,
            life: PhantomData,
        }
    }

    /// How many elements.
    pub(crate) fn count(self) -> usize {
        self.shape.iter().product()
    }

    /// The same elements in another shape. Panics if their number differs.
    pub(crate) fn reshaped<'b>(self, shape: &'b [usize]) -> In<'b>
    where
        'a: 'b,
    {
        assert_eq!(self.count(), shape.iter().product::<usize>());
        In {
            dtype: self.dtype,
            shape,
            data: self.data,
            life: PhantomData,
        }
    }

    /// The elements. Panics if they are of another type.
    pub(crate) fn of<T: Element>(self) -> &'a [T] {
        assert_eq!(self.dtype, T::DTYPE);
        if self.count() == 0 {
            return &[];
        }
        // SAFETY: the contract of `new`; the type is that of the dtype.
        unsafe { std::slice::from_raw_parts(self.data.cast(), self.count()) }
    }

    /// The elements as plain data of `size_of::<U>()` bytes each, which is the dtype's size. For moving only.
    pub(crate) fn bits<U: Bits>(self) -> &'a [U] {
        assert_eq!(self.dtype.size(), size_of::<U>());
        if self.count() == 0 {
            return &[];
        }
        // SAFETY: the contract of `new`; any bits are a `U` of the same size, and elements are aligned to their size.
        unsafe { std::slice::from_raw_parts(self.data.cast(), self.count()) }
    }

    /// The elements of an index tensor (any integer dtype) as i64.
    pub(crate) fn indices(self) -> Vec<i64> {
        match self.dtype {
            DType::I64 => self.of::<i64>().to_vec(),
            DType::I32 => self.of::<i32>().iter().map(|&i| i64::from(i)).collect(),
            _ => self.of::<u8>().iter().map(|&i| i64::from(i)).collect(),
        }
    }
}

/// A row-major tensor that a kernel writes.
#[derive(Debug)]
pub(crate) struct Out<'a> {
    pub dtype: DType,
    pub shape: &'a [usize],
    data: *mut u8,
    life: PhantomData<&'a mut u8>,
}

impl<'a> Out<'a> {
    /// # Safety
    /// `data` is aligned and writable for the elements of the row-major shape until 'a ends, and nothing else touches it.
    pub(crate) unsafe fn new(dtype: DType, shape: &'a [usize], data: *mut u8) -> Self {
        Out {
            dtype,
            shape,
            data,
            life: PhantomData,
        }
    }

    /// How many elements.
    pub(crate) fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// The elements, not yet written. Panics if they are of another type.
    pub(crate) fn of<T: Element>(&mut self) -> &mut [MaybeUninit<T>] {
        assert_eq!(self.dtype, T::DTYPE);
        if self.count() == 0 {
            return &mut [];
        }
        // SAFETY: the contract of `new`; the type is that of the dtype.
        unsafe { std::slice::from_raw_parts_mut(self.data.cast(), self.count()) }
    }

    /// The elements as plain data of the dtype's size.
    pub(crate) fn bits<U: Bits>(&mut self) -> &mut [MaybeUninit<U>] {
        assert_eq!(self.dtype.size(), size_of::<U>());
        if self.count() == 0 {
            return &mut [];
        }
        // SAFETY: the contract of `new`; elements are aligned to their size.
        unsafe { std::slice::from_raw_parts_mut(self.data.cast(), self.count()) }
    }
}

/// Plain data by which elements of a size are moved: `u8 u16 u32 u64`.
pub(crate) trait Bits: Copy + Send + Sync + Default + 'static {}
impl Bits for u8 {}
impl Bits for u16 {}
impl Bits for u32 {}
impl Bits for u64 {}

/// Evaluates an expression with a type alias bound to the [`Bits`] of a dtype's size.
macro_rules! with_bits {
    ($dtype:expr, $U:ident => $body:expr) => {
        match $dtype.size() {
            1 => {
                type $U = u8;
                $body
            }
            2 => {
                type $U = u16;
                $body
            }
            4 => {
                type $U = u32;
                $body
            }
            _ => {
                type $U = u64;
                $body
            }
        }
    };
}
pub(crate) use with_bits;

/// Calls `f` with every row of `len` elements and its number, in parallel when the whole costs enough.
pub(crate) fn each_row<T: Send>(
    out: &mut [MaybeUninit<T>],
    len: usize,
    cost_ns: u64,
    f: impl Fn(usize, &mut [MaybeUninit<T>]) + Sync,
) {
    struct Rows<T>(*mut MaybeUninit<T>);
    // SAFETY: `parts` deals every row to one thread.
    unsafe impl<T: Send> Sync for Rows<T> {}
    impl<T> Rows<T> {
        fn at(&self, offset: usize) -> *mut MaybeUninit<T> {
            self.0.wrapping_add(offset)
        }
    }
    if len == 0 {
        return;
    }
    let rows = out.len() / len;
    let all = Rows(out.as_mut_ptr());
    parts(cost_ns, rows, |range| {
        for row in range {
            // SAFETY: the row lies in `out`, and no other call of `f` sees it.
            f(row, unsafe {
                std::slice::from_raw_parts_mut(all.at(row * len), len)
            });
        }
    });
}
