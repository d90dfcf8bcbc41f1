//! Windows that slide over rows: what pooling and convolution share.
//!
//! Problem: the taps of a window hit padding at the borders, and a test per element keeps loops from vectorising. Method:
//! an [`Axis`] says for which outputs a tap lies inside, so that [`sweep`] calls one of the row kernels below with a
//! run of outputs and the inputs (every `step`-th) under one tap. Row kernels exist once per instruction set.
//!
//! Invariant: taps come in row-major order, so sums are added and ties are broken in that order.

use super::float::Real;
use crate::element::Element;
use crate::kernels::tier::{isa, per_isa};
use crate::lane::{Store, Tier};
use half::{bf16, f16};
use std::ops::Range;

/// Outputs whose accumulators stay in L1.
pub(super) const CHUNK: usize = 256;

/// Strided elements that are collected at a time.
const COLLECT: usize = 64;

/// One dimension over which a window slides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    /// Elements without the padding.
    pub size: usize,
    pub stride: usize,
    pub padding: usize,
    pub dilation: usize,
}

impl Axis {
    /// Those of the window positions at which tap `k` lies inside.
    pub(super) fn inside(&self, k: usize, positions: Range<usize>) -> Range<usize> {
        let tap = k * self.dilation;
        // the first position at or behind element 0, and the first behind the last element
        let (lo, hi) = (
            self.padding.saturating_sub(tap),
            (self.size + self.padding).saturating_sub(tap),
        );
        let (lo, hi) = match self.stride {
            1 => (lo, hi),
            s => (lo.div_ceil(s), hi.div_ceil(s)),
        };
        let start = lo.clamp(positions.start, positions.end);
        start..hi.clamp(start, positions.end)
    }

    /// The taps of a kernel that may lie inside for any of `positions`, of which there is one or more: a kernel may be
    /// much larger than what it sees.
    pub(super) fn taps(&self, kernel: usize, positions: Range<usize>) -> Range<usize> {
        let from = |end: usize, position: usize| {
            let tap = end.saturating_sub(position * self.stride);
            tap.div_ceil(self.dilation).min(kernel)
        };
        from(self.padding, positions.end - 1)..from(self.size + self.padding, positions.start)
    }

    /// The element under tap `k` at a position at which it lies inside.
    pub(super) fn element(&self, position: usize, k: usize) -> usize {
        position * self.stride + k * self.dilation - self.padding
    }
}

/// Calls `f` for the taps of the windows at `row` and `cols`, with the tap, the windows (from the first of
/// `cols`) of which it lies inside, and the element of the plane under it at the first of them.
pub(super) fn sweep(
    axes: &[Axis; 2],
    kernel: [usize; 2],
    row: usize,
    cols: Range<usize>,
    mut f: impl FnMut([usize; 2], Range<usize>, usize),
) {
    for i in axes[0].taps(kernel[0], row..row + 1) {
        if axes[0].inside(i, row..row + 1).is_empty() {
            continue;
        }
        let from = axes[0].element(row, i) * axes[1].size;
        for j in axes[1].taps(kernel[1], cols.clone()) {
            let run = axes[1].inside(j, cols.clone());
            if !run.is_empty() {
                let at = from + axes[1].element(run.start, j);
                f([i, j], run.start - cols.start..run.end - cols.start, at);
            }
        }
    }
}

/// `acc[i] = f(acc[i], src[i * step])`.
///
/// # Safety
/// `acc` has `n` elements, `src` those that are named, and they do not overlap.
#[inline(always)]
unsafe fn combine<S: Store>(
    acc: *mut S::Elem,
    src: *const S,
    step: usize,
    n: usize,
    f: impl Fn(S::Elem, S::Elem) -> S::Elem,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let acc = std::slice::from_raw_parts_mut(acc, n);
        if step == 1 {
            let src = std::slice::from_raw_parts(src, n);
            acc.iter_mut().zip(src).for_each(|(a, x)| *a = f(*a, x.load()));
            return;
        }
        // computing on strided elements does not vectorise: collect them first
        for (i, acc) in acc.chunks_mut(COLLECT).enumerate() {
            let src = src.add(i * COLLECT * step);
            let mut dense = [*src; COLLECT];
            match step {
                2 => (0..acc.len()).for_each(|l| dense[l] = *src.add(2 * l)),
                _ => (0..acc.len()).for_each(|l| dense[l] = *src.add(step * l)),
            }
            acc.iter_mut().zip(&dense).for_each(|(a, x)| *a = f(*a, x.load()));
        }
    }
}

