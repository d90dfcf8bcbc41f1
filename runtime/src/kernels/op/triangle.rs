//! Lower and upper triangles of matrices.
//!
//! Problem: `tril` and `triu` keep one side of a diagonal of the last two axes. Method: of every row one end is copied
//! and the other is zeroed. Invariant: any `k` is allowed, however far outside of the matrix.

use super::row::{copy, fill, move_ns};
use super::{Bits, In, Out, each_row, with_bits};
use std::mem::MaybeUninit;

/// Keeps the elements at and below diagonal `k`, `j - i <= k`.
pub(crate) fn tril(x: In, k: i64, out: Out) {
    triangle(x, k, out, true);
}

/// Keeps the elements at and above diagonal `k`, `j - i >= k`.
pub(crate) fn triu(x: In, k: i64, out: Out) {
    triangle(x, k, out, false);
}

fn triangle(x: In, k: i64, mut out: Out, lower: bool) {
    let (rows, columns) = match *x.shape {
        [.., m, n] => (m, n),
        [n] => (1, n),
        [] => (1, 1),
    };
    with_bits!(x.dtype, U => kept(x.bits::<U>(), rows, columns, k, lower, out.bits::<U>()));
}

fn kept<U: Bits>(x: &[U], rows: usize, columns: usize, k: i64, lower: bool, out: &mut [MaybeUninit<U>]) {
    let cost = move_ns(out.len(), size_of::<U>());
    each_row(out, columns, cost, |row, out| {
        let x = &x[row * columns..][..columns];
        // the first column of the upper part
        let first = k
            .saturating_add((row % rows) as i64)
            .saturating_add(i64::from(lower));
        let border = first.clamp(0, columns as i64) as usize;
        let (left, right) = out.split_at_mut(border);
        if lower {
            copy(left, &x[..border]);
            fill(right, U::default());
        } else {
            fill(left, U::default());
            copy(right, &x[border..]);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::sample::{Sample, coordinates, produce};
    use super::*;
    use crate::DType;

    #[test]
    fn triangles_keep_one_side_of_a_diagonal() {
        for dtype in DType::ALL {
            for shape in [
                &[0, 3][..],
                &[3, 0],
                &[1, 1],
                &[7, 7],
                &[2, 3, 33, 7],
                &[2, 7, 33],
                &[3, 65, 1025],
            ] {
                let x = Sample::varied(dtype, shape, 5);
                let at = coordinates(shape);
                for k in [0, 1, -1, 5, -6, 40, -40, i64::MAX, i64::MIN] {
                    for lower in [true, false] {
                        let f = if lower { tril } else { triu };
                        let out = produce(dtype, shape, |out| f(x.input(), k, out));
                        let expected: Vec<u64> = at
                            .iter()
                            .zip(x.bits())
                            .map(|(at, bits)| {
                                let [.., i, j] = at[..] else { panic!() };
                                let d = j as i64 - i as i64;
                                if (lower && d <= k) || (!lower && d >= k) {
                                    bits
                                } else {
                                    0
                                }
                            })
                            .collect();
                        assert_eq!(out.bits(), expected, "{dtype} {shape:?} {k} {lower}");
                    }
                }
            }
        }
    }
}
