//! Sum, sum of squares, maximum and minimum of f32 and f64 chunks, on explicit vectors.
//!
//! f32 sums run in blocks of [`BLOCK`] elements over `K` vector accumulators, whose lanes are then added in f64:
//! the error of a block is that of a few dozen additions, and that of a row is one rounding at its end.
//! A block whose sum is not finite is added again in f64: its partial sums may have left the range of f32.
//! Moments add `d` and `d * d` for the distances `d` from a pivot, the mean of the row's first vector.
//! `sum(d * d) - sum(d)^2 / n` is then the sum of squares around the mean, and `n * pivot + sum(d)` the sum. They are taken
//! only where the former is at least half of `sum(d * d)`: the difference then loses one bit, and the error of the mean is a
//! few roundings of the deviation. A pivot far from the mean or a NaN gives no squares, and the sum takes a pass of its own.
//! Maxima track NaN beside the comparison, with one compare for two vectors. The first of ties wins, which shows where
//! they are zeros of both signs.

use super::vector::{Array, Vector};
use super::{Acc, Moments};

/// Elements whose partial sums stay in the element type.
pub(super) const BLOCK: usize = 4096;
/// Accumulators.
const K: usize = 8;

/// Calls `step(k, vector)` for all vectors of `p[..n]`; the tail is filled with `fill`.
macro_rules! sweep {
    ($v:ty, $p:expr, $n:expr, $fill:expr, |$k:ident, $x:ident| $step:expr) => {{
        let (p, n) = ($p, $n);
        let mut i = 0;
        while i + K * <$v>::LANES <= n {
            let mut $k = 0;
            while $k < K {
                let $x = <$v>::load(p.add(i + $k * <$v>::LANES));
                $step;
                $k += 1;
            }
            i += K * <$v>::LANES;
        }
        let $k = 0;
        while i + <$v>::LANES <= n {
            let $x = <$v>::load(p.add(i));
            $step;
            i += <$v>::LANES;
        }
        if i < n {
            let $x = <$v>::tail(p.add(i), n - i, $fill);
            $step;
        }
    }};
}

/// Adds the lanes of the accumulators in f64.
#[inline(always)]
unsafe fn total<V: Vector>(a: [V; K]) -> f64 {
    // SAFETY: the features are the caller's.
    unsafe {
        let v = a[0]
            .add(a[4])
            .add(a[2].add(a[6]))
            .add(a[1].add(a[5]).add(a[3].add(a[7])));
        v.total()
    }
}

#[inline(always)]
unsafe fn sum<V: Vector<Elem: Zero>>(p: *const u8, n: usize, acc: &mut Acc) {
    // SAFETY: the contract of `ChunkFn`.
    unsafe {
        let (p, zero) = (p.cast::<V::Elem>(), V::Elem::ZERO);
        let mut at = 0;
        while at < n {
            let m = (n - at).min(BLOCK);
            let mut a = [V::splat(zero); K];
            sweep!(V, p.add(at), m, zero, |k, x| a[k] = a[k].add(x));
            let t = total(a);
            acc.f += if t.is_finite() {
                t
            } else {
                exact::<V>(p.add(at), m, |x| x)
            };
            at += m;
        }
    }
}

#[inline(always)]
unsafe fn sum_squares<V: Vector<Elem: Zero>>(p: *const u8, n: usize, center: f64, acc: &mut Acc) {
    // SAFETY: the contract of `ChunkFn`.
    unsafe {
        let (p, c) = (p.cast::<V::Elem>(), V::Elem::from_f64(center));
        let vc = V::splat(c);
        let mut at = 0;
        while at < n {
            let m = (n - at).min(BLOCK);
            let mut a = [V::splat(V::Elem::ZERO); K];
            sweep!(V, p.add(at), m, c, |k, x| a[k] = x.sub(vc).square_add(a[k]));
            let t = total(a);
            let square = |x: f64| (x - center) * (x - center);
            acc.f += if t.is_finite() {
                t
            } else {
                exact::<V>(p.add(at), m, square)
            };
            at += m;
        }
    }
}

