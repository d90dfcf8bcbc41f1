//! Separable maps of indices: flip, roll, pad, repeat and nearest resampling.
//!
//! Problem: `out[i, j, ..] = x[a(i), b(j), ..]`, or a constant where a map points outside. Method: a table an axis. The
//! axes behind the last table are one block that moves whole; the last table is cut into runs (consecutive sources, or
//! the constant), each moved as one piece, unless runs and block are so short that single elements are faster. Axes
//! before are walked by recursion, the outermost of them in parallel.
//!
//! Invariant: a table has one entry for every index of the output's axis, and points inside the input's axis.

use super::row::{axes, copy, fill, move_ns, split, strides};
use super::{Bits, In, Out, each_row, with_bits};
use crate::element::{Element, with_element};
use std::mem::MaybeUninit;
use tensorplay_graph::Scalar;

/// What an axis of the output reads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Along {
    /// The same index of the input.
    Same,
    /// The index of the input for each of the output; `None` is outside.
    Map(Vec<Option<usize>>),
}

/// What is outside of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pad {
    /// A constant.
    Constant,
    /// The input mirrored at its first and last element, which are not repeated.
    Reflect,
    /// The first or last element.
    Replicate,
}

/// The axis backwards.
pub(crate) fn flip(n: usize) -> Along {
    Along::Map((0..n).rev().map(Some).collect())
}

/// The axis moved forward by `shift`; what leaves the end enters at the start.
pub(crate) fn roll(n: usize, shift: i64) -> Along {
    if n == 0 {
        return Along::Same;
    }
    // 0 <= start < n
    let start = (-i128::from(shift)).rem_euclid(n as i128) as usize;
    Along::Map((start..n).chain(0..start).map(Some).collect())
}

/// The axis with `lo` elements added in front and `hi` behind; negative numbers take away.
pub(crate) fn pad(n: usize, lo: i64, hi: i64, mode: Pad) -> Along {
    let (len, lo, hi) = (n as i128, i128::from(lo), i128::from(hi));
    let source = |j: i128| match mode {
        _ if (0..len).contains(&j) => Some(j as usize),
        Pad::Constant => None,
        Pad::Replicate => (len > 0).then(|| j.clamp(0, len - 1) as usize),
        Pad::Reflect => {
            let j = if j < 0 { -j } else { 2 * (len - 1) - j };
            (0..len).contains(&j).then_some(j as usize)
        }
    };
    Along::Map((-lo..len + hi).map(source).collect())
}

/// The axis resampled to `out` elements: the input at `floor(i * n / out)`.
pub(crate) fn nearest(n: usize, out: usize) -> Along {
    let source = |i| (n > 0).then(|| (i as u128 * n as u128 / out as u128) as usize);
    Along::Map((0..out).map(source).collect())
}

/// The axis `times` over.
pub(crate) fn repeat(n: usize, times: usize) -> Along {
    Along::Map((0..times).flat_map(|_| 0..n).map(Some).collect())
}

/// Writes `x` at the mapped indices, and `fill` where a map is outside.
pub(crate) fn axis_map(x: In, maps: &[Along], fill: Scalar, mut out: Out) {
    let mut constant = 0u64;
    with_element!(x.dtype, T => {
        // SAFETY: an element has 8 bytes at most, and the alignment of its size at most.
        unsafe { (&raw mut constant).cast::<T>().write(T::from_scalar(fill)) }
    });
    let shape = out.shape;
    with_bits!(x.dtype, U => {
        // SAFETY: as above; any bits are a `U`.
        let constant = unsafe { (&raw const constant).cast::<U>().read() };
        moved(x.bits::<U>(), x.shape, maps, constant, out.bits::<U>(), shape);
    });
}

/// A piece of the last table, in elements: where it starts in a line of the input, and its length.
struct Run {
    from: Option<usize>,
    len: usize,
}

/// The last table: pieces, or single elements.
enum Line<'a> {
    Runs(Vec<Run>),
    Elements(&'a [Option<usize>]),
}

impl<'a> Line<'a> {
    fn new(map: &'a [Option<usize>], block: usize) -> Self {
        let mut runs: Vec<Run> = vec![];
        for &from in map {
            let from = from.map(|i| i * block);
            match runs.last_mut() {
                Some(run) if run.from.map(|at| at + run.len) == from => run.len += block,
                _ => runs.push(Run { from, len: block }),
            }
        }
        if block == 1 && map.len() < 4 * runs.len() {
            Line::Elements(map)
        } else {
            Line::Runs(runs)
        }
    }
}

