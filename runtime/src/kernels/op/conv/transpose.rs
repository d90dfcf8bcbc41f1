//! The transpose of a convolution.
//!
//! Problem: every input is spread over the outputs under the taps of its window, which overlap. Method: `gemm` multiplies
//! the transposed weights of some output channels by a block of input rows, and the products are added where their taps
//! point (col2im), to outputs that start from the bias.
//!
//! Invariants: those of [`conv`](super); an item has its output channels to itself and adds blocks and taps in order.

use super::super::float::{Real, Shared, Wide, biases, is_wide, narrow, product};
use super::super::{In, Out};
use super::{BLOCK, Sizes};
use crate::element::Element;
use crate::kernels::arena::Scratch;
use crate::kernels::gemm::Shape;
use crate::kernels::par::parts;
use crate::lane::Store;
use std::ops::Range;

/// Rows of weights (output channels and taps) that are multiplied at a time.
const ROWS: usize = 256;

/// Spreads `x` [N, C, H, W] by `w` [C, O / groups, KH, KW].
pub(super) fn transposed<S: Store<Elem: Real> + Element>(
    x: In,
    w: In,
    bias: Option<In>,
    s: &Sizes,
    mut out: Out,
) {
    let size = size_of::<S::Elem>();
    let (taps, inputs, outputs) = (s.taps(), s.input[0] * s.input[1], s.output[0] * s.output[1]);
    // output channels of an item, and input rows of a block
    let step = (ROWS / taps.max(1)).clamp(1, s.o);
    let blocks = s.o.div_ceil(step);
    let lines = (BLOCK / (step * taps * s.input[1] * size).max(1)).clamp(1, s.input[0].max(1));
    let (x, w) = (Wide::new::<S>(x), Wide::new::<S>(w));
    let (x, w, bias) = (x.data(), w.data(), biases::<S>(bias, s.groups * s.o));
    let out = Shared::<S>::new(out.of::<S>().as_mut_ptr());
    parts(s.cost::<S::Elem>(inputs), s.images * s.groups * blocks, |range| {
        let columns = Scratch::new(step * taps * lines * s.input[1] * size);
        let sums = Scratch::new(if is_wide::<S>() { 0 } else { step * outputs * size });
        let columns = columns.ptr().cast::<S::Elem>();
        for item in range {
            let (map, first) = (item / blocks, item % blocks * step);
            let (group, channels) = (map % s.groups, step.min(s.o - first));
            let (image, to) = (x.at(map * s.c * inputs), out.at((map * s.o + first) * outputs));
            let sums = if is_wide::<S>() {
                to.cast()
            } else {
                sums.ptr().cast::<S::Elem>()
            };
            // SAFETY: the columns have room for the rows of `step` channels and the positions of `lines` rows; the
            // outputs of these channels are this item's, in the tensor or in the scratch.
            unsafe {
                for o in 0..channels {
                    let bias = bias[group * s.o + first + o];
                    (0..outputs).for_each(|i| sums.add(o * outputs + i).write(bias));
                }
                for line in (0..s.input[0]).step_by(lines) {
                    let lines = lines.min(s.input[0] - line);
                    let (n, pitch) = (lines * s.input[1], s.o * taps);
                    let shape = Shape {
                        m: channels * taps,
                        n,
                        k: s.c,
                        a: [1, pitch as isize],
                        b: [inputs as isize, 1],
                        out: [n as isize, 1],
                    };
                    let weights = w.at(group * s.c * pitch + first * taps);
                    product(shape, weights, image.add(line * s.input[1]), columns);
                    for o in 0..channels {
                        scatter(
                            columns.add(o * taps * n),
                            s,
                            line..line + lines,
                            sums.add(o * outputs),
                        );
                    }
                }
                if !is_wide::<S>() {
                    narrow::<S>(sums, S::Elem::default(), to, channels * outputs);
                }
            }
        }
    });
}

/// Adds the products of some input rows to the outputs of a channel.
///
/// # Safety
/// `products` has a row of those inputs for every tap, and `out` is a plane of outputs.
unsafe fn scatter<E: Real>(products: *const E, s: &Sizes, lines: Range<usize>, out: *mut E) {
    let (cols, step) = (s.input[1], s.axes[1].stride);
    for tap in 0..s.taps() {
        let (i, j) = (tap / s.kernel[1], tap % s.kernel[1]);
        let run = s.axes[1].inside(j, 0..cols);
        if run.is_empty() {
            continue;
        }
        for line in s.axes[0].inside(i, lines.clone()) {
            let at = s.axes[0].element(line, i) * s.output[1] + s.axes[1].element(run.start, j);
            let src = (tap * lines.len() + line - lines.start) * cols + run.start;
            // SAFETY: the caller's contract; the taps of the run lie inside.
            unsafe {
                let (src, out) = (products.add(src), out.add(at));
                match step {
                    1 => (0..run.len()).for_each(|l| *out.add(l) += *src.add(l)),
                    _ => (0..run.len()).for_each(|l| *out.add(l * step) += *src.add(l)),
                }
            }
        }
    }
}
