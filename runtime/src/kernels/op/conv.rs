//! Convolution and its transpose.
//!
//! Problem: NCHW images of four float dtypes, with strides, padding, dilation and groups, at the speed of matrix products.
//! Method: the inputs under the taps of a block of output positions become the columns of a matrix that fits the cache
//! (im2col), which `gemm` multiplies by the weights; with 1x1 kernels the image is that matrix already. Groups of one
//! input channel (depthwise) add weighted rows instead. The transpose is in [`transpose`]. Half types are widened on the
//! way, accumulate in f32 with the bias and are rounded once.
//!
//! Invariants: blocks depend on the shapes only, and one item adds up an output, in one order, so results do not
//! depend on the thread count.

mod transpose;

use super::float::{Real, Shared, Wide, biases, is_wide, narrow, product, with_float};
use super::window::{Axis, CHUNK, Sums, sweep};
use super::{In, Out, each_row};
use crate::element::Element;
use crate::kernels::arena::Scratch;
use crate::kernels::gemm::Shape;
use crate::kernels::par::parts;
use crate::lane::Store;

/// Bytes of a block of columns.
const BLOCK: usize = 512 << 10;
/// Output channels of a group up to which one input channel is convolved row by row.
const DIRECT: usize = 8;
/// Items that a convolution is cut into, so that threads have something to share.
const ITEMS: usize = 16;

/// How the windows of a convolution lie, by dimension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conv2d {
    pub stride: [usize; 2],
    pub padding: [usize; 2],
    pub dilation: [usize; 2],
    pub groups: usize,
}

impl Conv2d {
    fn axes(&self, size: [usize; 2]) -> [Axis; 2] {
        [0, 1].map(|d| Axis {
            size: size[d],
            stride: self.stride[d],
            padding: self.padding[d],
            dilation: self.dilation[d],
        })
    }
}

/// Sizes of a convolution; channels are those of a group.
struct Sizes {
    images: usize,
    groups: usize,
    /// Input channels.
    c: usize,
    /// Output channels.
    o: usize,
    input: [usize; 2],
    kernel: [usize; 2],
    output: [usize; 2],
    axes: [Axis; 2],
}