/// The axes up to the last table.
struct Walk<'a, U> {
    x: &'a [U],
    /// The tables of the axes before the last one, sizes and steps in `x`, and how many elements of `out` a step is.
    axes: Vec<(&'a Along, usize, usize, usize)>,
    line: Line<'a>,
    constant: U,
}

fn moved<U: Bits>(
    x: &[U],
    from: &[usize],
    maps: &[Along],
    constant: U,
    out: &mut [MaybeUninit<U>],
    to: &[usize],
) {
    if out.is_empty() {
        return;
    }
    let Some(last) = maps.iter().rposition(|m| *m != Along::Same) else {
        copy(out, x);
        return;
    };
    let Along::Map(map) = &maps[last] else { return };
    let (_, _, block) = split(to, last);
    let (x_steps, out_steps) = (strides(axes(from)), strides(axes(to)));
    let walk = Walk {
        x,
        axes: (0..last)
            .map(|a| (&maps[a], to[a], x_steps[a], out_steps[a]))
            .collect(),
        line: Line::new(map, block),
        constant,
    };
    // as many outer axes as give threads enough rows
    let (mut outer, mut rows) = (0, 1);
    while outer < last && rows < 64 {
        rows *= to[outer];
        outer += 1;
    }
    let len = out.len() / rows;
    let cost = move_ns(out.len(), size_of::<U>()) + (out.len() / block) as u64 / 2;
    each_row(out, len, cost, |row, out| {
        walk.write(outer, walk.base(outer, row), out);
    });
}

impl Along {
    fn source(&self, i: usize) -> Option<usize> {
        match self {
            Along::Same => Some(i),
            Along::Map(map) => map[i],
        }
    }
}

