//! What users may write where an operation takes a dim, dims or a shape.
//!
//! Problem: `x.dim(0)` is a `usize`, a literal is an `i32`, -1 is signed, and `(x.dim(0), -1)` mixes them.
//! Method: sealed traits over the four integer types, tuples, arrays, slices and `Vec`s, all reduced at the
//! call to `i64`s, so that everything behind the call is not generic. Invariant: a `usize` beyond `i64::MAX`
//! becomes `i64::MAX`, which every later size check refuses.

use crate::error::{Error, Result};
use crate::layout::Sizes;
use smallvec::SmallVec;
use tensorplay_graph::Code;

mod sealed {
    pub trait Dim {}
    pub trait Dims {}
    pub trait Shape {}
}

/// Sizes or dims as the user wrote them: -1 and negative dims not yet resolved.
pub type Written = SmallVec<[i64; 8]>;

/// A dim, an index or a count: any of `i32 i64 isize usize`; a negative dim or index counts from the end.
pub trait Dim: Copy + sealed::Dim {
    /// The value as `i64`.
    fn to_i64(self) -> i64;
}

/// One or more dims: an integer, a tuple, an array, a slice or a `Vec`.
pub trait Dims: sealed::Dims {
    /// The dims as written.
    fn dims(&self) -> Written;
}

/// A shape: an integer, `()`, a tuple of up to 8 integers of any type, an array, a slice or a `Vec`.
pub trait Shape: sealed::Shape {
    /// The sizes as written.
    fn sizes(&self) -> Written;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl sealed::Dim for $t {}
        impl Dim for $t {
            #[inline]
            fn to_i64(self) -> i64 { i64::try_from(self).unwrap_or(i64::MAX) }
        }
        impl sealed::Dims for $t {}
        impl Dims for $t {
            fn dims(&self) -> Written { SmallVec::from_slice(&[self.to_i64()]) }
        }
        impl sealed::Shape for $t {}
        impl Shape for $t {
            fn sizes(&self) -> Written { SmallVec::from_slice(&[self.to_i64()]) }
        }
    )*};
}
integers!(i32 i64 isize usize);

impl sealed::Shape for () {}
impl Shape for () {
    fn sizes(&self) -> Written {
        Written::new()
    }
}

macro_rules! tuples {
    ($($($n:ident)+;)*) => {$(
        impl<$($n: Dim),+> sealed::Shape for ($($n,)+) {}
        #[allow(non_snake_case)]
        impl<$($n: Dim),+> Shape for ($($n,)+) {
            fn sizes(&self) -> Written { let ($($n,)+) = *self; SmallVec::from_slice(&[$($n.to_i64()),+]) }
        }
        impl<$($n: Dim),+> sealed::Dims for ($($n,)+) {}
        impl<$($n: Dim),+> Dims for ($($n,)+) {
            fn dims(&self) -> Written { self.sizes() }
        }
    )*};
}
tuples! { A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H; }

macro_rules! lists {
    ($([$($generics:tt)*] $t:ty;)*) => {$(
        impl<T: Dim $($generics)*> sealed::Shape for $t {}
        impl<T: Dim $($generics)*> Shape for $t {
            fn sizes(&self) -> Written { self.iter().map(|v| v.to_i64()).collect() }
        }
        impl<T: Dim $($generics)*> sealed::Dims for $t {}
        impl<T: Dim $($generics)*> Dims for $t {
            fn dims(&self) -> Written { self.sizes() }
        }
    )*};
}
lists! { [, const N: usize] [T; N]; [, const N: usize] &[T; N]; [] &[T]; [] Vec<T>; [] &Vec<T>; }

impl<const M: usize> sealed::Shape for SmallVec<[usize; M]> where [usize; M]: smallvec::Array<Item = usize> {}
impl<const M: usize> Shape for SmallVec<[usize; M]>
where
    [usize; M]: smallvec::Array<Item = usize>,
{
    fn sizes(&self) -> Written {
        self.iter().map(|v| v.to_i64()).collect()
    }
}

/// Sizes of a new tensor: none may be negative.
pub(crate) fn new_sizes(op: &'static str, written: &[i64]) -> Result<Sizes> {
    written
        .iter()
        .map(|&v| {
            usize::try_from(v).map_err(|_| {
                Error::shape(
                    Code::VALUE,
                    op,
                    format!("size {v} in shape {written:?} is negative"),
                )
                .with_help("only `reshape` and `expand` take -1")
            })
        })
        .collect()
}

/// A dim in `0..rank`. A rank-0 tensor takes 0 and -1, as PyTorch has it, and gives 0.
pub(crate) fn normal_dim(op: &'static str, dim: i64, rank: usize) -> Result<usize> {
    let n = rank.max(1) as i64;
    if (-n..n).contains(&dim) {
        return Ok((if dim < 0 { dim + n } else { dim }) as usize);
    }
    let e = Error::index(
        Code::DIM_RANGE,
        op,
        format!("dim {dim} is out of range for rank {rank}"),
    );
    Err(e.with_help(format!("write a dim from {} to {}", -n, n - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(x: impl Shape) -> Vec<i64> {
        x.sizes().to_vec()
    }
    fn d(x: impl Dims) -> Vec<i64> {
        x.dims().to_vec()
    }

    #[test]
    fn everything_users_write() {
        let v: Vec<usize> = vec![2, 3];
        assert_eq!(s(5), [5]);
        assert_eq!(s(()), [0i64; 0]);
        assert_eq!(s((v[0], -1)), [2, -1]);
        assert_eq!(
            s((1, 2usize, 3i64, 4isize, 5i32, 6, 7, 8)),
            [1, 2, 3, 4, 5, 6, 7, 8]
        );
        assert_eq!(s([2, -1]), [2, -1]);
        let a: &[i32; 2] = &[2, -1];
        assert_eq!(s(a), [2, -1]);
        assert_eq!(s(&v[..]), [2, 3]);
        assert_eq!(s(&v), [2, 3]);
        assert_eq!(s(v), [2, 3]);
        assert_eq!(s(usize::MAX), [i64::MAX]);
        assert_eq!(d(-1), [-1]);
        assert_eq!(d((0, 2)), [0, 2]);
        assert_eq!(d([0, -1]), [0, -1]);
        assert_eq!(d(&[1usize][..]), [1]);
    }

    #[test]
    fn dims_are_resolved_or_refused() {
        assert_eq!(normal_dim("sum", -1, 3).unwrap(), 2);
        assert_eq!(normal_dim("sum", -1, 0).unwrap(), 0);
        let e = normal_dim("softmax", -3, 2).unwrap_err().to_string();
        assert!(
            e.contains("softmax: dim -3 is out of range for rank 2") && e.contains("from -2 to 1"),
            "{e}"
        );
        assert!(
            new_sizes("zeros", &[2, -1])
                .unwrap_err()
                .to_string()
                .contains("[2, -1]")
        );
    }
}