/// A sum in f64, for a block whose partial sums left the range of the element type.
///
/// # Safety
/// `p` is readable for `n` elements.
#[cold]
unsafe fn exact<V: Vector>(p: *const V::Elem, n: usize, of: impl Fn(f64) -> f64) -> f64 {
    // SAFETY: the caller's contract.
    (0..n).map(|i| of(unsafe { *p.add(i) }.into())).sum()
}

#[inline(always)]
unsafe fn moments<V: Vector<Elem: Zero>>(
    p: *const u8,
    pitch: usize,
    rows: usize,
    n: usize,
    to: *mut Moments,
) {
    for row in 0..rows {
        // SAFETY: the contract of `MomentsFn`.
        unsafe {
            to.add(row)
                .write(moments_of::<V>(p.wrapping_add(row.wrapping_mul(pitch)), n))
        };
    }
}

#[inline(always)]
unsafe fn moments_of<V: Vector<Elem: Zero>>(row: *const u8, n: usize) -> Moments {
    // SAFETY: the contract of `MomentsFn`.
    unsafe {
        let (p, zero) = (row.cast::<V::Elem>(), V::Elem::ZERO);
        let pivot = if n >= V::LANES {
            V::load(p).total() / V::LANES as f64
        } else {
            (*p).into()
        };
        let pivot = V::Elem::from_f64(pivot);
        let vp = V::splat(pivot);
        let (mut s, mut q) = ([V::splat(zero); 4], [V::splat(zero); 4]);
        sweep!(V, p, n, pivot, |k, x| {
            let d = x.sub(vp);
            s[k % 4] = s[k % 4].add(d);
            q[k % 4] = d.square_add(q[k % 4]);
        });
        let four = |v: [V; 4]| v[0].add(v[2]).add(v[1].add(v[3])).total();
        let (s, q, len) = (four(s), four(q), n as f64);
        let (shift, pivot) = (s / len, pivot.into());
        let excess = s * shift;
        let squares = q - excess;
        if excess <= squares && squares.is_finite() {
            return Moments {
                sum: pivot * len + s,
                mean: pivot + shift,
                squares,
            };
        }
        let mut acc = Acc { f: 0.0, i: 0, at: -1 };
        sum::<V>(row, n, &mut acc);
        Moments {
            sum: acc.f,
            mean: acc.f / len,
            squares: f64::NAN,
        }
    }
}

#[inline(always)]
unsafe fn extreme<V: Vector<Elem: Zero>, const MAX: bool>(p: *const u8, n: usize, acc: &mut Acc) {
    // SAFETY: the contract of `ChunkFn`.
    unsafe {
        let p = p.cast::<V::Elem>();
        let worst = V::Elem::from_f64(if MAX { f64::NEG_INFINITY } else { f64::INFINITY });
        let pick = |a: V, x: V| if MAX { a.max(x) } else { a.min(x) };
        let (mut a, mut o) = ([V::splat(worst); K], [V::ordered(); K / 2]);
        let mut i = 0;
        while i + K * V::LANES <= n {
            let mut k = 0;
            while k < K {
                let x = V::load(p.add(i + k * V::LANES));
                let y = V::load(p.add(i + (k + 1) * V::LANES));
                a[k] = pick(a[k], x);
                a[k + 1] = pick(a[k + 1], y);
                o[k / 2] = V::order(o[k / 2], x, y);
                k += 2;
            }
            i += K * V::LANES;
        }
        while i < n {
            let m = n - i;
            let x = if m >= V::LANES {
                V::load(p.add(i))
            } else {
                V::tail(p.add(i), m, worst)
            };
            a[0] = pick(a[0], x);
            o[0] = V::order(o[0], x, x);
            i += V::LANES;
        }
        let ordered =
            V::all_ordered(o[0]) & V::all_ordered(o[1]) & V::all_ordered(o[2]) & V::all_ordered(o[3]);
        if !ordered || acc.f.is_nan() {
            acc.f = f64::NAN;
            return;
        }
        let b = [
            pick(a[0], a[4]),
            pick(a[1], a[5]),
            pick(a[2], a[6]),
            pick(a[3], a[7]),
        ];
        let v = pick(pick(b[0], b[2]), pick(b[1], b[3]));
        let best = if MAX { v.largest() } else { v.smallest() };
        if (MAX && best > acc.f) || (!MAX && best < acc.f) {
            acc.f = if best == 0.0 { first_zero::<V>(p, n) } else { best };
        }
    }
}