/// A compute type with a maximum.
pub(super) trait Order: Copy + PartialOrd {
    /// Not above any element.
    const LOWEST: Self;
    fn not_a_number(self) -> bool;
}
macro_rules! orders {
    ($($t:ident: $lowest:ident, |$x:ident| $nan:expr;)*) => {$(
        impl Order for $t {
            const LOWEST: $t = $t::$lowest;
            #[inline(always)]
            fn not_a_number(self) -> bool { let $x = self; $nan }
        }
    )*};
}
orders! {
    f32: NEG_INFINITY, |x| x.is_nan();
    f64: NEG_INFINITY, |x| x.is_nan();
    i32: MIN, |_x| false;
    i64: MIN, |_x| false;
    u8: MIN, |_x| false;
}

/// # Safety
/// That of [`combine`].
#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // what `per_isa!` passes
unsafe fn maximum<S: Store<Elem: Order>, T: Tier>(acc: *mut u8, src: *const u8, step: usize, n: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        combine::<S>(acc.cast(), src.cast(), step, n, |a, x| {
            if (x > a) | x.not_a_number() { x } else { a }
        })
    }
}

/// # Safety
/// That of [`combine`].
#[inline(always)]
unsafe fn multiply_add<S: Store<Elem: Real>, T: Tier>(
    acc: *mut u8,
    src: *const u8,
    step: usize,
    n: usize,
    weight: f64,
) {
    let w = <S::Elem as Element>::from_f64(weight);
    // SAFETY: the caller's contract.
    unsafe { combine::<S>(acc.cast(), src.cast(), step, n, |a, x| a.multiply_add::<T>(w, x)) }
}

/// Running sums of a row.
const LANES: usize = 16;

/// # Safety
/// `src` has `n` elements.
#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // what `per_isa!` passes
unsafe fn sum<S: Store<Elem: Real>, T: Tier>(src: *const u8, n: usize) -> f64 {
    // SAFETY: the caller's contract.
    let src = unsafe { std::slice::from_raw_parts(src.cast::<S>(), n) };
    let mut sums = [S::Elem::default(); LANES];
    let vectors = src.chunks_exact(LANES);
    let tail = vectors.remainder();
    for v in vectors {
        for (s, x) in sums.iter_mut().zip(v) {
            *s += x.load();
        }
    }
    for (s, x) in sums.iter_mut().zip(tail) {
        *s += x.load();
    }
    sums.iter().map(|s| s.to_f64()).sum()
}

/// `acc[i] = max(acc[i], src[i * step])` for i below `n`.
pub(super) type MaximumFn = unsafe fn(acc: *mut u8, src: *const u8, step: usize, n: usize);
/// `acc[i] += weight * src[i * step]` for i below `n`.
pub(super) type MultiplyAddFn = unsafe fn(acc: *mut u8, src: *const u8, step: usize, n: usize, weight: f64);
/// The sum of `n` elements.
pub(super) type SumFn = unsafe fn(src: *const u8, n: usize) -> f64;

/// Elements with a row kernel of maxima. NaN wins, then the first of ties.
pub(super) trait Maximum: Store<Elem: Order> {
    fn maximum() -> MaximumFn;
}
/// Elements with row kernels of sums.
pub(super) trait Sums: Store<Elem: Real> {
    fn multiply_add() -> MultiplyAddFn;
    fn sum() -> SumFn;
}
macro_rules! rows {
    (max $($m:ty)*; sums $($t:ty)*) => {
        $(impl Maximum for $m {
            fn maximum() -> MaximumFn {
                per_isa!(maximum::<$m>, fn(acc: *mut u8, src: *const u8, step: usize, n: usize))[isa() as usize]
            }
        })*
        $(impl Sums for $t {
            fn multiply_add() -> MultiplyAddFn {
                per_isa!(
                    multiply_add::<$t>,
                    fn(acc: *mut u8, src: *const u8, step: usize, n: usize, weight: f64)
                )[isa() as usize]
            }
            fn sum() -> SumFn {
                per_isa!(sum::<$t>, fn(src: *const u8, n: usize) -> f64)[isa() as usize]
            }
        })*
    };
}
rows!(max f32 f64 f16 bf16 i32 i64 u8; sums f32 f64 f16 bf16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taps_inside_are_those_of_a_test_per_element() {
        for size in 0..6 {
            for (stride, padding, dilation, k) in
                (0..81).map(|i| (i % 3 + 1, i / 3 % 3, i / 9 % 3 + 1, i / 27 % 3))
            {
                let axis = Axis {
                    size,
                    stride,
                    padding,
                    dilation,
                };
                let is = |o: usize| (padding..size + padding).contains(&(o * stride + k * dilation));
                let want: Vec<usize> = (1..9).filter(|&o| is(o)).collect();
                let got: Vec<usize> = axis.inside(k, 1..9).collect();
                assert_eq!(got, want, "{axis:?} {k}");
                assert!(got.is_empty() || axis.taps(3, 1..9).contains(&k), "{axis:?} {k}");
            }
        }
    }
}
