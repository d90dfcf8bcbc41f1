//! Reading by index: `index_select` (and `embedding`), `gather` and `one_hot`.
//!
//! Problem: an index tensor says which parts of a tensor to read. Method: all indices are checked first; then rows are
//! copied as blocks (`index_select`), or single elements at computed offsets ([`Walk`]), in parallel.
//!
//! Invariants: nothing is written where an index is out of range; negative indices are out of range, as in PyTorch.

use super::row::{axes, copy, fill, move_ns, split, strides};
use super::{Bits, In, Out, each_row, with_bits};
use crate::{Error, Result};
use std::mem::MaybeUninit;
use tensorplay_graph::Code;

/// `x` at the indices along `dim`, which becomes all dims of `idx`. `op` names the operation in errors.
pub(crate) fn index_select(op: &'static str, x: In, idx: In, dim: usize, mut out: Out) -> Result<()> {
    let (_, n, inner) = split(x.shape, dim);
    let idx = checked(idx, n, |i| out_of_range(op, i, dim, n))?;
    with_bits!(x.dtype, U => select(x.bits::<U>(), n, inner, &idx, out.bits::<U>()));
    Ok(())
}

/// `x` at the coordinates of each index, of which the one of `dim` is the index.
pub(crate) fn gather(op: &'static str, x: In, idx: In, dim: usize, mut out: Out) -> Result<()> {
    let n = axes(x.shape)[dim];
    let shape = axes(idx.shape);
    let idx = checked(idx, n, |i| out_of_range(op, i, dim, n))?;
    let walk = Walk::new(shape, axes(x.shape), Some(dim));
    with_bits!(x.dtype, U => gathered(x.bits::<U>(), &walk, &idx, out.bits::<U>()));
    Ok(())
}

/// A last axis of `classes` elements (i64) with 1 at each index.
pub(crate) fn one_hot(idx: In, classes: usize, mut out: Out) -> Result<()> {
    let idx = checked(idx, classes, |i| {
        let message = format!("index {i} is out of range for {classes} classes");
        Error::index(Code::BOUNDS, "one_hot", message)
    })?;
    let out = out.of::<i64>();
    let cost = move_ns(out.len(), 8);
    each_row(out, classes, cost, |row, out| fill(out, 0)[idx[row]] = 1);
    Ok(())
}

/// The error of an index along `dim` of size `n`.
pub(super) fn out_of_range(op: &'static str, index: i64, dim: usize, n: usize) -> Error {
    let message = if op == "embedding" {
        format!("index {index} is out of range for {n} rows")
    } else {
        format!("index {index} is out of range for dim {dim} of size {n}")
    };
    Error::index(Code::BOUNDS, op, message)
}

/// The indices, each below `n`, or an error of the first that is not.
pub(super) fn checked(idx: In, n: usize, error: impl FnOnce(i64) -> Error) -> Result<Vec<usize>> {
    let idx = idx.indices();
    if let Some(&bad) = idx.iter().find(|&&i| !usize::try_from(i).is_ok_and(|i| i < n)) {
        let help = match n {
            0 => "nothing can be indexed: the size is 0".into(),
            _ => format!("indices are 0..={}", n - 1),
        };
        return Err(error(bad).with_help(help));
    }
    Ok(idx.into_iter().map(|i| i as usize).collect())
}

/// Offsets in a row-major tensor at the coordinates of the rows (along the last axis) of another shape.
pub(super) struct Walk<'a> {
    shape: &'a [usize],
    strides: Vec<usize>,
    /// What an index along the skipped axis adds.
    pub skipped: usize,
}

impl<'a> Walk<'a> {
    /// Rows of `shape` in a tensor of shape `of`, without what the coordinate of axis `skip` adds.
    pub(super) fn new(shape: &'a [usize], of: &[usize], skip: Option<usize>) -> Self {
        let mut strides = strides(of);
        let skipped = skip.map_or(0, |dim| std::mem::take(&mut strides[dim]));
        Walk {
            shape,
            strides,
            skipped,
        }
    }

