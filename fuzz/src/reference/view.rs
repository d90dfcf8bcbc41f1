//! Views, joins and creation: elements moved by index.

use super::cell::{Cell, lift, round_to, ulp, wrap};
use super::{Array, Eval, Stop, axis, cast, int, ints, promote, refuse, scalar, scalar_cell, val};
use crate::case::{A, count, each, strides};
use tensorplay_graph::{DType, Op, Scalar};

/// Every element from the index that `from` names.
pub(super) fn gather(x: &Array, shape: Vec<usize>, from: impl Fn(&[usize]) -> Vec<usize>) -> Array {
    let st = strides(&x.shape);
    let mut cells = Vec::with_capacity(count(&shape));
    each(&shape, |at| {
        cells.push(x.cells[from(at).iter().zip(&st).map(|(a, s)| a * s).sum::<usize>()])
    });
    Array::of(x.dtype, shape, cells)
}

fn part(x: &Array, d: usize, start: usize, len: usize, step: usize) -> Array {
    let mut shape = x.shape.clone();
    shape[d] = len;
    gather(x, shape, |at| {
        let mut at = at.to_vec();
        at[d] = start + at[d] * step;
        at
    })
}

fn reorder(x: &Array, axes: &[usize]) -> Array {
    gather(x, axes.iter().map(|&a| x.shape[a]).collect(), |at| {
        let mut from = vec![0; axes.len()];
        axes.iter().zip(at).for_each(|(&a, &i)| from[a] = i);
        from
    })
}

fn reshaped(x: &Array, shape: Vec<usize>) -> Array {
    Array::of(x.dtype, shape, x.cells.clone())
}

fn or_scalar(d: i64, rank: usize) -> Eval<usize> {
    axis(d, rank.max(1))
}

