//! Running sums and products along an axis.
//!
//! Problem: `cumsum` and `cumprod` need a wider running value than the dtype, on any axis. Method: each element is
//! folded into the running value of its lane and the value is rounded into the output; lanes of an inner axis advance
//! together, one row of running values, so that memory is read in order. Groups before the axis run in parallel.
//!
//! Invariants: f32 and f64 run in f64, half types in f32, integers and Bool in wrapping i64, which is also their output;
//! a lane starts at 0 or 1 and folds from the left, as in PyTorch, so infinities and NaN follow from the arithmetic and
//! a first -0 sums to 0.

use super::row::split;
use super::{In, Out, each_row};
use crate::element::{Element, with_element};
use half::{bf16, f16};
use std::mem::MaybeUninit;

/// Running sums along `dim`.
pub(crate) fn cumsum(x: In, dim: usize, out: Out) {
    cumulate(x, dim, out, Fold::Sum);
}

/// Running products along `dim`.
pub(crate) fn cumprod(x: In, dim: usize, out: Out) {
    cumulate(x, dim, out, Fold::Product);
}

#[derive(Clone, Copy)]
enum Fold {
    Sum,
    Product,
}

/// A running value.
trait Running: Copy + Send + Sync {
    const ZERO: Self;
    const ONE: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

macro_rules! running {
    ($($t:ty, $zero:expr, $one:expr, $x:ident $y:ident => $plus:expr, $times:expr;)*) => {$(
        impl Running for $t {
            const ZERO: $t = $zero;
            const ONE: $t = $one;
            #[inline(always)]
            fn plus(self, $y: $t) -> $t { let $x = self; $plus }
            #[inline(always)]
            fn times(self, $y: $t) -> $t { let $x = self; $times }
        }
    )*};
}
running! {
    f32, 0.0, 1.0, x y => x + y, x * y;
    f64, 0.0, 1.0, x y => x + y, x * y;
    i64, 0, 1, x y => x.wrapping_add(y), x.wrapping_mul(y);
}

/// An element with its running value and the element of the output.
trait Scan: Element {
    type Value: Running;
    type To: Element;
    fn widen(self) -> Self::Value;
    fn narrow(v: Self::Value) -> Self::To;
}

macro_rules! scan {
    ($($t:ty, $value:ty, $to:ty, $x:ident => $widen:expr, $v:ident => $narrow:expr;)*) => {$(
        impl Scan for $t {
            type Value = $value;
            type To = $to;
            #[inline(always)]
            fn widen(self) -> $value { let $x = self; $widen }
            #[inline(always)]
            fn narrow($v: $value) -> $to { $narrow }
        }
    )*};
}
scan! {
    f32, f64, f32, x => f64::from(x), v => v as f32;
    f64, f64, f64, x => x, v => v;
    f16, f32, f16, x => x.to_f32(), v => f16::from_f32(v);
    bf16, f32, bf16, x => x.to_f32(), v => bf16::from_f32(v);
    i32, i64, i64, x => i64::from(x), v => v;
    i64, i64, i64, x => x, v => v;
    u8, i64, i64, x => i64::from(x), v => v;
    bool, i64, i64, x => i64::from(x), v => v;
}

fn cumulate(x: In, dim: usize, mut out: Out, fold: Fold) {
    let (_, n, inner) = split(x.shape, dim);
    with_element!(x.dtype, T => {
        let (x, out) = (x.of::<T>(), out.of::<<T as Scan>::To>());
        match fold {
            Fold::Sum => scanned(x, n, inner, out, Running::ZERO, Running::plus),
            Fold::Product => scanned(x, n, inner, out, Running::ONE, Running::times),
        }
    });
}

fn scanned<T: Scan>(
    x: &[T],
    n: usize,
    inner: usize,
    out: &mut [MaybeUninit<T::To>],
    start: T::Value,
    fold: impl Fn(T::Value, T::Value) -> T::Value + Sync,
) {
    let len = n * inner;
    each_row(out, len, x.len() as u64, |group, out| {
        let x = &x[group * len..][..len];
        if inner == 1 {
            let mut value = start;
            for (o, &x) in out.iter_mut().zip(x) {
                value = fold(value, x.widen());
                o.write(T::narrow(value));
            }
            return;
        }
        let mut values = vec![start; inner];
        for (out, x) in out.chunks_exact_mut(inner).zip(x.chunks_exact(inner)) {
            for ((o, &x), value) in out.iter_mut().zip(x).zip(&mut values) {
                *value = fold(*value, x.widen());
                o.write(T::narrow(*value));
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::sample::{Sample, coordinates, offset, produce, with};
    use super::*;
    use crate::DType;

    fn target(dtype: DType) -> DType {
        if dtype.is_float() { dtype } else { DType::I64 }
    }

    fn same(a: f64, b: f64) -> bool {
        a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
    }

    /// Every output from the start of its lane.
    fn check(dtype: DType, shape: &[usize], dim: usize) {
        let x = Sample::varied(dtype, shape, 11);
        for (fold, f) in [
            (Fold::Sum, cumsum as fn(In, usize, Out)),
            (Fold::Product, cumprod),
        ] {
            let out = produce(target(dtype), shape, |out| f(x.input(), dim, out));
            with_element!(dtype, T => {
                let (x, out) = (x.list::<T>(), out.list::<<T as Scan>::To>());
                for at in coordinates(shape) {
                    let last = at.get(dim).copied().unwrap_or(0);
                    let lane = (0..=last).map(|i| x[offset(shape, &with(&at, dim, i))].widen());
                    let expected = T::narrow(match fold {
                        Fold::Sum => lane.fold(Running::ZERO, Running::plus),
                        Fold::Product => lane.fold(Running::ONE, Running::times),
                    });
                    let got = out[offset(shape, &at)];
                    assert!(
                        got == expected || same(got.to_f64(), expected.to_f64()),
                        "{dtype} {shape:?} {dim} {at:?}: {got:?} {expected:?}"
                    );
                }
            });
        }
    }

    #[test]
    fn scans_are_the_naive_ones() {
        for dtype in DType::ALL {
            check(dtype, &[], 0);
            for n in [0, 1, 7, 33, 129] {
                check(dtype, &[n], 0);
                check(dtype, &[3, n], 1);
                check(dtype, &[n, 3], 0);
                check(dtype, &[2, n, 5], 1);
            }
        }
        check(DType::F32, &[1025], 0);
        check(DType::F32, &[600, 33, 7], 1);
        check(DType::BF16, &[70, 1025], 0);
    }

    #[test]
    fn values_follow_from_the_arithmetic() {
        let sum = |v: &[f32]| {
            let x = Sample::of(&[v.len()], v);
            produce(DType::F32, &[v.len()], |out| cumsum(x.input(), 0, out)).list::<f32>()
        };
        assert_eq!(sum(&[f32::INFINITY; 2]), [f32::INFINITY; 2]);
        assert_eq!(sum(&[-0.0])[0].to_bits(), 0);
        let v = sum(&[1.0, f32::NAN, 1.0, f32::NEG_INFINITY]);
        assert!(v[0] == 1.0 && v[1..].iter().all(|v| v.is_nan()));
        // in f32 the ones would be lost
        let mut x = vec![1.0; 1025];
        x[0] = 33_554_432.0;
        assert_eq!(sum(&x)[1024], 33_555_456.0);
    }

    #[test]
    fn integers_wrap_in_i64() {
        let x = Sample::of(&[3], &[i64::MAX, 1, 2]);
        let out = produce(DType::I64, &[3], |out| cumsum(x.input(), 0, out));
        assert_eq!(out.list::<i64>(), [i64::MAX, i64::MIN, i64::MIN + 2]);
        let x = Sample::of(&[4], &[255u8, 255, 255, 0]);
        let out = produce(DType::I64, &[4], |out| cumprod(x.input(), 0, out));
        assert_eq!(out.list::<i64>(), [255, 65025, 16_581_375, 0]);
        let x = Sample::of(&[3], &[true, true, false]);
        let out = produce(DType::I64, &[3], |out| cumsum(x.input(), 0, out));
        assert_eq!(out.list::<i64>(), [1, 2, 2]);
    }
}
