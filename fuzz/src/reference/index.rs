//! Elements read and written by index, and the order of elements.
//!
//! Invariant: an index that is not known exactly makes the call unknown, one out of range an error of the data.

use super::cell::{Cell, wrap};
use super::{Array, Eval, Stop, axis, flag, int, reduce, refuse, val};
use crate::case::{A, count, each, strides};
use std::cmp::Ordering;
use tensorplay_graph::{DType, Op};

/// The indices, all below `n`.
fn indices(x: &Array, n: usize) -> Eval<Vec<usize>> {
    if !x.dtype.is_int() {
        return refuse("indices are integers");
    }
    if x.cells.iter().any(Cell::poisoned) {
        return Err(Stop::Unknown);
    }
    x.cells
        .iter()
        .map(|c| match usize::try_from(c.i) {
            Ok(i) if i < n => Ok(i),
            _ => Err(Stop::Data(format!("index {} of {n}", c.i))),
        })
        .collect()
}

/// The shape with one axis at least.
fn axes(x: &Array) -> Vec<usize> {
    if x.shape.is_empty() {
        vec![1]
    } else {
        x.shape.clone()
    }
}

fn agree(x: &Array, y: &Array) -> Eval<()> {
    if x.dtype == y.dtype {
        Ok(())
    } else {
        refuse("dtypes differ")
    }
}

fn offset(at: &[usize], st: &[usize]) -> usize {
    at.iter().zip(st).map(|(a, s)| a * s).sum()
}

/// An element and all that is added to it.
fn sum(d: DType, list: &[Cell]) -> Cell {
    match list {
        [only] => *only,
        _ if d.is_float() => reduce::sum(d, list),
        _ if list.iter().any(Cell::poisoned) => Cell::any(),
        _ if d == DType::Bool => Cell::bool(list.iter().any(|c| c.i != 0)),
        _ => Cell::int(wrap(d, list.iter().fold(0i64, |s, c| s.wrapping_add(c.i)))),
    }
}

/// `x` with lists of elements put or added to places, in order.
fn combined(x: &Array, writes: &[(usize, Cell)], add: bool) -> Array {
    let mut lists: Vec<Vec<Cell>> = x.cells.iter().map(|&c| vec![c]).collect();
    for &(at, c) in writes {
        if !add {
            lists[at].clear();
        }
        lists[at].push(c);
    }
    let cells = lists.iter().map(|l| sum(x.dtype, l)).collect();
    Array::of(x.dtype, x.shape.clone(), cells)
}

/// The slices of axis `a` at the indices, which have that shape.
fn select(x: &Array, a: usize, idx: &[usize], shape: &[usize]) -> Array {
    let s = axes(x);
    let (outer, inner) = (count(&s[..a]), count(&s[a + 1..]));
    let mut cells = Vec::new();
    for o in 0..outer {
        for &i in idx {
            let from = (o * s[a] + i) * inner;
            cells.extend(&x.cells[from..from + inner]);
        }
    }
    let mut out = s[..a].to_vec();
    out.extend(shape);
    out.extend(&s[a + 1..]);
    Array::of(x.dtype, out, cells)
}

/// Runs an operation with an index operand, `slice_scatter` or `one_hot`.
pub fn eval(op: Op, args: &[A], v: &[Array]) -> Eval {
    let x = val(&args[0], v)?;
    let rank = x.shape.len();
    match op {
        Op::OneHot => {
            let classes = usize::try_from(int(&args[1])?).or_else(|_| refuse("classes"))?;
            if classes == 0 || !x.dtype.is_int() {
                return refuse("classes or dtype");
            }
            let mut shape = x.shape.clone();
            shape.push(classes);
            let idx = indices(x, classes)?;
            let cells = idx
                .iter()
                .flat_map(|&i| (0..classes).map(move |c| Cell::bool(c == i)));
            Ok(Array::of(DType::I64, shape, cells.collect()))
        }
        Op::Embedding => {
            let idx = val(&args[1], v)?;
            if rank != 2 {
                return refuse("table");
            }
            Ok(select(x, 0, &indices(idx, x.shape[0])?, &idx.shape))
        }
        Op::IndexSelect => {
            let (idx, a) = (val(&args[1], v)?, axis(int(&args[2])?, rank.max(1))?);
            if idx.shape.len() > 1 || (rank == 0 && idx.cells.len() != 1) {
                return refuse("index shape");
            }
            let list = indices(idx, axes(x)[a])?;
            let mut y = select(x, a, &list, &[list.len()]);
            if rank == 0 {
                y.shape.clear();
            }
            Ok(y)
        }
        Op::IndexAdd => {
            let (idx, src) = (val(&args[1], v)?, val(&args[2], v)?);
            let a = axis(int(&args[3])?, rank.max(1))?;
            agree(x, src)?;
            let mut want = x.shape.clone();
            if let Some(n) = want.get_mut(a) {
                *n = idx.cells.len();
            }
            if idx.shape.len() > 1 || src.shape != want || (rank == 0 && idx.cells.len() != 1) {
                return refuse("index or source shape");
            }
            let list = indices(idx, axes(x)[a])?;
            let mut writes = Vec::new();
            let (from, to) = (strides(&src.shape), strides(&x.shape));
            each(&src.shape, |at| {
                let mut target = at.to_vec();
                if let Some(i) = target.get_mut(a) {
                    *i = list[*i];
                }
                writes.push((offset(&target, &to), src.cells[offset(at, &from)]));
            });
            Ok(combined(x, &writes, true))
        }
        Op::SliceScatter => {
            let (a, start, src) = (axis(int(&args[1])?, rank)?, int(&args[2])?, val(&args[3], v)?);
            agree(x, src)?;
            let same = src.shape.len() == rank && (0..rank).all(|i| i == a || src.shape[i] == x.shape[i]);
            if start < 0 || !same || start as usize + src.shape[a] > x.shape[a] {
                return refuse("source");
            }
            let (from, to) = (strides(&src.shape), strides(&x.shape));
            let mut y = x.clone();
            each(&src.shape, |at| {
                y.cells[offset(at, &to) + start as usize * to[a]] = src.cells[offset(at, &from)];
            });
            Ok(y)
        }
        Op::Gather => {
            let (idx, a) = (val(&args[1], v)?, axis(int(&args[2])?, rank.max(1))?);
            let (s, shape) = (axes(x), axes(idx));
            if s.len() != shape.len() || (0..s.len()).any(|i| i != a && shape[i] > s[i]) {
                return refuse("index shape");
            }
            let list = indices(idx, s[a])?;
            let (st, mut cells) = (strides(&s), Vec::new());
            each(&shape, |at| {
                let mut at = at.to_vec();
                at[a] = list[cells.len()];
                cells.push(x.cells[offset(&at, &st)]);
            });
            Ok(Array::of(x.dtype, idx.shape.clone(), cells))
        }
        Op::Scatter | Op::ScatterAdd => {
            let (idx, src) = (val(&args[1], v)?, val(&args[2], v)?);
            let a = axis(int(&args[3])?, rank.max(1))?;
            agree(x, src)?;
            let (s, shape, from) = (axes(x), axes(idx), axes(src));
            let fits = s.len() == shape.len()
                && from.len() == shape.len()
                && (0..s.len()).all(|i| shape[i] <= from[i] && (i == a || shape[i] <= s[i]));
            if !fits {
                return refuse("index or source shape");
            }
            let list = indices(idx, s[a])?;
            let (st, sf, mut writes) = (strides(&s), strides(&from), Vec::new());
            each(&shape, |at| {
                let mut to = at.to_vec();
                to[a] = list[writes.len()];
                writes.push((offset(&to, &st), src.cells[offset(at, &sf)]));
            });
            Ok(combined(x, &writes, op == Op::ScatterAdd))
        }
        _ => Err(Stop::Unknown),
    }
}