/// Views.
pub fn eval(op: Op, args: &[A], v: &[Array]) -> Eval<Vec<Array>> {
    let x = val(&args[0], v)?;
    let rank = x.shape.len();
    let n = |i: usize| int(&args[i]);
    Ok(vec![match op {
        Op::Contiguous | Op::Detach => x.clone(),
        Op::Reshape => {
            let want = ints(&args[1])?;
            if want.iter().any(|&d| d < -1) || want.iter().filter(|&&d| d == -1).count() > 1 {
                return refuse("sizes");
            }
            let given: usize = want.iter().filter(|&&d| d >= 0).map(|&d| d as usize).product();
            let total = x.cells.len();
            if want.contains(&-1) && (given == 0 || !total.is_multiple_of(given)) {
                return refuse("sizes do not divide");
            }
            let shape: Vec<usize> = want
                .iter()
                .map(|&d| if d < 0 { total / given } else { d as usize })
                .collect();
            if count(&shape) != total {
                return refuse("element count");
            }
            reshaped(x, shape)
        }
        Op::FlattenAll => reshaped(x, vec![x.cells.len()]),
        Op::Flatten => {
            if rank == 0 {
                or_scalar(n(1)?, 0)?;
                or_scalar(n(2)?, 0)?;
                return Ok(vec![reshaped(x, vec![1])]);
            }
            let (a, b) = (axis(n(1)?, rank)?, axis(n(2)?, rank)?);
            if a > b {
                return refuse("from behind to");
            }
            let mut shape = x.shape[..a].to_vec();
            shape.push(count(&x.shape[a..=b]));
            shape.extend(&x.shape[b + 1..]);
            reshaped(x, shape)
        }
        Op::Transpose | Op::Movedim => {
            let (a, b) = (or_scalar(n(1)?, rank)?, or_scalar(n(2)?, rank)?);
            let mut axes: Vec<usize> = (0..rank).collect();
            if rank > 0 && op == Op::Transpose {
                axes.swap(a, b);
            } else if rank > 0 {
                let d = axes.remove(a);
                axes.insert(b, d);
            }
            reorder(x, &axes)
        }
        Op::T => {
            if rank > 2 {
                return refuse("rank");
            }
            reorder(x, &(0..rank).rev().collect::<Vec<_>>())
        }
        Op::Permute => {
            let dims = ints(&args[1])?;
            let axes = dims.iter().map(|&d| axis(d, rank)).collect::<Eval<Vec<_>>>()?;
            let mut sorted = axes.clone();
            sorted.sort_unstable();
            if sorted != (0..rank).collect::<Vec<_>>() {
                return refuse("not a permutation");
            }
            reorder(x, &axes)
        }
        Op::Unsqueeze => {
            let at = axis(n(1)?, rank + 1)?;
            let mut shape = x.shape.clone();
            shape.insert(at, 1);
            reshaped(x, shape)
        }
        Op::Squeeze => {
            let at = or_scalar(n(1)?, rank)?;
            let mut shape = x.shape.clone();
            if rank > 0 && shape[at] == 1 {
                shape.remove(at);
            }
            reshaped(x, shape)
        }
        Op::Narrow => {
            let (d, start, len) = (axis(n(1)?, rank)?, n(2)?, n(3)?);
            if start < 0 || len < 0 || start + len > x.shape[d] as i64 {
                return refuse("bounds");
            }
            part(x, d, start as usize, len as usize, 1)
        }
        Op::Select => {
            let d = axis(n(1)?, rank)?;
            let i = axis(n(2)?, x.shape[d])?;
            let p = part(x, d, i, 1, 1);
            let mut shape = p.shape.clone();
            shape.remove(d);
            reshaped(&p, shape)
        }
        Op::Slice => {
            let (d, step) = (axis(n(1)?, rank)?, n(4)?);
            if step < 1 {
                return refuse("step");
            }
            let size = x.shape[d] as i64;
            let clamp = |b: i64| if b < 0 { (b + size).max(0) } else { b.min(size) };
            let (a, b) = (clamp(n(2)?), clamp(n(3)?));
            let len = (a..b).step_by(step as usize).count();
            part(x, d, a as usize, len, step as usize)
        }
        Op::Expand => {
            let want = ints(&args[1])?;
            if want.len() < rank {
                return refuse("rank");
            }
            let lead = want.len() - rank;
            let mut shape = Vec::new();
            for (i, &w) in want.iter().enumerate() {
                shape.push(match (w, i.checked_sub(lead).map(|i| x.shape[i])) {
                    (-1, Some(n)) => n,
                    (w, _) if w < 0 => return refuse("size"),
                    (w, Some(n)) if n != 1 && n != w as usize => return refuse("does not expand"),
                    (w, _) => w as usize,
                });
            }
            Array::of(x.dtype, shape.clone(), super::spread(x, &shape))
        }
        Op::Chunk | Op::Split => {
            let (k, d) = (n(1)?, axis(n(2)?, rank)?);
            if k < 1 {
                return refuse("pieces");
            }
            let (size, k) = (x.shape[d], k as usize);
            let piece = if op == Op::Chunk { size.div_ceil(k) } else { k };
            let pieces = match (size, op) {
                (0, Op::Chunk) => k,
                (0, _) => 1,
                _ => size.div_ceil(piece),
            };
            return Ok((0..pieces)
                .map(|i| {
                    part(
                        x,
                        d,
                        (i * piece).min(size),
                        piece.min(size - (i * piece).min(size)),
                        1,
                    )
                })
                .collect());
        }
        _ => return Err(Stop::Unknown),
    }])
}

/// `cat` and `stack`.
pub fn join(op: Op, args: &[A], v: &[Array]) -> Eval {
    let A::Vs(list) = &args[0] else {
        return refuse("not a list");
    };
    let mut xs: Vec<Array> = list.iter().map(|&i| v[i].clone()).collect();
    let Some(first) = xs.first().cloned() else {
        return refuse("empty list");
    };
    let d = if op == Op::Stack {
        let d = axis(int(&args[1])?, first.shape.len() + 1)?;
        if xs.iter().any(|x| x.shape != first.shape) {
            return refuse("shapes differ");
        }
        xs.iter_mut().for_each(|x| x.shape.insert(d, 1));
        d
    } else {
        if first.shape.is_empty() {
            return refuse("scalar");
        }
        axis(int(&args[1])?, first.shape.len())?
    };
    let mut shape = xs[0].shape.clone();
    shape[d] = 0;
    let mut dtype = first.dtype;
    for x in &xs {
        let same = x.shape.len() == shape.len() && (0..shape.len()).all(|i| i == d || x.shape[i] == shape[i]);
        if !same {
            return refuse("shapes differ");
        }
        shape[d] += x.shape[d];
        dtype = promote(dtype, x.dtype);
    }
    let outer = count(&shape[..d]);
    let mut cells = Vec::with_capacity(count(&shape));
    let parts: Vec<Vec<Cell>> = xs.iter().map(|x| cast::promoted(x, dtype)).collect();
    for o in 0..outer {
        for (x, p) in xs.iter().zip(&parts) {
            let run = count(&x.shape[d..]);
            cells.extend(&p[o * run..(o + 1) * run]);
        }
    }
    Ok(Array::of(dtype, shape, cells))
}

