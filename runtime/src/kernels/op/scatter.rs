//! Writing elements by index: `scatter` and `scatter_add`.
//!
//! Problem: elements of a source are written, or added, to the places of a copy that indices name, many perhaps to one
//! place, with one result for any number of threads. Method: all indices are checked first; then the groups before the
//! axis, whose targets are disjoint, are dealt out, and each is walked in row-major order.
//!
//! Invariants: where places coincide, row-major order of the indices decides: the last write stays, sums add up in that
//! order. Sums of half types run in f32 and are rounded once, integers wrap, Bool is "or". Nothing is written where an
//! index is out of range.

use super::index::{Walk, checked, out_of_range};
use super::row::{axes, copy, move_ns, split, strides};
use super::{In, Out, each_row, with_bits};
use crate::Result;
use crate::element::{Element, with_element};
use crate::lane::Store;
use std::mem::MaybeUninit;

/// What happens where an element is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    /// It replaces what was there.
    Set,
    /// It is added to what was there.
    Add,
}

/// `x` with the elements of `src` at the coordinates of each index, of which the one of `dim` is the index.
pub(crate) fn scatter(
    op: &'static str,
    x: In,
    idx: In,
    src: In,
    dim: usize,
    combine: Combine,
    mut out: Out,
) -> Result<()> {
    let n = axes(x.shape)[dim];
    let targets = Targets::new(
        checked(idx, n, |i| out_of_range(op, i, dim, n))?,
        axes(idx.shape),
        axes(x.shape),
        axes(src.shape),
        dim,
    );
    let (_, n, inner) = split(x.shape, dim);
    let len = n * inner;
    let cost = move_ns(x.count(), x.dtype.size()) + 2 * targets.idx.len() as u64;
    match combine {
        Combine::Set => with_bits!(x.dtype, U => {
            let (x, src) = (x.bits::<U>(), src.bits::<U>());
            each_row(out.bits::<U>(), len, cost, |group, out| {
                let out = copy(out, &x[group * len..][..len]);
                targets.each(group, |to, from| out[to] = src[from]);
            });
        }),
        Combine::Add => with_element!(x.dtype, T => {
            let (x, src) = (x.of::<T>(), src.of::<T>());
            each_row(out.of::<T>(), len, cost, |group, out| {
                sum_into(out, &x[group * len..][..len], |out| {
                    targets.each(group, |to, from| out[to].add(src[from].load()));
                });
            });
        }),
    }
    Ok(())
}

/// A value that others are added to.
pub(super) trait Sum: Copy {
    fn add(&mut self, other: Self);
}

macro_rules! sum {
    ($($t:ty, $x:ident $y:ident => $sum:expr;)*) => {$(
        impl Sum for $t {
            #[inline(always)]
            fn add(&mut self, $y: $t) { let $x = *self; *self = $sum; }
        }
    )*};
}
sum! {
    f32, x y => x + y;
    f64, x y => x + y;
    i32, x y => x.wrapping_add(y);
    i64, x y => x.wrapping_add(y);
    u8, x y => x.wrapping_add(y);
    bool, x y => x | y;
}

/// Writes `x` after `add` has changed it in its compute type.
pub(super) fn sum_into<T: Element + Store>(
    out: &mut [MaybeUninit<T>],
    x: &[T],
    add: impl FnOnce(&mut [T::Elem]),
) {
    if size_of::<T>() == size_of::<T::Elem>() {
        let out = copy(out, x);
        // SAFETY: a dtype as wide as its compute type is its compute type.
        add(unsafe { &mut *(std::ptr::from_mut(out) as *mut [T::Elem]) });
        return;
    }
    let mut wide: Vec<T::Elem> = x.iter().map(|x| x.load()).collect();
    add(&mut wide);
    for (o, v) in out.iter_mut().zip(wide) {
        o.write(T::store(v));
    }
}

/// The places that indices name, group by group of the axes before `dim`.
struct Targets<'a> {
    idx: Vec<usize>,
    /// Of the axes before `dim`: the size in the tensor and in the index, and the stride in the source.
    outer: Vec<(usize, usize, usize)>,
    to: Walk<'a>,
    from: Walk<'a>,
    /// Rows of the index in a group.
    rows: usize,
}