/// Of zeros of both signs, the first is the extreme: lanes do not know which that is.
#[cold]
unsafe fn first_zero<V: Vector>(p: *const V::Elem, n: usize) -> f64 {
    // SAFETY: the contract of `ChunkFn`.
    let mut all = (0..n).map(|i| unsafe { (*p.add(i)).into() });
    all.find(|v: &f64| *v == 0.0).unwrap_or(0.0)
}

/// The constants of an element type.
pub(super) trait Zero: Copy {
    const ZERO: Self;
    fn from_f64(v: f64) -> Self;
}
impl Zero for f32 {
    const ZERO: f32 = 0.0;
    #[inline(always)]
    fn from_f64(v: f64) -> f32 {
        v as f32
    }
}
impl Zero for f64 {
    const ZERO: f64 = 0.0;
    #[inline(always)]
    fn from_f64(v: f64) -> f64 {
        v
    }
}

macro_rules! instances {
    ($($feature:literal)? $name:ident, $f32:ty, $f64:ty) => {
        pub(super) mod $name {
            #[allow(unused_imports)]
            use super::*;
            #[cfg(target_arch = "x86_64")]
            #[allow(unused_imports)]
            use std::arch::x86_64::*;
            macro_rules! function {
                ($fun:ident, |$p:ident, $n:ident, $c:ident, $acc:ident| $body:expr) => {
                    $(#[target_feature(enable = $feature)])?
                    pub(in super::super) unsafe fn $fun($p: *const u8, $n: usize, _base: i64, $c: f64, $acc: &mut Acc) {
                        // SAFETY: the contract of `ChunkFn`; the features are those of this function.
                        unsafe { $body }
                    }
                };
            }
            macro_rules! with_moments {
                ($fun:ident, $v:ty) => {
                    $(#[target_feature(enable = $feature)])?
                    pub(in super::super) unsafe fn $fun(p: *const u8, pitch: usize, rows: usize, n: usize, to: *mut Moments) {
                        // SAFETY: the contract of `MomentsFn`; the features are those of this function.
                        unsafe { moments::<$v>(p, pitch, rows, n, to) }
                    }
                };
            }
            with_moments!(moments_f32, $f32);
            with_moments!(moments_f64, $f64);
            function!(sum_f32, |p, n, _c, acc| sum::<$f32>(p, n, acc));
            function!(sum_f64, |p, n, _c, acc| sum::<$f64>(p, n, acc));
            function!(squares_f32, |p, n, c, acc| sum_squares::<$f32>(p, n, c, acc));
            function!(squares_f64, |p, n, c, acc| sum_squares::<$f64>(p, n, c, acc));
            function!(max_f32, |p, n, _c, acc| extreme::<$f32, true>(p, n, acc));
            function!(max_f64, |p, n, _c, acc| extreme::<$f64, true>(p, n, acc));
            function!(min_f32, |p, n, _c, acc| extreme::<$f32, false>(p, n, acc));
            function!(min_f64, |p, n, _c, acc| extreme::<$f64, false>(p, n, acc));
        }
    };
}
instances!(portable, Array<f32>, Array<f64>);
#[cfg(target_arch = "x86_64")]
instances!("avx2,fma" avx2, __m256, __m256d);
#[cfg(target_arch = "x86_64")]
instances!("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma" avx512, __m512, __m512d);

/// The three instances of a function.
macro_rules! table {
    ($fun:ident) => {{
        #[cfg(target_arch = "x86_64")]
        let t: [_; 3] = [
            float::portable::$fun as _,
            float::avx2::$fun as _,
            float::avx512::$fun as _,
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let t: [_; 3] = [float::portable::$fun as _; 3];
        t
    }};
}
pub(super) use table;
