//! Pooling: the maximum or the mean of windows.
//!
//! Problem: windows overlap the border, and stepping through each window by itself does not vectorise. Method: the rows of
//! outputs are shared out; a row starts from the neutral element and takes up the inputs under one tap after the other, a
//! run of outputs at a time ([`window`](super::window)). Adaptive windows have sizes of their own, so their rows are
//! summed one by one, over whole planes at once where a window spans them.
//!
//! Invariants: padding never wins a maximum, and counts in the divisor of a mean; NaN wins, and the first of ties does.
//! Half types are summed in f32 and rounded once.

use super::float::with_float;
use super::window::{Axis, CHUNK, Maximum, Order, Sums, sweep};
use super::{In, Out, each_row};
use crate::DType;
use crate::element::Element;
use crate::lane::Store;
use half::{bf16, f16};

/// How the windows of a pool lie, by dimension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool {
    pub kernel: [usize; 2],
    pub stride: [usize; 2],
    pub padding: [usize; 2],
}

/// The sizes of the last two dimensions.
fn plane(shape: &[usize]) -> [usize; 2] {
    [shape[shape.len() - 2], shape[shape.len() - 1]]
}

/// Folds windows of `x` [.., H, W] from `start`: `fold` takes up a run of inputs, `finish` makes the output.
fn windows<S: Store + Element>(
    x: In,
    o: &Pool,
    mut out: Out,
    start: S::Elem,
    fold: impl Fn(*mut u8, *const u8, usize, usize) + Sync,
    finish: impl Fn(S::Elem) -> S::Elem + Sync,
) where
    S::Elem: Sync,
{
    let ([h, w], [rows, cols]) = (plane(x.shape), plane(out.shape));
    let axes = [h, w];
    let axes = [0, 1].map(|d| Axis {
        size: axes[d],
        stride: o.stride[d],
        padding: o.padding[d],
        dilation: 1,
    });
    let work = [out.count(), o.kernel[0].min(h), o.kernel[1].min(w)];
    let cost = work.iter().fold(1u64, |a, &b| a.saturating_mul(b as u64)) / 4;
    let x = x.of::<S>();
    each_row(out.of::<S>(), cols, cost, |row, to| {
        let plane = &x[row / rows * h * w..][..h * w];
        for (i, to) in to.chunks_mut(CHUNK).enumerate() {
            let mut acc = [start; CHUNK];
            let from = i * CHUNK;
            sweep(
                &axes,
                o.kernel,
                row % rows,
                from..from + to.len(),
                |_, run, at| {
                    debug_assert!(at + (run.len() - 1) * o.stride[1] < plane.len());
                    let (acc, src) = (acc[run.clone()].as_mut_ptr(), plane[at..].as_ptr());
                    fold(acc.cast(), src.cast(), o.stride[1], run.len());
                },
            );
            for (to, a) in to.iter_mut().zip(acc) {
                to.write(S::store(finish(a)));
            }
        }
    });
}

/// The largest element of every window of `x` [.., H, W]. Any dtype but Bool.
pub(crate) fn max_pool2d(x: In, o: &Pool, out: Out) {
    fn typed<S: Maximum<Elem: Sync> + Element>(x: In, o: &Pool, out: Out) {
        let maximum = S::maximum();
        // SAFETY: `windows` passes runs of accumulators and of inputs.
        let fold = |acc, src, step, n| unsafe { maximum(acc, src, step, n) };
        windows::<S>(x, o, out, S::Elem::LOWEST, fold, |a| a);
    }
    match x.dtype {
        DType::F32 => typed::<f32>(x, o, out),
        DType::F64 => typed::<f64>(x, o, out),
        DType::F16 => typed::<f16>(x, o, out),
        DType::BF16 => typed::<bf16>(x, o, out),
        DType::I32 => typed::<i32>(x, o, out),
        DType::I64 => typed::<i64>(x, o, out),
        DType::U8 => typed::<u8>(x, o, out),
        DType::Bool => panic!("max_pool2d of bool"),
    }
}

/// The mean of every window of `x` [.., H, W], with the padding as zeros. Floats.
pub(crate) fn avg_pool2d(x: In, o: &Pool, out: Out) {
    fn typed<S: Sums + Element>(x: In, o: &Pool, out: Out) {
        let add = S::multiply_add();
        let size = S::Elem::from_f64(o.kernel[0] as f64 * o.kernel[1] as f64);
        // SAFETY: `windows` passes runs of accumulators and of inputs.
        let fold = |acc, src, step, n| unsafe { add(acc, src, step, n, 1.0) };
        windows::<S>(x, o, out, S::Elem::default(), fold, |sum| sum / size);
    }
    with_float!(x.dtype, S => typed::<S>(x, o, out))
}

/// Window `i` of `outputs` that cover `inputs`.
fn adaptive(i: usize, inputs: usize, outputs: usize) -> std::ops::Range<usize> {
    let at = |i: usize| i as u128 * inputs as u128;
    let outputs = outputs as u128;
    (at(i) / outputs) as usize..at(i + 1).div_ceil(outputs) as usize
}

/// The means of [.., OH, OW] windows that cover `x` [.., H, W]. Floats.
pub(crate) fn adaptive_avg_pool2d(x: In, out: Out) {
    fn typed<S: Sums + Element>(x: In, mut out: Out) {
        let ([h, w], [rows, cols]) = (plane(x.shape), plane(out.shape));
        let cost = (x.count() / 4).max(out.count()) as u64;
        let x = x.of::<S>();
        let sum = S::sum();
        each_row(out.of::<S>(), cols, cost, |row, to| {
            let plane = &x[row / rows * h * w..][..h * w];
            let ys = adaptive(row % rows, h, rows);
            for (i, to) in to.iter_mut().enumerate() {
                let xs = adaptive(i, w, cols);
                let total: f64 = if xs.len() == w {
                    let run = &plane[ys.start * w..ys.end * w];
                    // SAFETY: the run has as many elements.
                    unsafe { sum(run.as_ptr().cast(), run.len()) }
                } else {
                    let run = |y: usize| &plane[y * w + xs.start..y * w + xs.end];
                    // SAFETY: as above.
                    ys.clone()
                        .map(|y| unsafe { sum(run(y).as_ptr().cast(), xs.len()) })
                        .sum()
                };
                let mean = total / (ys.len() * xs.len()) as f64;
                to.write(S::store(<S::Elem as Element>::from_f64(mean)));
            }
        });
    }
    with_float!(x.dtype, S => typed::<S>(x, out))
}

#[cfg(test)]
mod tests;