impl<U: Bits> Walk<'_, U> {
    /// Where the outer `axes` axes start in the input at their combination `row`; `None` is outside.
    fn base(&self, axes: usize, row: usize) -> Option<usize> {
        let (mut rest, mut base) = (row, Some(0));
        for &(along, size, step, _) in self.axes[..axes].iter().rev() {
            base = along.source(rest % size).zip(base).map(|(i, at)| at + i * step);
            rest /= size;
        }
        base
    }

    /// Writes what axis `axis` and those behind it read from `base`.
    fn write(&self, axis: usize, base: Option<usize>, out: &mut [MaybeUninit<U>]) {
        let Some(base) = base else {
            fill(out, self.constant);
            return;
        };
        if let Some(&(along, _, step, len)) = self.axes.get(axis) {
            for (i, out) in out.chunks_exact_mut(len).enumerate() {
                self.write(axis + 1, along.source(i).map(|i| base + i * step), out);
            }
            return;
        }
        let x = &self.x[base..];
        match &self.line {
            Line::Elements(map) => {
                for (o, from) in out.iter_mut().zip(*map) {
                    o.write(from.map_or(self.constant, |at| x[at]));
                }
            }
            Line::Runs(runs) => {
                let mut at = 0;
                for run in runs {
                    let out = &mut out[at..at + run.len];
                    match run.from {
                        Some(from) => copy(out, &x[from..from + run.len]),
                        None => fill(out, self.constant),
                    };
                    at += run.len;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{Sample, coordinates, offset, produce};
    use super::*;
    use crate::DType;

    fn table(along: Along) -> Vec<i64> {
        match along {
            Along::Same => vec![],
            Along::Map(m) => m.iter().map(|s| s.map_or(-1, |i| i as i64)).collect(),
        }
    }

    #[test]
    fn bases_beyond_32_bits() {
        let flipped = flip(70_000);
        let walk = Walk::<u8> {
            x: &[],
            axes: vec![
                (&Along::Same, 3, 70_000 * 70_000, 70_000 * 70_000),
                (&flipped, 70_000, 70_000, 70_000),
            ],
            line: Line::Runs(vec![]),
            constant: 0,
        };
        assert_eq!(walk.base(2, 2 * 70_000), Some(3 * 4_900_000_000 - 70_000));
        assert_eq!(walk.base(2, 3 * 70_000 - 1), Some(2 * 4_900_000_000));
        // a line that starts beyond, of elements that are moved as one
        let Along::Map(map) = repeat(3, 2) else { panic!() };
        let Line::Runs(runs) = Line::new(&map, 1 << 33) else {
            panic!()
        };
        let runs: Vec<_> = runs.iter().map(|r| (r.from, r.len)).collect();
        assert_eq!(runs, [(Some(0), 3 << 33), (Some(0), 3 << 33)]);
    }

    #[test]
    fn tables_are_pytorchs() {
        assert_eq!(table(flip(3)), [2, 1, 0]);
        assert_eq!(table(roll(5, 2)), [3, 4, 0, 1, 2]);
        assert_eq!(table(roll(5, -7)), [2, 3, 4, 0, 1]);
        assert_eq!(table(roll(3, i64::MIN)), table(roll(3, -2)));
        assert_eq!(table(roll(3, i64::MAX)), table(roll(3, 1)));
        assert_eq!(table(roll(0, 3)), [0; 0]);
        assert_eq!(table(pad(3, 2, 1, Pad::Constant)), [-1, -1, 0, 1, 2, -1]);
        assert_eq!(table(pad(4, 2, 3, Pad::Reflect)), [2, 1, 0, 1, 2, 3, 2, 1, 0]);
        assert_eq!(table(pad(3, 2, 1, Pad::Replicate)), [0, 0, 0, 1, 2, 2]);
        assert_eq!(table(pad(5, -1, -2, Pad::Constant)), [1, 2]);
        assert_eq!(table(pad(5, -2, 2, Pad::Reflect)), [2, 3, 4, 3, 2]);
        assert_eq!(table(pad(5, -2, 2, Pad::Replicate)), [2, 3, 4, 4, 4]);
        assert_eq!(table(pad(3, -5, 4, Pad::Constant)), [-1, -1]);
        assert_eq!(table(pad(2, -2, -2, Pad::Constant)), [0; 0]);
        assert_eq!(table(pad(0, 1, 1, Pad::Constant)), [-1, -1]);
        assert_eq!(table(nearest(3, 7)), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(table(nearest(7, 3)), [0, 2, 4]);
        assert_eq!(table(nearest(4, 0)), [0; 0]);
        assert_eq!(table(repeat(2, 3)), [0, 1, 0, 1, 0, 1]);
        assert_eq!(table(repeat(2, 0)), [0; 0]);
    }

    fn size(along: &Along, n: usize) -> usize {
        match along {
            Along::Same => n,
            Along::Map(m) => m.len(),
        }
    }

    fn check(dtype: DType, shape: &[usize], maps: &[Along], value: Scalar) {
        let x = Sample::varied(dtype, shape, 3);
        let to: Vec<usize> = maps.iter().zip(shape).map(|(m, &n)| size(m, n)).collect();
        let out = produce(dtype, &to, |out| axis_map(x.input(), maps, value, out));
        let constant = produce(
            dtype,
            &[1],
            |mut out| with_element!(dtype, T => { out.of::<T>()[0].write(T::from_scalar(value)); }),
        );
        let bits = x.bits();
        let expected: Vec<u64> = coordinates(&to)
            .iter()
            .map(|at| {
                let from: Option<Vec<usize>> = at.iter().zip(maps).map(|(&i, m)| m.source(i)).collect();
                from.map_or(constant.bits()[0], |from| bits[offset(shape, &from)])
            })
            .collect();
        assert_eq!(out.bits(), expected, "{dtype} {shape:?} {maps:?}");
    }

    #[test]
    fn maps_of_all_dtypes_move_bits() {
        for dtype in DType::ALL {
            for n in [0, 1, 7, 33, 1025] {
                let value = Scalar::Float(-1.5);
                check(dtype, &[n], &[Along::Same], value);
                check(dtype, &[n], &[flip(n)], value);
                check(dtype, &[3, n], &[Along::Same, roll(n, -5)], value);
                check(
                    dtype,
                    &[n, 3],
                    &[pad(n, 2, -1, Pad::Constant), Along::Same],
                    value,
                );
                check(dtype, &[2, n, 5], &[flip(2), nearest(n, 50), repeat(5, 2)], value);
                check(dtype, &[n, 2], &[flip(n), pad(2, 3, 1, Pad::Constant)], value);
                check(
                    dtype,
                    &[2, 3, n],
                    &[
                        pad(2, 1, 1, Pad::Constant),
                        Along::Same,
                        pad(n, 4, 4, Pad::Replicate),
                    ],
                    Scalar::Int(7),
                );
            }
            check(dtype, &[], &[], Scalar::Bool(true));
        }
    }

    #[test]
    fn large_images_are_padded_in_parallel() {
        let maps = [
            Along::Same,
            Along::Same,
            pad(165, 3, 2, Pad::Reflect),
            pad(70, -1, 9, Pad::Reflect),
        ];
        check(DType::F32, &[3, 5, 165, 70], &maps, Scalar::Int(0));
        check(
            DType::F16,
            &[300, 257],
            &[roll(300, 7), flip(257)],
            Scalar::Int(0),
        );
    }
}
