//! Sorting along an axis, and the largest elements.
//!
//! Problem: a stable order of any dtype, in which NaN is the largest and both zeros are equal. Method: an element becomes
//! an unsigned key of that order (complemented where the order descends), and key and index become one integer, so that
//! an unstable sort of plain integers gives the stable order. The order of all rows is found first, in parallel, with
//! the axis innermost; values are then moved by it. `topk` sorts only what a selection has kept.
//!
//! Invariant: of equal elements the smaller index comes first, in both directions.

use super::row::{axes, move_ns, split};
use super::{Bits, In, Out, each_row, with_bits};
use crate::element::{Element, with_element};
use half::{bf16, f16};
use std::mem::MaybeUninit;

/// Sorts along `dim`; `indices` (i64) says where each value was.
pub(crate) fn sort(x: In, dim: usize, descending: bool, values: Out, indices: Out) {
    let k = axes(x.shape)[dim];
    ordered(x, dim, descending, k, values, indices);
}

/// The `k` largest along `dim`, the largest first; `indices` (i64) says where each value was. A scalar's is itself, for
/// any `k`, as in PyTorch: its shape cannot tell that nothing was taken.
pub(crate) fn topk(x: In, k: usize, dim: usize, values: Out, indices: Out) {
    let k = if x.shape.is_empty() { 1 } else { k };
    ordered(x, dim, true, k, values, indices);
}

/// An element with a key of its order.
trait Ordered: Element {
    /// Of unsigned integers of at most this many bits.
    const KEY_BITS: u32;
    fn key(self) -> u64;
}

/// The order of the bits of a float: negative numbers backwards, then positive ones, then NaN.
macro_rules! ordered_floats {
    ($($t:ty, $u:ty, $x:ident => $zero:expr;)*) => {$(
        impl Ordered for $t {
            const KEY_BITS: u32 = <$u>::BITS;
            #[inline(always)]
            fn key(self) -> u64 {
                const SIGN: $u = 1 << (<$u>::BITS - 1);
                let $x = self;
                let bits = if $zero { 0 } else { self.to_bits() };
                let key = if self.is_nan() {
                    <$u>::MAX
                } else if bits & SIGN != 0 {
                    !bits
                } else {
                    bits | SIGN
                };
                u64::from(key)
            }
        }
    )*};
}
ordered_floats! {
    f32, u32, x => x == 0.0;
    f64, u64, x => x == 0.0;
    f16, u16, x => x.to_bits() << 1 == 0;
    bf16, u16, x => x.to_bits() << 1 == 0;
}

macro_rules! ordered_integers {
    ($($t:ty, $bits:expr, $x:ident => $key:expr;)*) => {$(
        impl Ordered for $t {
            const KEY_BITS: u32 = $bits;
            #[inline(always)]
            fn key(self) -> u64 { let $x = self; $key }
        }
    )*};
}
ordered_integers! {
    i32, 32, x => u64::from((x ^ i32::MIN).cast_unsigned());
    i64, 64, x => (x ^ i64::MIN).cast_unsigned();
    u8, 8, x => u64::from(x);
    bool, 1, x => u64::from(x);
}

/// A key and an index in one integer, of which the key decides first.
trait Pair: Ord + Copy {
    fn pack(key: u64, index: usize) -> Self;
    fn index(self) -> i64;
}

/// For keys and indices of 32 bits.
impl Pair for u64 {
    #[inline(always)]
    fn pack(key: u64, index: usize) -> u64 {
        key << 32 | index as u64
    }
    #[inline(always)]
    fn index(self) -> i64 {
        i64::from(self as u32)
    }
}

impl Pair for u128 {
    #[inline(always)]
    fn pack(key: u64, index: usize) -> u128 {
        u128::from(key) << 64 | index as u128
    }
    #[inline(always)]
    fn index(self) -> i64 {
        self as i64
    }
}

