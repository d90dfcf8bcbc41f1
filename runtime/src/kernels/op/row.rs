//! Rows and axes: what the kernels of this folder share.
//!
//! Problem: kernels that move elements fill memory that is not yet initialised, and see a shape as the axes before, at
//! and after one axis. Method: copies and fills that return the initialised slice, and [`split`]. Invariant: a rank-0
//! tensor counts as one axis of size 1, as in PyTorch.

use std::mem::MaybeUninit;

/// Writes a copy of `from`, which has the same length.
#[inline]
pub(super) fn copy<'a, T: Copy>(out: &'a mut [MaybeUninit<T>], from: &[T]) -> &'a mut [T] {
    assert_eq!(out.len(), from.len());
    // SAFETY: both are of this length; `out` is borrowed mutably, so they do not overlap; all elements are then written.
    unsafe {
        std::ptr::copy_nonoverlapping(from.as_ptr(), out.as_mut_ptr().cast(), from.len());
        std::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), out.len())
    }
}

/// Writes `value` everywhere.
#[inline]
pub(super) fn fill<T: Copy>(out: &mut [MaybeUninit<T>], value: T) -> &mut [T] {
    out.fill(MaybeUninit::new(value));
    // SAFETY: all elements are written.
    unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), out.len()) }
}

/// The shape with one axis at least.
pub(super) fn axes(shape: &[usize]) -> &[usize] {
    if shape.is_empty() { &[1] } else { shape }
}

/// How many elements are before axis `dim`, along it, and after it.
pub(super) fn split(shape: &[usize], dim: usize) -> (usize, usize, usize) {
    let shape = axes(shape);
    (
        shape[..dim].iter().product(),
        shape[dim],
        shape[dim + 1..].iter().product(),
    )
}

/// The row-major strides of a shape.
pub(super) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut all = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        all[axis - 1] = all[axis] * shape[axis];
    }
    all
}

/// What a single thread takes to move this many bytes.
pub(super) fn move_ns(count: usize, size: usize) -> u64 {
    (count as u64).saturating_mul(size as u64) / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_split_at_an_axis() {
        assert_eq!(split(&[2, 3, 4, 5], 1), (2, 3, 20));
        assert_eq!(split(&[2, 3], 1), (2, 3, 1));
        assert_eq!(split(&[], 0), (1, 1, 1));
        assert_eq!(strides(&[2, 3, 4]), [12, 4, 1]);
        assert_eq!(strides(&[]), [0; 0]);
    }

    #[test]
    fn copies_and_fills_write_all() {
        let mut out = [const { MaybeUninit::<u16>::uninit() }; 7];
        assert_eq!(copy(&mut out, &[1, 2, 3, 4, 5, 6, 7]), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(fill(&mut out, 9), [9; 7]);
    }
}
