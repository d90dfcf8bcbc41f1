//! Windows over trailing axes: convolutions and pooling, one output after the other.

use super::cell::{Cell, lift};
use super::contract::dot;
use super::{Array, Eval, Stop, floats, opt_val, reduce, refuse, sizes, val};
use crate::case::{A, count, strides};
use tensorplay_graph::{DType, Host, Op};

/// A setting with one number an axis.
type Pair = [usize; 2];

/// How windows lie.
struct Lay {
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    extra: Pair,
    groups: usize,
}

/// The number at `i` of an options list.
fn setting(l: &[Option<Host>], i: usize, lowest: i64) -> Eval<usize> {
    match l.get(i).copied().flatten().and_then(Host::as_int) {
        Some(n) if n >= lowest => Ok(n as usize),
        _ => refuse("setting"),
    }
}

fn pair(l: &[Option<Host>], i: usize, lowest: i64) -> Eval<Pair> {
    Ok([setting(l, i, lowest)?, setting(l, i + 1, lowest)?])
}

fn list(a: &A) -> Eval<&[Option<Host>]> {
    match a {
        A::O(l) => Ok(l),
        _ => refuse("not options"),
    }
}

/// How many windows lie on an axis.
fn windows(n: usize, kernel: usize, stride: usize, padding: usize, dilation: usize) -> Eval<usize> {
    if kernel == 0 {
        return Err(Stop::Unknown);
    }
    let reach = (kernel - 1) * dilation + 1;
    match (n + 2 * padding).checked_sub(reach) {
        Some(rest) => Ok(rest / stride + 1),
        None => refuse("window does not fit"),
    }
}

/// The element that a tap of a window sees; `None` in the padding.
fn under(at: usize, tap: usize, o: &Lay, axis: usize, n: usize) -> Option<usize> {
    (at * o.stride[axis] + tap * o.dilation[axis])
        .checked_sub(o.padding[axis])
        .filter(|&i| i < n)
}

/// With another axis of size 1 before the last.
fn widened(x: &Array) -> Array {
    let mut y = x.clone();
    y.shape.insert(x.shape.len() - 1, 1);
    y
}

fn narrowed(mut x: Array) -> Array {
    x.shape.remove(x.shape.len() - 2);
    x
}

/// `conv1d`, `conv2d` and `conv_transpose2d`.
pub fn convolution(op: Op, args: &[A], v: &[Array]) -> Eval {
    let (x, w, bias) = (val(&args[0], v)?, val(&args[1], v)?, opt_val(&args[2], v)?);
    let l = list(&args[3])?;
    let rank = if op == Op::Conv1d { 3 } else { 4 };
    let lay = match op {
        Op::Conv1d => Lay {
            stride: [1, setting(l, 0, 1)?],
            padding: [0, setting(l, 1, 0)?],
            dilation: [1, setting(l, 2, 1)?],
            extra: [0; 2],
            groups: setting(l, 3, 1)?,
        },
        Op::Conv2d => Lay {
            stride: pair(l, 0, 1)?,
            padding: pair(l, 2, 0)?,
            dilation: pair(l, 4, 1)?,
            extra: [0; 2],
            groups: setting(l, 6, 1)?,
        },
        _ => Lay {
            stride: pair(l, 0, 1)?,
            padding: pair(l, 2, 0)?,
            extra: pair(l, 4, 0)?,
            dilation: pair(l, 6, 1)?,
            groups: setting(l, 8, 1)?,
        },
    };
    if x.shape.len() != rank || w.shape.len() != rank {
        return refuse("rank");
    }
    floats(&[Some(x), Some(w), bias])?;
    let g = lay.groups;
    let transposed = op == Op::ConvTranspose2d;
    let (takes, gives) = match transposed {
        true => (w.shape[0], w.shape[1] * g),
        false => (w.shape[1] * g, w.shape[0]),
    };
    if x.shape[1] != takes || !w.shape[0].is_multiple_of(g) || bias.is_some_and(|b| b.shape != [gives]) {
        return refuse("channels");
    }
    if transposed {
        return spread(x, w, bias, &lay, gives);
    }
    match rank {
        3 => gathered(&widened(x), &widened(w), bias, &lay).map(narrowed),
        _ => gathered(x, w, bias, &lay),
    }
}