    /// The length of a row.
    pub(super) fn len(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// What a step along a row adds.
    pub(super) fn step(&self) -> usize {
        self.strides.last().copied().unwrap_or(0)
    }

    /// Where row `row` starts.
    pub(super) fn start(&self, row: usize) -> usize {
        let (mut rest, mut at) = (row, 0);
        for (&n, &stride) in self.shape.iter().zip(&self.strides).rev().skip(1) {
            at += rest % n * stride;
            rest /= n;
        }
        at
    }
}

fn select<U: Bits>(x: &[U], n: usize, inner: usize, idx: &[usize], out: &mut [MaybeUninit<U>]) {
    let cost = move_ns(out.len(), size_of::<U>()) + out.len().checked_div(inner).unwrap_or(0) as u64 * 2;
    each_row(out, inner, cost, |row, out| {
        let (outer, k) = if row < idx.len() {
            (0, row)
        } else {
            (row / idx.len(), row % idx.len())
        };
        let at = (outer * n + idx[k]) * inner;
        if let [o] = out {
            o.write(x[at]);
        } else {
            copy(out, &x[at..at + inner]);
        }
    });
}

fn gathered<U: Bits>(x: &[U], walk: &Walk, idx: &[usize], out: &mut [MaybeUninit<U>]) {
    let (len, step) = (walk.len(), walk.step());
    each_row(out, len, 2 * idx.len() as u64, |row, out| {
        let start = walk.start(row);
        for (j, (o, &i)) in out.iter_mut().zip(&idx[row * len..]).enumerate() {
            o.write(x[start + i * walk.skipped + j * step]);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::sample::{Sample, coordinates, offset, produce, with};
    use super::*;
    use crate::DType;

    /// Indices below `n` of an integer dtype.
    fn indices(dtype: DType, shape: &[usize], n: usize) -> Sample {
        let count: usize = shape.iter().product();
        let at = |i: usize| (i * 7 + i / 3) % n.max(1);
        match dtype {
            DType::I64 => Sample::of(shape, &(0..count).map(|i| at(i) as i64).collect::<Vec<_>>()),
            DType::I32 => Sample::of(shape, &(0..count).map(|i| at(i) as i32).collect::<Vec<_>>()),
            _ => Sample::of(shape, &(0..count).map(|i| at(i) as u8).collect::<Vec<_>>()),
        }
    }

    fn select_of(dtype: DType, shape: &[usize], dim: usize, idx: &Sample) {
        let x = Sample::varied(dtype, shape, 7);
        let to = [&shape[..dim], &idx.shape, shape.get(dim + 1..).unwrap_or(&[])].concat();
        let out = produce(dtype, &to, |out| {
            index_select("index_select", x.input(), idx.input(), dim, out).unwrap();
        });
        let (at, bits) = (idx.input().indices(), x.bits());
        let rank = idx.shape.len();
        let expected: Vec<u64> = coordinates(&to)
            .iter()
            .map(|c| {
                let i = at[offset(&idx.shape, &c[dim..dim + rank])] as usize;
                bits[offset(shape, &[&c[..dim], &[i], &c[dim + rank..]].concat())]
            })
            .collect();
        assert_eq!(out.bits(), expected, "{dtype} {shape:?} {dim} {:?}", idx.shape);
    }

    #[test]
    fn offsets_beyond_32_bits() {
        // rows of indices [70000, 70000, 3] into [70000, 70000, 5]
        let walk = Walk::new(&[70_000, 70_000, 3], &[70_000, 70_000, 5], Some(1));
        assert_eq!((walk.len(), walk.step(), walk.skipped), (3, 1, 5));
        assert_eq!(walk.start(70_000 * 70_000 - 1), 69_999 * 70_000 * 5);
        assert_eq!(walk.start(70_000 * 7 + 3), 7 * 70_000 * 5);
        let walk = Walk::new(&[2, 1 << 33], &[2, 1 << 40], Some(0));
        assert_eq!((walk.len(), walk.start(1), walk.skipped), (1 << 33, 0, 1 << 40));
        assert_eq!(
            split(&[1 << 20, 1 << 21, 1 << 20], 1),
            (1 << 20, 1 << 21, 1 << 20)
        );
        assert_eq!(strides(&[3, 1 << 31, 1 << 30]), [1 << 61, 1 << 30, 1]);
        // the last index of an axis of 2^40 elements, and the first behind it
        let last = (1i64 << 40) - 1;
        let at = |i: i64| {
            checked(Sample::of(&[1], &[i]).input(), 1 << 40, |i| {
                out_of_range("gather", i, 0, 1 << 40)
            })
        };
        assert_eq!(at(last).unwrap(), [last as usize]);
        assert!(
            at(last + 1)
                .unwrap_err()
                .to_string()
                .contains("index 1099511627776 is out of range")
        );
    }

    #[test]
    fn rows_are_selected() {
        for dtype in DType::ALL {
            for n in [1, 7, 33, 1025] {
                for of in [DType::I64, DType::I32, DType::U8] {
                    let idx = indices(of, &[9], n.min(256));
                    select_of(dtype, &[n], 0, &idx);
                    select_of(dtype, &[n, 5], 0, &idx);
                    select_of(dtype, &[3, n], 1, &idx);
                    select_of(dtype, &[2, n, 3], 1, &idx);
                }
            }
            select_of(dtype, &[20, 33], 0, &indices(DType::I64, &[2, 5], 20));
            select_of(dtype, &[20, 33], 0, &indices(DType::I64, &[], 20));
            select_of(dtype, &[4, 0], 0, &indices(DType::I64, &[3], 4));
            select_of(dtype, &[0, 4], 0, &indices(DType::I64, &[0], 0));
        }
        select_of(DType::F32, &[1000, 257], 0, &indices(DType::I64, &[4, 150], 1000));
        select_of(DType::BF16, &[], 0, &indices(DType::I64, &[], 1));
    }

    fn gather_of(dtype: DType, shape: &[usize], dim: usize, to: &[usize]) {
        let x = Sample::varied(dtype, shape, 9);
        let idx = indices(DType::I64, to, shape.get(dim).copied().unwrap_or(1));
        let out = produce(dtype, to, |out| {
            gather("gather", x.input(), idx.input(), dim, out).unwrap()
        });
        let (at, bits) = (idx.list::<i64>(), x.bits());
        let expected: Vec<u64> = coordinates(to)
            .into_iter()
            .zip(at)
            .map(|(c, i)| bits[offset(shape, &with(&c, dim, i as usize))])
            .collect();
        assert_eq!(out.bits(), expected, "{dtype} {shape:?} {dim} {to:?}");
    }

    #[test]
    fn elements_are_gathered() {
        for dtype in DType::ALL {
            for n in [1, 7, 33, 1025] {
                gather_of(dtype, &[n], 0, &[12]);
                gather_of(dtype, &[3, n], 1, &[2, 5]);
                gather_of(dtype, &[n, 4], 0, &[7, 3]);
                gather_of(dtype, &[3, n, 5], 1, &[2, 4, 5]);
                gather_of(dtype, &[3, n, 5], 0, &[6, n, 4]);
            }
            gather_of(dtype, &[], 0, &[]);
            gather_of(dtype, &[3, 3], 1, &[0, 2]);
            gather_of(dtype, &[3, 3], 1, &[2, 0]);
        }
        gather_of(DType::F32, &[300, 257], 1, &[300, 200]);
    }

    #[test]
    fn one_class_is_hot() {
        for of in [DType::I64, DType::I32, DType::U8] {
            let idx = indices(of, &[3, 7], 5);
            let out = produce(DType::I64, &[3, 7, 5], |out| {
                one_hot(idx.input(), 5, out).unwrap()
            });
            let at = idx.input().indices();
            let expected: Vec<i64> = (0..105).map(|o| i64::from(at[o / 5] == o as i64 % 5)).collect();
            assert_eq!(out.list::<i64>(), expected);
        }
        let idx = Sample::of::<i64>(&[0], &[]);
        let out = produce(DType::I64, &[0, 0], |out| one_hot(idx.input(), 0, out).unwrap());
        assert!(out.list::<i64>().is_empty());
    }

    #[test]
    fn errors_name_the_index_and_nothing_is_written() {
        let x = Sample::varied(DType::F32, &[20, 3], 1);
        let mut out = Sample::poisoned(DType::F32, &[2, 3], 0x77);
        let idx = Sample::of(&[2], &[1i64, 23]);
        let e = index_select("embedding", x.input(), idx.input(), 0, out.output()).unwrap_err();
        assert_eq!(
            e.to_string(),
            "error[TP0015]: embedding: index 23 is out of range for 20 rows\n  help: indices are 0..=19"
        );
        assert!(matches!(e, Error::Index(_)));
        let idx = Sample::of(&[2, 3], &[0i64, 1, 2, 0, -1, 2]);
        let e = gather("gather", x.input(), idx.input(), 1, out.output()).unwrap_err();
        assert_eq!(
            e.to_string(),
            "error[TP0015]: gather: index -1 is out of range for dim 1 of size 3\n  help: indices are 0..=2"
        );
        assert_eq!(out.bits(), [0x7777_7777; 6]);
        let mut hot = Sample::poisoned(DType::I64, &[2, 3, 2], 0x77);
        let e = one_hot(idx.input(), 2, hot.output()).unwrap_err();
        assert!(
            e.to_string().contains("index 2 is out of range for 2 classes"),
            "{e}"
        );
        let none = Sample::varied(DType::F32, &[0, 3], 1);
        let idx = Sample::of(&[1], &[0i64]);
        let mut out = Sample::poisoned(DType::F32, &[1, 3], 0x77);
        let e = index_select("index_select", none.input(), idx.input(), 0, out.output()).unwrap_err();
        assert!(e.to_string().contains("dim 0 of size 0"), "{e}");
    }
}