fn ordered(x: In, dim: usize, descending: bool, k: usize, mut values: Out, mut indices: Out) {
    let (outer, n, inner) = split(x.shape, dim);
    if outer * k * inner == 0 {
        return;
    }
    let by_index = indices.of::<i64>();
    let mut lanes = vec![];
    with_element!(x.dtype, T => {
        let find = if T::KEY_BITS <= 32 && u32::try_from(n).is_ok() { order::<T, u64> } else { order::<T, u128> };
        if inner == 1 {
            find(x.of::<T>(), n, inner, k, descending, by_index);
        } else {
            lanes.resize(by_index.len(), MaybeUninit::uninit());
            find(x.of::<T>(), n, inner, k, descending, &mut lanes);
        }
    });
    if inner > 1 {
        // from [outer, inner, k] to [outer, k, inner]
        each_row(by_index, inner, 2 * lanes.len() as u64, |row, out| {
            let from = row / k * k * inner + row % k;
            for (o, lane) in out.iter_mut().zip(lanes[from..].iter().step_by(k)) {
                *o = *lane;
            }
        });
    }
    // SAFETY: every element is written, by `order` or from what it wrote.
    let by_index = unsafe { &*(&raw const *by_index as *const [i64]) };
    with_bits!(x.dtype, U => pick(x.bits::<U>(), n, inner, k, by_index, values.bits::<U>()));
}

/// Writes the indices of the first `k` elements of every lane, lane by lane.
fn order<T: Ordered, P: Pair>(
    x: &[T],
    n: usize,
    inner: usize,
    k: usize,
    descending: bool,
    out: &mut [MaybeUninit<i64>],
) {
    let flip = if descending {
        u64::MAX >> (64 - T::KEY_BITS)
    } else {
        0
    };
    let depth = u64::from(k.max(2).ilog2());
    let cost = (x.len() as u64 * 2).saturating_add(out.len() as u64 * 3 * depth);
    each_row(out, k, cost, |lane, out| {
        let x = &x[lane / inner * n * inner + lane % inner..];
        let pairs = (0..n).map(|i| P::pack(x[i * inner].key() ^ flip, i));
        let mut pairs = if k < n {
            smallest(pairs, k)
        } else {
            pairs.collect()
        };
        pairs.sort_unstable();
        for (o, pair) in out.iter_mut().zip(pairs) {
            o.write(pair.index());
        }
    });
}

/// The `k` smallest, in any order, for `k` above 0. Most of many pairs cost one comparison with the largest candidate.
fn smallest<P: Pair>(pairs: impl Iterator<Item = P>, k: usize) -> Vec<P> {
    let room = (4 * k).max(64);
    let (mut kept, mut limit) = (Vec::with_capacity(room), None);
    for pair in pairs {
        if limit.is_some_and(|limit| pair > limit) {
            continue;
        }
        kept.push(pair);
        if kept.len() == room {
            limit = Some(*kept.select_nth_unstable(k - 1).1);
            kept.truncate(k);
        }
    }
    if kept.len() > k {
        kept.select_nth_unstable(k - 1);
        kept.truncate(k);
    }
    kept
}

