//! Adding rows by index: `index_add`.
//!
//! Problem: rows of a source are added to the rows of a copy that indices name, many perhaps to one row, with one result
//! for any number of threads. Method: all indices are checked first; a counting sort groups the source rows by target
//! and keeps their order; then the targets are dealt out.
//!
//! Invariants: the rows of a target add up in the order of the indices. Sums of half types run in f32 and are rounded
//! once, integers wrap, Bool is "or". Nothing is written where an index is out of range.

use super::index::{checked, out_of_range};
use super::row::{copy, move_ns, split};
use super::scatter::{Sum, sum_into};
use super::{In, Out, each_row};
use crate::Result;
use crate::element::with_element;
use crate::lane::Store;

/// `x` with the rows of `src` along `dim` added to the rows that the indices (at most one dim) name.
pub(crate) fn index_add(x: In, idx: In, src: In, dim: usize, mut out: Out) -> Result<()> {
    let (_, n, inner) = split(x.shape, dim);
    let idx = checked(idx, n, |i| out_of_range("index_add", i, dim, n))?;
    if x.count() == 0 {
        return Ok(());
    }
    // rows of the source in the order of their targets, and where those of each target start
    let mut starts = vec![0; n + 1];
    idx.iter().for_each(|&i| starts[i + 1] += 1);
    (0..n).for_each(|i| starts[i + 1] += starts[i]);
    let (mut next, mut order) = (starts.clone(), vec![0; idx.len()]);
    for (row, &i) in idx.iter().enumerate() {
        order[next[i]] = row;
        next[i] += 1;
    }
    let cost = move_ns(x.count() + src.count(), x.dtype.size()) + src.count() as u64 / 2;
    with_element!(x.dtype, T => {
        let (x, src) = (x.of::<T>(), src.of::<T>());
        each_row(out.of::<T>(), inner, cost, |row, out| {
            let (group, target) = (row / n, row % n);
            let rows = &order[starts[target]..starts[target + 1]];
            let x = &x[row * inner..][..inner];
            if rows.is_empty() {
                copy(out, x);
                return;
            }
            sum_into(out, x, |out| {
                for &k in rows {
                    let src = &src[(group * idx.len() + k) * inner..][..inner];
                    out.iter_mut().zip(src).for_each(|(o, s)| o.add(s.load()));
                }
            });
        });
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::sample::{Sample, coordinates, offset, produce, with};
    use super::super::scatter::tests::{add, assert_same, indices};
    use super::*;
    use crate::{DType, Error};

    fn index_add_of(dtype: DType, shape: &[usize], dim: usize, k: usize) {
        let src_shape = with(shape, dim, k);
        let (x, src) = (
            Sample::varied(dtype, shape, 1),
            Sample::varied(dtype, &src_shape, 2),
        );
        let idx = indices(&[k], shape.get(dim).copied().unwrap_or(1));
        let out = produce(dtype, shape, |out| {
            index_add(x.input(), idx.input(), src.input(), dim, out).unwrap();
        });
        let at = idx.list::<i64>();
        with_element!(dtype, T => {
            let (x, src) = (x.list::<T>(), src.list::<T>());
            let sums: Vec<T> = coordinates(shape)
                .iter()
                .map(|c| {
                    let i = c.get(dim).copied().unwrap_or(0);
                    let others: Vec<T> = (0..k)
                        .filter(|&k| at[k] == i as i64)
                        .map(|k| src[offset(&src_shape, &with(c, dim, k))])
                        .collect();
                    add(x[offset(shape, c)], &others)
                })
                .collect();
            assert_same(&out.list::<T>(), &sums, &format!("{dtype} {shape:?} {dim} {k}"));
        });
    }

    #[test]
    fn rows_are_added_in_order() {
        for dtype in DType::ALL {
            index_add_of(dtype, &[], 0, 1);
            for n in [1, 7, 33, 1025] {
                index_add_of(dtype, &[n], 0, 20);
                index_add_of(dtype, &[n, 3], 0, 33);
                index_add_of(dtype, &[2, n, 3], 1, 7);
                index_add_of(dtype, &[2, n], 1, 0);
            }
            index_add_of(dtype, &[0, 3], 1, 4);
            index_add_of(dtype, &[3, 0], 0, 4);
        }
        index_add_of(DType::F32, &[300, 257], 0, 400);
    }

    #[test]
    fn half_sums_are_rounded_once() {
        // 2048 + 1 is 2048 in f16
        let one = half::f16::from_f32(1.0);
        let x = Sample::of(&[1], &[half::f16::from_f32(2048.0)]);
        let (src, idx) = (Sample::of(&[4], &[one; 4]), Sample::of(&[4], &[0i64; 4]));
        let out = produce(DType::F16, &[1], |out| {
            index_add(x.input(), idx.input(), src.input(), 0, out).unwrap();
        });
        assert_eq!(out.floats(), [2052.0]);
    }

    #[test]
    fn errors_name_the_index_and_nothing_is_written() {
        let x = Sample::varied(DType::F32, &[3, 2], 1);
        let mut out = Sample::poisoned(DType::F32, &[3, 2], 0x77);
        let idx = Sample::of(&[2], &[0i32, -3]);
        let e = index_add(x.input(), idx.input(), x.input(), 0, out.output()).unwrap_err();
        assert!(matches!(e, Error::Index(_)));
        assert!(
            e.to_string()
                .contains("index -3 is out of range for dim 0 of size 3"),
            "{e}"
        );
        assert_eq!(out.bits(), [0x7777_7777; 6]);
    }
}