impl<'a> Targets<'a> {
    fn new(idx: Vec<usize>, shape: &'a [usize], x: &[usize], src: &[usize], dim: usize) -> Self {
        let steps = strides(src);
        let inner = &shape[dim..];
        Targets {
            idx,
            outer: (0..dim).map(|a| (x[a], shape[a], steps[a])).collect(),
            to: Walk::new(inner, &x[dim..], Some(0)),
            from: Walk::new(inner, &src[dim..], None),
            rows: inner[..inner.len() - 1].iter().product(),
        }
    }

    /// Calls `f` with each place in the group and that of its element in the source, in row-major order.
    #[inline(always)]
    fn each(&self, group: usize, mut f: impl FnMut(usize, usize)) {
        let (mut rest, mut first, mut scale, mut base) = (group, 0, self.rows, 0);
        for &(n, shown, stride) in self.outer.iter().rev() {
            let i = rest % n;
            if i >= shown {
                return;
            }
            (rest, first, base) = (rest / n, first + i * scale, base + i * stride);
            scale *= shown;
        }
        let (len, step) = (self.to.len(), self.to.step());
        for row in 0..self.rows {
            let (to, from) = (self.to.start(row), base + self.from.start(row));
            for (j, &i) in self.idx[(first + row) * len..][..len].iter().enumerate() {
                f(to + i * self.to.skipped + j * step, from + j);
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::sample::{Sample, coordinates, offset, produce, with};
    use super::*;
    use crate::DType;

    pub fn indices(shape: &[usize], n: usize) -> Sample {
        let count: usize = shape.iter().product();
        let all: Vec<i64> = (0..count).map(|i| ((i * 5 + i / 3) % n.max(1)) as i64).collect();
        Sample::of(shape, &all)
    }

    /// The sum of `start` and the others in the compute type.
    pub fn add<T: Element + Store>(start: T, others: &[T]) -> T
    where
        T::Elem: Sum,
    {
        let mut sum = start.load();
        others.iter().for_each(|o| sum.add(o.load()));
        T::store(sum)
    }

    pub fn assert_same<T: Element>(got: &[T], expected: &[T], what: &str) {
        assert_eq!(got.len(), expected.len(), "{what}");
        for (g, e) in got.iter().zip(expected) {
            let nan = g.to_f64().is_nan() && e.to_f64().is_nan();
            assert!(
                nan || g.to_f64().to_bits() == e.to_f64().to_bits(),
                "{what}: {g:?} {e:?}"
            );
        }
    }

    /// What reaches every place of `shape`, in order, as numbers of source elements.
    fn arrivals(shape: &[usize], idx: &Sample, src: &[usize], dim: usize) -> Vec<Vec<usize>> {
        let mut all = vec![vec![]; shape.iter().product()];
        for (at, i) in coordinates(&idx.shape).into_iter().zip(idx.list::<i64>()) {
            let to = with(&at, dim, i as usize);
            all[offset(shape, &to)].push(offset(src, &at));
        }
        all
    }

    fn scatter_of(dtype: DType, shape: &[usize], dim: usize, of: &[usize], src_shape: &[usize]) {
        let (x, src) = (
            Sample::varied(dtype, shape, 1),
            Sample::varied(dtype, src_shape, 2),
        );
        let idx = indices(of, shape.get(dim).copied().unwrap_or(1));
        let arrived = arrivals(shape, &idx, src_shape, dim);
        let what = format!("{dtype} {shape:?} {dim} {of:?} {src_shape:?}");
        let run = |combine| {
            produce(dtype, shape, |out| {
                scatter("scatter", x.input(), idx.input(), src.input(), dim, combine, out).unwrap();
            })
        };
        let (x_bits, src_bits) = (x.bits(), src.bits());
        let set: Vec<u64> = arrived
            .iter()
            .zip(&x_bits)
            .map(|(a, &x)| a.last().map_or(x, |&s| src_bits[s]))
            .collect();
        assert_eq!(run(Combine::Set).bits(), set, "{what}");
        with_element!(dtype, T => {
            let (x, src) = (x.list::<T>(), src.list::<T>());
            let pick = |a: &[usize]| a.iter().map(|&s| src[s]).collect::<Vec<T>>();
            let sums: Vec<T> = arrived.iter().zip(x).map(|(a, x)| add(x, &pick(a))).collect();
            assert_same(&run(Combine::Add).list::<T>(), &sums, &what);
        });
    }

    #[test]
    fn places_beyond_32_bits() {
        // into [70000, 70000, 9], from [70000, 80000, 9], of which one element a group is named
        let idx: Vec<usize> = (0..70_000).collect();
        let of = [70_000, 1, 1];
        let targets = Targets::new(idx, &of, &[70_000, 70_000, 9], &[70_000, 80_000, 9], 1);
        let places = |group| {
            let mut all = vec![];
            targets.each(group, |to, from| all.push((to, from)));
            all
        };
        assert_eq!(places(3), [(3 * 9, 3 * 80_000 * 9)]);
        assert_eq!(places(69_999), [(69_999 * 9, 69_999 * 80_000 * 9)]);
        // a group of 2^40 rows of 2^20
        let of = [1, 2];
        let targets = Targets::new(vec![(1 << 40) - 1, 5], &of, &[1 << 40, 1 << 20], &[1, 2], 0);
        let mut all = vec![];
        targets.each(0, |to, from| all.push((to, from)));
        assert_eq!(all, [((1 << 60) - (1 << 20), 0), ((5 << 20) + 1, 1)]);
    }

    #[test]
    fn elements_are_scattered_in_order() {
        for dtype in DType::ALL {
            scatter_of(dtype, &[], 0, &[], &[]);
            for n in [1, 7, 33, 1025] {
                scatter_of(dtype, &[n], 0, &[50], &[51]);
                scatter_of(dtype, &[3, n], 1, &[2, 5], &[2, 7]);
                scatter_of(dtype, &[n, 4], 0, &[9, 3], &[9, 4]);
                scatter_of(dtype, &[3, n, 5], 1, &[2, 4, 5], &[3, 4, 6]);
                scatter_of(dtype, &[2, 3, n], 2, &[1, 3, 20], &[2, 3, 20]);
            }
            scatter_of(dtype, &[3, 3], 1, &[0, 2], &[1, 2]);
            scatter_of(dtype, &[3, 3], 1, &[2, 0], &[2, 2]);
            scatter_of(dtype, &[0, 3], 1, &[0, 3], &[0, 3]);
        }
        scatter_of(DType::F32, &[300, 257], 1, &[290, 200], &[290, 200]);
    }

    #[test]
    fn half_sums_are_rounded_once() {
        // 2048 + 1 is 2048 in f16
        let one = half::f16::from_f32(1.0);
        let x = Sample::of(&[1], &[half::f16::from_f32(2048.0)]);
        let (src, idx) = (Sample::of(&[4], &[one; 4]), Sample::of(&[4], &[0i64; 4]));
        let out = produce(DType::F16, &[1], |out| {
            scatter(
                "scatter_add",
                x.input(),
                idx.input(),
                src.input(),
                0,
                Combine::Add,
                out,
            )
            .unwrap();
        });
        assert_eq!(out.floats(), [2052.0]);
    }

    #[test]
    fn errors_name_the_index_and_nothing_is_written() {
        let x = Sample::varied(DType::F32, &[3, 2], 1);
        let idx = Sample::of(&[2, 1], &[0i64, 5]);
        let mut out = Sample::poisoned(DType::F32, &[3, 2], 0x77);
        let e = scatter(
            "scatter_add",
            x.input(),
            idx.input(),
            x.input(),
            0,
            Combine::Add,
            out.output(),
        )
        .unwrap_err();
        assert_eq!(
            e.to_string(),
            "error[TP0015]: scatter_add: index 5 is out of range for dim 0 of size 3\n  help: indices are 0..=2"
        );
        assert_eq!(out.bits(), [0x7777_7777; 6]);
    }
}