/// Moves the elements that the indices name along the middle axis.
fn pick<U: Bits>(x: &[U], n: usize, inner: usize, k: usize, indices: &[i64], out: &mut [MaybeUninit<U>]) {
    let len = k * inner;
    let cost = move_ns(out.len(), size_of::<U>()) + out.len() as u64;
    each_row(out, len, cost, |group, out| {
        let x = &x[group * n * inner..][..n * inner];
        let indices = &indices[group * len..][..len];
        for (out, indices) in out.chunks_exact_mut(inner).zip(indices.chunks_exact(inner)) {
            for (lane, (o, &i)) in out.iter_mut().zip(indices).enumerate() {
                o.write(x[i as usize * inner + lane]);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::sample::{Sample, coordinates, offset, produce, with};
    use super::*;
    use crate::DType;
    use std::cmp::Ordering;

    /// NaN is the largest.
    fn compare(a: f64, b: f64) -> Ordering {
        a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    }

    fn run(dtype: DType, shape: &[usize], f: impl Fn(Out, Out)) -> (Sample, Sample) {
        let values = produce(dtype, shape, |out| {
            f(out, Sample::poisoned(DType::I64, shape, 1).output());
        });
        let indices = produce(DType::I64, shape, |out| {
            f(Sample::poisoned(dtype, shape, 1).output(), out);
        });
        (values, indices)
    }

    fn check(dtype: DType, shape: &[usize], dim: usize, k: Option<usize>, descending: bool) {
        let x = Sample::varied(dtype, shape, 17);
        let to = k.map_or(shape.to_vec(), |k| with(shape, dim, k));
        let (values, indices) = run(dtype, &to, |v, i| match k {
            Some(k) => topk(x.input(), k, dim, v, i),
            None => sort(x.input(), dim, descending, v, i),
        });
        let (floats, bits) = (x.floats(), x.bits());
        let (values, indices) = (values.bits(), indices.list::<i64>());
        let n = shape.get(dim).copied().unwrap_or(1);
        let place = |at: &[usize], i| offset(shape, &with(at, dim, i));
        let firsts = coordinates(&to);
        for at in firsts.iter().filter(|at| at.get(dim).is_none_or(|&i| i == 0)) {
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|&a, &b| {
                let (a, b) = (floats[place(at, a)], floats[place(at, b)]);
                if descending { compare(b, a) } else { compare(a, b) }
            });
            for (rank, &i) in order[..k.unwrap_or(n)].iter().enumerate() {
                let o = offset(&to, &with(at, dim, rank));
                assert_eq!(indices[o], i as i64, "{dtype} {shape:?} {dim} {at:?}");
                assert_eq!(values[o], bits[place(at, i)]);
            }
        }
    }

    #[test]
    fn sorts_are_stable_on_any_axis() {
        for dtype in DType::ALL {
            for descending in [false, true] {
                check(dtype, &[], 0, None, descending);
                for n in [0, 1, 7, 33, 150] {
                    check(dtype, &[n], 0, None, descending);
                    check(dtype, &[2, n, 3], 1, None, descending);
                }
            }
        }
        check(DType::F32, &[1025], 0, None, true);
        check(DType::U8, &[1025], 0, None, false);
    }

    #[test]
    fn the_largest_are_those_of_a_sort() {
        for dtype in DType::ALL {
            check(dtype, &[], 0, Some(1), true);
            let x = Sample::varied(dtype, &[], 17);
            let (value, index) = run(dtype, &[], |v, i| topk(x.input(), 0, 0, v, i));
            assert_eq!((value.bits(), index.list::<i64>()), (x.bits(), vec![0]));
            check(dtype, &[0, 3], 1, Some(2), true);
            for (n, k) in [(0, 0), (1, 1), (7, 0), (7, 3), (33, 33), (150, 5)] {
                check(dtype, &[n], 0, Some(k), true);
                check(dtype, &[n, 3], 0, Some(k), true);
                check(dtype, &[2, n], 1, Some(k), true);
            }
        }
    }

    #[test]
    fn many_rows_are_sorted_in_parallel() {
        check(DType::F32, &[40, 33, 3], 1, None, false);
        check(DType::F64, &[600, 65], 1, Some(7), true);
        check(DType::I32, &[2, 5000], 1, Some(150), true);
        check(DType::BF16, &[5000, 2], 0, Some(20), true);
    }

    #[test]
    fn nan_is_the_largest_and_zeros_are_equal() {
        let x = Sample::of(&[6], &[0.0f32, f32::NAN, -0.0, f32::INFINITY, -f32::NAN, -1.0]);
        let order = |descending| {
            run(DType::F32, &[6], |v, i| sort(x.input(), 0, descending, v, i))
                .1
                .list::<i64>()
        };
        assert_eq!(order(false), [5, 0, 2, 3, 1, 4]);
        assert_eq!(order(true), [1, 4, 3, 0, 2, 5]);
        let x = Sample::of(&[3], &[i64::MIN, i64::MAX, i64::MAX - 1]);
        let (values, _) = run(DType::I64, &[3], |v, i| sort(x.input(), 0, true, v, i));
        assert_eq!(values.list::<i64>(), [i64::MAX, i64::MAX - 1, i64::MIN]);
    }
}