/// A number of the dtype as a cast gives it.
pub(super) fn number(d: DType, s: Scalar) -> Cell {
    match (d.is_float(), s) {
        (true, _) => Cell::float(round_to(d, scalar_cell(d, s).v)),
        (false, Scalar::Float(f)) => cast::convert(Cell::float(f), DType::F64, d),
        (false, Scalar::Int(i)) => Cell::int(wrap(d, i)),
        (false, Scalar::Bool(b)) => Cell::bool(b),
    }
}

/// Tensors from host values.
pub fn create(op: Op, args: &[A], v: &[Array]) -> Eval {
    let dtype = |a: &A| {
        if let A::D(d) = a {
            Ok(*d)
        } else {
            refuse("not a dtype")
        }
    };
    let sizes = |a: &A| -> Eval<Vec<usize>> {
        ints(a)?
            .iter()
            .map(|&n| usize::try_from(n).or_else(|_| refuse("size")))
            .collect()
    };
    let fill = |d: DType, shape: Vec<usize>, s: Scalar| {
        let n = count(&shape);
        Array::of(d, shape, vec![number(d, s); n])
    };
    Ok(match op {
        Op::Zeros => fill(dtype(&args[1])?, sizes(&args[0])?, Scalar::Int(0)),
        Op::Ones => fill(dtype(&args[1])?, sizes(&args[0])?, Scalar::Int(1)),
        Op::Full => fill(dtype(&args[2])?, sizes(&args[0])?, scalar(&args[1])?),
        Op::ZerosLike | Op::OnesLike => {
            let x = val(&args[0], v)?;
            fill(
                x.dtype,
                x.shape.clone(),
                Scalar::Int(i64::from(op == Op::OnesLike)),
            )
        }
        Op::Eye => {
            let (n, d) = (int(&args[0])?, dtype(&args[1])?);
            let n = usize::try_from(n).or_else(|_| refuse("size"))?;
            let cell = |i: usize| number(d, Scalar::Int(i64::from(i / n == i % n)));
            Array::of(d, vec![n, n], (0..n * n).map(cell).collect())
        }
        Op::Arange => {
            let (a, b, d) = (scalar(&args[0])?, scalar(&args[1])?, dtype(&args[2])?);
            let (Scalar::Int(a), Scalar::Int(b)) = (a, b) else {
                return Err(Stop::Unknown);
            };
            if d == DType::Bool {
                return Err(Stop::Unknown);
            }
            if b < a {
                return refuse("range");
            }
            Array::of(
                d,
                vec![(b - a) as usize],
                (a..b).map(|i| number(d, Scalar::Int(i))).collect(),
            )
        }
        Op::Linspace => {
            let (a, b, n, d) = (
                scalar(&args[0])?.to_f64(),
                scalar(&args[1])?.to_f64(),
                int(&args[2])?,
                dtype(&args[3])?,
            );
            let n = usize::try_from(n).or_else(|_| refuse("size"))?;
            if !d.is_float() {
                return Err(Stop::Unknown);
            }
            let slack = 4.0 * ulp(d.compute(), a.abs().max(b.abs()));
            let cell = |i: usize| {
                let x = if n == 1 {
                    a
                } else {
                    a + (b - a) * i as f64 / (n - 1) as f64
                };
                lift(d, &[Cell::float(x)], 1.0, slack, |x| x[0])
            };
            Array::of(d, vec![n], (0..n).map(cell).collect())
        }
        _ => return Err(Stop::Unknown),
    })
}
