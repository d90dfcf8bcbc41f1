//! Matrix products: PyTorch's rules for 1-D, 2-D and batched operands, reduced to a list of 2-D products.

use super::{MatmulStep, Place};
use crate::layout::{Layout, Sizes};
use crate::plan::space::broadcast_strides;

/// The step for `a @ b` into a row-major `out`; shapes are checked by the rule.
pub(crate) fn matmul(a: &Place, b: &Place, out: &Place) -> MatmulStep {
    let (ar, br) = (a.layout.rank(), b.layout.rank());
    let size = |l: &Layout, back: usize| l.shape()[l.rank() - back];
    let stride = |l: &Layout, back: usize| l.strides()[l.rank() - back] as isize;
    let k = size(&a.layout, 1);
    let (m, a_row) = if ar >= 2 {
        (size(&a.layout, 2), stride(&a.layout, 2))
    } else {
        (1, 0)
    };
    let a_strides = [a_row, stride(&a.layout, 1)];
    let (n, b_col) = if br >= 2 {
        (size(&b.layout, 1), stride(&b.layout, 1))
    } else {
        (1, 0)
    };
    let b_strides = [stride(&b.layout, if br >= 2 { 2 } else { 1 }), b_col];
    let batch: Sizes = {
        let matrix = usize::from(ar >= 2) + usize::from(br >= 2);
        out.layout.shape()[..out.layout.rank() - matrix].into()
    };
    let of = |l: &Layout| {
        let lead = l.rank().saturating_sub(2);
        let shape: Sizes = l.shape()[..lead].into();
        let strides: Sizes = l.strides()[..lead].into();
        Layout::new(shape, strides, 0).map(|l| broadcast_strides(&l, batch.len()))
    };
    let (sa, sb) = (
        of(&a.layout).unwrap_or_default(),
        of(&b.layout).unwrap_or_default(),
    );
    let mut step = MatmulStep {
        dtype: out.dtype,
        m,
        n,
        k,
        a: a.at(),
        b: b.at(),
        out: out.at(),
        a_strides,
        b_strides,
        out_strides: [n as isize, 1],
        batch: Vec::new(),
    };
    if m == 0 || n == 0 {
        return step;
    }
    // a batch of rows against one matrix is one taller product
    let shared_b = sb.iter().all(|&s| s == 0);
    // strides of axes of size 1 are any number
    let rows_follow = {
        let mut want = (m as isize).wrapping_mul(a_strides[0]);
        batch.iter().zip(&sa).rev().all(|(&n, &s)| {
            let ok = n == 1 || s == want;
            want = want.wrapping_mul(n as isize);
            ok
        })
    };
    let count: usize = batch.iter().product();
    if shared_b && rows_follow && count > 0 {
        step.m = m * count;
        step.batch.push([0, 0, 0]);
        return step;
    }
    let mut index = vec![0usize; batch.len()];
    for i in 0..count {
        let dot = |s: &[isize]| index.iter().zip(s).map(|(&i, &s)| i * s as usize).sum::<usize>();
        step.batch.push([dot(&sa), dot(&sb), i * m * n]);
        for d in (0..batch.len()).rev() {
            index[d] += 1;
            if index[d] < batch[d] {
                break;
            }
            index[d] = 0;
        }
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    fn place(layout: Layout) -> Place {
        Place {
            base: 0,
            layout,
            dtype: DType::F32,
        }
    }

    fn dense(shape: &[usize]) -> Layout {
        Layout::contiguous(shape).unwrap()
    }

    #[test]
    fn batches_beyond_32_bits() {
        let (a, b) = (dense(&[3, 2, 70_000, 70_000]), dense(&[2, 70_000, 80_000]));
        let step = matmul(&place(a), &place(b), &place(dense(&[3, 2, 70_000, 80_000])));
        assert_eq!((step.m, step.n, step.k), (70_000, 80_000, 70_000));
        let [a, b, o] = [4_900_000_000, 5_600_000_000, 5_600_000_000];
        let want: Vec<_> = (0..6).map(|i| [i * a, i % 2 * b, i * o]).collect();
        assert_eq!(step.batch, want);
        // rows of a batch that follow each other are one product, rows amid others are not
        let b = place(dense(&[4, 8]));
        let (all, out) = (
            dense(&[1 << 20, 1 << 16, 4]),
            place(dense(&[1 << 20, 1 << 16, 8])),
        );
        let step = matmul(&place(all), &b, &out);
        assert_eq!((step.m, step.batch), (1 << 36, vec![[0, 0, 0]]));
        let part = dense(&[3, 1 << 32, 4]).narrow(1, 1 << 31, 1 << 30).unwrap();
        let step = matmul(&place(part), &b, &place(dense(&[3, 1 << 30, 8])));
        assert_eq!(step.a.offset, 1 << 35);
        assert_eq!(
            step.batch,
            [[0, 0, 0], [1 << 34, 0, 1 << 33], [2 << 34, 0, 2 << 33]]
        );
    }

    #[test]
    fn products_without_elements_have_no_batch() {
        let (a, b) = (dense(&[1 << 40, 1 << 20, 0, 3]), dense(&[3, 2]));
        let step = matmul(&place(a), &place(b), &place(dense(&[1 << 40, 1 << 20, 0, 2])));
        assert!(step.batch.is_empty());
    }

    #[test]
    fn the_stride_of_one_row_is_any_number() {
        let a = dense(&[4, 1, 3]).slice(1, 0, 1, 1 << 61).unwrap();
        let step = matmul(&place(a), &place(dense(&[3, 2])), &place(dense(&[4, 1, 2])));
        assert_eq!(step.batch, [[0, 0, 0], [3, 0, 2], [6, 0, 4], [9, 0, 6]]);
    }
}