/// The order in which NaN is the largest and zeros are equal.
fn order(d: DType, a: &Cell, b: &Cell) -> Ordering {
    if d.is_float() {
        a.v.partial_cmp(&b.v)
            .unwrap_or_else(|| a.v.is_nan().cmp(&b.v.is_nan()))
    } else {
        a.i.cmp(&b.i)
    }
}

/// The first `k` of a row in order, with where they were.
fn sorted(d: DType, row: &[Cell], k: usize, descending: bool) -> Vec<(Cell, Cell)> {
    if row.iter().any(Cell::poisoned) {
        return vec![(Cell::any(), Cell::any()); k];
    }
    let mut list: Vec<usize> = (0..row.len()).collect();
    list.sort_by(|&i, &j| {
        let o = order(d, &row[i], &row[j]);
        if descending { o.reverse() } else { o }
    });
    // an order statistic moves no farther than the elements do
    let e = row.iter().fold(0.0f64, |m, c| m.max(c.e));
    let one = |i: usize| match e {
        0.0 => (row[i], Cell::int(i as i64)),
        _ if !row[i].v.is_finite() => (row[i], Cell::any()),
        _ => (Cell { e, ..row[i] }, Cell::any()),
    };
    list.into_iter().take(k).map(one).collect()
}

/// `topk` and `sort`.
pub fn ordered(op: Op, args: &[A], v: &[Array]) -> Eval<Vec<Array>> {
    let x = val(&args[0], v)?;
    let rank = x.shape.len();
    let (k, dim, descending) = match op {
        Op::Topk => (Some(int(&args[1])?), &args[2], true),
        _ => (None, &args[1], flag(&args[2])?),
    };
    let a = axis(int(dim)?, rank.max(1))?;
    let s = axes(x);
    let k = usize::try_from(k.unwrap_or(s[a] as i64)).or_else(|_| refuse("k"))?;
    if k > s[a] {
        return refuse("k");
    }
    let mut shape = s.clone();
    shape[a] = k;
    if rank == 0 {
        // as PyTorch: whatever k is
        let place = Array::of(DType::I64, vec![], vec![Cell::int(0)]);
        return Ok(vec![x.clone(), place]);
    }
    let (mut values, mut places) = (vec![Cell::any(); count(&shape)], vec![Cell::any(); count(&shape)]);
    let (inner, x1) = (
        count(&s[a + 1..]),
        Array {
            shape: s,
            ..x.clone()
        },
    );
    for (r, row) in reduce::rows(&x1, &[a]).iter().enumerate() {
        for (i, (value, place)) in sorted(x.dtype, row, k, descending).into_iter().enumerate() {
            let at = (r / inner * k + i) * inner + r % inner;
            (values[at], places[at]) = (value, place);
        }
    }
    Ok(vec![
        Array::of(x.dtype, shape.clone(), values),
        Array::of(DType::I64, shape, places),
    ])
}

/// The scores of the target classes, as `nll_loss` takes them: class axis 1, or the only one.
pub(super) fn targets(x: &Array, target: &Array) -> Eval<Vec<Cell>> {
    if x.shape.is_empty() {
        return refuse("rank");
    }
    let a = usize::from(x.shape.len() > 1);
    let mut want = x.shape.clone();
    want.remove(a);
    if target.shape != want {
        return refuse("target");
    }
    let list = indices(target, x.shape[a])?;
    let inner = count(&x.shape[a + 1..]);
    let one = |(i, &class): (usize, &usize)| x.cells[(i / inner * x.shape[a] + class) * inner + i % inner];
    Ok(list.iter().enumerate().map(one).collect())
}