fn total(d: DType, mut terms: Vec<(Cell, Cell)>, bias: Option<&Array>, channel: usize) -> Cell {
    terms.extend(bias.map(|b| (b.cells[channel], Cell::float(1.0))));
    dot(d, terms.into_iter())
}

fn gathered(x: &Array, w: &Array, bias: Option<&Array>, o: &Lay) -> Eval {
    let (xs, ws) = (strides(&x.shape), strides(&w.shape));
    let (h, width) = (x.shape[2], x.shape[3]);
    let along = |a: usize| {
        let (n, kernel) = (x.shape[2 + a], w.shape[2 + a]);
        windows(n, kernel, o.stride[a], o.padding[a], o.dilation[a])
    };
    let size = [along(0)?, along(1)?];
    let shape = vec![x.shape[0], w.shape[0], size[0], size[1]];
    let per_group = (w.shape[0] / o.groups).max(1);
    let mut cells = Vec::with_capacity(count(&shape));
    crate::case::each(&shape, |at| {
        let &[n, out, y, z] = at else { return };
        let mut terms = Vec::new();
        // a tap in the padding may be skipped, or multiply a zero: what differs then is not defined
        let mut unclear = false;
        for c in 0..w.shape[1] {
            let from = n * xs[0] + (out / per_group * w.shape[1] + c) * xs[1];
            for i in 0..w.shape[2] {
                for j in 0..w.shape[3] {
                    let weight = w.cells[out * ws[0] + c * ws[1] + i * ws[2] + j];
                    match (under(y, i, o, 0, h), under(z, j, o, 1, width)) {
                        (Some(p), Some(q)) => terms.push((x.cells[from + p * xs[2] + q], weight)),
                        _ => unclear |= weight.poisoned() || !weight.v.is_finite(),
                    }
                }
            }
        }
        cells.push(if unclear {
            Cell::any()
        } else {
            total(x.dtype, terms, bias, out)
        });
    });
    Ok(Array::of(x.dtype, shape, cells))
}

/// The transpose: output element y gets what windows at `y = i * stride + tap * dilation - padding` give it.
fn spread(x: &Array, w: &Array, bias: Option<&Array>, o: &Lay, gives: usize) -> Eval {
    let (xs, ws) = (strides(&x.shape), strides(&w.shape));
    let mut shape = vec![x.shape[0], gives];
    for a in 0..2 {
        if w.shape[2 + a] == 0 {
            return Err(Stop::Unknown);
        }
        if o.extra[a] >= o.stride[a].max(o.dilation[a]) {
            return refuse("output padding");
        }
        let whole = (x.shape[2 + a] as i64 - 1) * o.stride[a] as i64 - 2 * o.padding[a] as i64
            + (o.dilation[a] * (w.shape[2 + a] - 1) + o.extra[a]) as i64
            + 1;
        shape.push(usize::try_from(whole).or_else(|_| refuse("size"))?);
    }
    let per_group = w.shape[0] / o.groups;
    // the window whose tap reaches an element
    let window = |at: usize, tap: usize, a: usize| {
        let i = (at + o.padding[a]).checked_sub(tap * o.dilation[a])?;
        (i % o.stride[a] == 0 && i / o.stride[a] < x.shape[2 + a]).then(|| i / o.stride[a])
    };
    let mut cells = Vec::with_capacity(count(&shape));
    crate::case::each(&shape, |at| {
        let &[n, out, y, z] = at else { return };
        let mut terms = Vec::new();
        let (group, within) = (out / w.shape[1].max(1), out % w.shape[1].max(1));
        for c in group * per_group..(group + 1) * per_group {
            for i in 0..w.shape[2] {
                for j in 0..w.shape[3] {
                    if let (Some(p), Some(q)) = (window(y, i, 0), window(z, j, 1)) {
                        terms.push((
                            x.cells[n * xs[0] + c * xs[1] + p * xs[2] + q],
                            w.cells[c * ws[0] + within * ws[1] + i * ws[2] + j],
                        ));
                    }
                }
            }
        }
        cells.push(total(x.dtype, terms, bias, out));
    });
    Ok(Array::of(x.dtype, shape, cells))
}