impl Sizes {
    fn taps(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    /// Estimated nanoseconds on one thread when every output (or input) position costs `c * o` products a tap.
    fn cost<E>(&self, positions: usize) -> u64 {
        let work = [self.images, self.groups, self.c, self.o, self.taps(), positions];
        let flops = work.iter().fold(1u64, |a, &b| a.saturating_mul(b as u64));
        let moved = flops / (self.o.max(1) as u64);
        flops / (160 / size_of::<E>() as u64) + moved / 4
    }
}

/// Convolves `x` [N, C, H, W] with `w` [O, C / groups, KH, KW] and adds `bias` [O], into [N, O, OH, OW]. Floats.
pub(crate) fn conv2d(x: In, w: In, bias: Option<In>, o: &Conv2d, out: Out) {
    if out.count() == 0 {
        return;
    }
    let input = [x.shape[2], x.shape[3]];
    let s = Sizes {
        images: x.shape[0],
        groups: o.groups,
        c: w.shape[1],
        o: w.shape[0] / o.groups,
        input,
        kernel: [w.shape[2], w.shape[3]],
        output: [out.shape[2], out.shape[3]],
        axes: o.axes(input),
    };
    with_float!(x.dtype, S => if s.c == 1 && s.o <= DIRECT {
        depthwise::<S>(x, w, bias, &s, out)
    } else {
        by_columns::<S>(x, w, bias, &s, out)
    })
}

/// The transpose of a convolution: `x` [N, C, H, W] and `w` [C, O / groups, KH, KW], with `bias` [O], into
/// [N, O, OH, OW], whose sizes include the output padding. Floats.
pub(crate) fn conv_transpose2d(x: In, w: In, bias: Option<In>, o: &Conv2d, out: Out) {
    if out.count() == 0 {
        return;
    }
    let output = [out.shape[2], out.shape[3]];
    let s = Sizes {
        images: x.shape[0],
        groups: o.groups,
        c: w.shape[0] / o.groups,
        o: w.shape[1],
        input: [x.shape[2], x.shape[3]],
        kernel: [w.shape[2], w.shape[3]],
        output,
        axes: o.axes(output),
    };
    with_float!(x.dtype, S => transpose::transposed::<S>(x, w, bias, &s, out))
}

/// One input channel a group: adds rows, times a weight, tap by tap.
fn depthwise<S: Sums + Element>(x: In, w: In, bias: Option<In>, s: &Sizes, mut out: Out) {
    let (channels, [rows, cols]) = (s.groups * s.o, s.output);
    // halves are widened tap by tap: a wide copy of the image would cost more
    let (x, w) = (Shared::<S>::new(x.of::<S>().as_ptr()), w.of::<S>());
    let (bias, add) = (biases::<S>(bias, channels), S::multiply_add());
    let cost = 4 * s.cost::<S::Elem>(rows * cols);
    each_row(out.of::<S>(), cols, cost, |row, to| {
        let (image, channel, row) = (row / rows / channels, row / rows % channels, row % rows);
        let plane = x.at((image * s.groups + channel / s.o) * s.input[0] * s.input[1]);
        let weights = &w[channel * s.taps()..];
        for (i, to) in to.chunks_mut(CHUNK).enumerate() {
            let mut acc = [bias[channel]; CHUNK];
            let from = i * CHUNK;
            sweep(
                &s.axes,
                s.kernel,
                row,
                from..from + to.len(),
                |[tap_row, tap], run, at| {
                    // SAFETY: the run lies in the chunk, and the elements under it in the plane.
                    unsafe {
                        let weight = weights[tap_row * s.kernel[1] + tap].to_f64();
                        let acc = acc.as_mut_ptr().add(run.start).cast();
                        add(acc, plane.add(at).cast(), s.axes[1].stride, run.len(), weight);
                    }
                },
            );
            for (to, a) in to.iter_mut().zip(acc) {
                to.write(S::store(a));
            }
        }
    });
}

/// Output positions of a block, from the shapes alone.
fn width(k: usize, positions: usize, images: usize, size: usize) -> usize {
    let cached = (BLOCK / (k * size).max(1)).max(128);
    let shared = (positions * images).div_ceil(ITEMS).max(64);
    let blocks = positions.div_ceil(cached.min(shared));
    positions.div_ceil(blocks).next_multiple_of(16)
}

fn by_columns<S: Store<Elem: Real> + Element>(x: In, w: In, bias: Option<In>, s: &Sizes, mut out: Out) {
    let size = size_of::<S::Elem>();
    let (k, positions) = (s.c * s.taps(), s.output[0] * s.output[1]);
    let one = |a: &Axis| a.stride == 1 && a.padding == 0;
    let in_place = is_wide::<S>() && s.taps() == 1 && s.axes.iter().all(one);
    let width = width(k, positions, s.images * s.groups, size);
    let blocks = positions.div_ceil(width);
    let with_bias = bias.is_some();
    let (w, bias) = (Wide::new::<S>(w), biases::<S>(bias, s.groups * s.o));
    let (x, w) = (Shared::<S>::new(x.of::<S>().as_ptr()), w.data());
    let out = Shared::<S>::new(out.of::<S>().as_mut_ptr());
    parts(
        s.cost::<S::Elem>(positions),
        s.images * s.groups * blocks,
        |range| {
            let columns = Scratch::new(if in_place { 0 } else { k * width * size });
            let sums = Scratch::new(if is_wide::<S>() { 0 } else { s.o * width * size });
            for item in range {
                let (map, from) = (item / blocks, item % blocks * width);
                let (group, len) = (map % s.groups, width.min(positions - from));
                let image = x.at(map * s.c * s.input[0] * s.input[1]);
                let to = out.at(map * s.o * positions + from);
                // SAFETY: the columns have room for `k` rows of the block; in place, the image has as many elements as
                // output positions. Outputs of the block are this item's, in the tensor or in the scratch.
                unsafe {
                    let (b, pitch) = if in_place {
                        (image.add(from).cast(), positions)
                    } else {
                        let columns = columns.ptr().cast();
                        gather(image, s, from, len, columns);
                        (columns, len)
                    };
                    let (sums, sums_pitch) = if is_wide::<S>() {
                        (to.cast(), positions)
                    } else {
                        (sums.ptr().cast::<S::Elem>(), len)
                    };
                    let shape = Shape {
                        m: s.o,
                        n: len,
                        k,
                        a: [k as isize, 1],
                        b: [pitch as isize, 1],
                        out: [sums_pitch as isize, 1],
                    };
                    product(shape, w.at(group * s.o * k), b, sums);
                    if with_bias || !is_wide::<S>() {
                        for o in 0..s.o {
                            let bias = bias[group * s.o + o];
                            narrow::<S>(sums.add(o * sums_pitch), bias, to.add(o * positions), len);
                        }
                    }
                }
            }
        },
    );
}

/// Writes the inputs under the taps of `len` output positions: a row a channel and tap, zero where it is padding.
///
/// # Safety
/// `image` has the channels of a group, and `to` room for the rows.
unsafe fn gather<S: Store<Elem: Real>>(
    image: *const S,
    s: &Sizes,
    from: usize,
    len: usize,
    to: *mut S::Elem,
) {
    let zero = S::Elem::default();
    let (cols, step) = (s.output[1], s.axes[1].stride);
    for row in 0..s.c * s.taps() {
        let (c, i, j) = (row / s.taps(), row % s.taps() / s.kernel[1], row % s.kernel[1]);
        // SAFETY: the caller's contract: the channel and the row exist.
        let (plane, to) = unsafe {
            let to = std::slice::from_raw_parts_mut(to.add(row * len), len);
            (image.add(c * s.input[0] * s.input[1]), to)
        };
        let (mut y, mut x, mut at) = (from / cols, from % cols, 0);
        while at < len {
            let n = (cols - x).min(len - at);
            let to = &mut to[at..at + n];
            let inside = match s.axes[0].inside(i, y..y + 1).is_empty() {
                true => x..x,
                false => s.axes[1].inside(j, x..x + n),
            };
            to[..inside.start - x].fill(zero);
            to[inside.end - x..].fill(zero);
            if !inside.is_empty() {
                let src = s.axes[0].element(y, i) * s.input[1] + s.axes[1].element(inside.start, j);
                let to = &mut to[inside.start - x..inside.end - x];
                // SAFETY: these taps lie inside the plane.
                unsafe {
                    let src = plane.add(src);
                    match step {
                        1 => (to.iter_mut().enumerate()).for_each(|(l, t)| *t = (*src.add(l)).load()),
                        _ => (to.iter_mut().enumerate()).for_each(|(l, t)| *t = (*src.add(l * step)).load()),
                    }
                }
            }
            (y, x, at) = (y + 1, 0, at + n);
        }
    }
}

#[cfg(test)]
mod tests;
