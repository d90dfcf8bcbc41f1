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
    // a batch of rows against one matrix is one taller product
    let shared_b = sb.iter().all(|&s| s == 0);
    let rows_follow = {
        let mut want = m as isize * a_strides[0];
        batch.iter().zip(&sa).rev().all(|(&n, &s)| {
            let ok = n == 1 || s == want;
            want *= n as isize;
            ok
        })
    };
    let count: usize = batch.iter().product();
    if shared_b && rows_follow && m > 0 && count > 0 {
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