/// Calls `f` with the elements of rectangles of the last two axes.
fn planes(
    x: &Array,
    size: Pair,
    spans: impl Fn(usize, usize) -> Vec<usize>,
    f: impl Fn(&[Cell]) -> Cell,
) -> Array {
    let rank = x.shape.len();
    let (h, w) = (x.shape[rank - 2], x.shape[rank - 1]);
    let mut shape = x.shape[..rank - 2].to_vec();
    let outer = count(&shape);
    shape.extend(size);
    let mut cells = Vec::with_capacity(count(&shape));
    for plane in 0..outer {
        for y in 0..size[0] {
            for z in 0..size[1] {
                let mut seen = Vec::new();
                for i in spans(0, y) {
                    for j in spans(1, z) {
                        seen.push(x.cells[plane * h * w + i * w + j]);
                    }
                }
                cells.push(f(&seen));
            }
        }
    }
    Array::of(x.dtype, shape, cells)
}

fn mean(d: DType, seen: &[Cell], n: usize) -> Cell {
    let sum = reduce::sum(d.compute(), seen);
    lift(d, &[sum], 1.0, 0.0, |s| s[0] / n as f64)
}

/// `max_pool1d`, `max_pool2d`, `avg_pool1d` and `avg_pool2d`.
pub fn pool(op: Op, args: &[A], v: &[Array]) -> Eval {
    let x = val(&args[0], v)?;
    let l = list(&args[1])?;
    let (mut kernel, mut stride, mut padding) = (pair(l, 0, 1)?, pair(l, 2, 1)?, pair(l, 4, 0)?);
    let largest = matches!(op, Op::MaxPool1d | Op::MaxPool2d);
    if (largest && x.dtype == DType::Bool) || (!largest && !x.dtype.is_float()) {
        return refuse("dtype");
    }
    let one = matches!(op, Op::MaxPool1d | Op::AvgPool1d);
    if x.shape.len() < if one { 1 } else { 2 } {
        return refuse("rank");
    }
    if one {
        (kernel[0], stride[0], padding[0]) = (1, 1, 0);
    }
    let x = if one { widened(x) } else { x.clone() };
    let axes = [x.shape.len() - 2, x.shape.len() - 1].map(|a| x.shape[a]);
    let mut size = [0; 2];
    for a in 0..2 {
        // a window in the padding alone has no largest element, and no mean
        if padding[a] * 2 > kernel[a] || axes[a] == 0 {
            return refuse("padding or empty axis");
        }
        size[a] = windows(axes[a], kernel[a], stride[a], padding[a], 1)?;
    }
    let lay = Lay {
        stride,
        padding,
        dilation: [1; 2],
        extra: [0; 2],
        groups: 1,
    };
    let spans = |a: usize, at: usize| {
        (0..kernel[a])
            .filter_map(|k| under(at, k, &lay, a, axes[a]))
            .collect()
    };
    let y = planes(&x, size, spans, |seen| match largest {
        true => reduce::extreme(x.dtype, seen, true),
        false => mean(x.dtype, seen, kernel[0] * kernel[1]),
    });
    Ok(if one { narrowed(y) } else { y })
}

/// `adaptive_avg_pool2d`.
pub fn adaptive(args: &[A], v: &[Array]) -> Eval {
    let x = val(&args[0], v)?;
    floats(&[Some(x)])?;
    let rank = x.shape.len();
    if rank < 2 {
        return refuse("rank");
    }
    let axes = [x.shape[rank - 2], x.shape[rank - 1]];
    let size = target(&args[1], axes)?;
    let spans =
        |a: usize, at: usize| (at * axes[a] / size[a]..((at + 1) * axes[a]).div_ceil(size[a])).collect();
    Ok(planes(x, size, spans, |seen| mean(x.dtype, seen, seen.len())))
}

/// The sizes to which two axes are resampled.
pub(super) fn target(a: &A, axes: Pair) -> Eval<Pair> {
    let size = match sizes(a)?[..] {
        [n] => [n, n],
        [h, w] => [h, w],
        _ => return refuse("sizes"),
    };
    if (0..2).any(|a| axes[a] == 0 && size[a] > 0) {
        return refuse("empty axis");
    }
    Ok(size)
}
