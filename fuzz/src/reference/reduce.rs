//! Folds over axes.

use super::cell::{Cell, largest, round_to, smallest};
use super::contract::finish;
use super::{Array, Eval, axis, refuse, val};
use crate::case::{A, count, each, strides};
use tensorplay_graph::{DType, Op};

/// The axes that a list names: all for an empty one; a scalar has an axis 0.
pub fn axes(list: &[i64], rank: usize) -> Eval<Vec<usize>> {
    if list.is_empty() {
        return Ok((0..rank).collect());
    }
    if rank == 0 {
        return if list.iter().all(|d| [0, -1].contains(d)) {
            Ok(vec![])
        } else {
            refuse("dim of a scalar")
        };
    }
    let mut out = Vec::new();
    for &d in list {
        let a = axis(d, rank)?;
        if out.contains(&a) {
            return refuse("dim twice");
        }
        out.push(a);
    }
    Ok(out)
}

/// The rows to fold: for every kept index, in order, the elements over the reduced axes in row-major order.
pub fn rows(x: &Array, over: &[usize]) -> Vec<Vec<Cell>> {
    let kept: Vec<usize> = (0..x.shape.len()).filter(|d| !over.contains(d)).collect();
    let mut sorted = over.to_vec();
    sorted.sort_unstable();
    let st = strides(&x.shape);
    let outer: Vec<usize> = kept.iter().map(|&d| x.shape[d]).collect();
    let inner: Vec<usize> = sorted.iter().map(|&d| x.shape[d]).collect();
    let mut out = Vec::new();
    each(&outer, |o| {
        let base: usize = o.iter().zip(&kept).map(|(i, &d)| i * st[d]).sum();
        let mut row = Vec::with_capacity(count(&inner));
        each(&inner, |i| {
            row.push(x.cells[base + i.iter().zip(&sorted).map(|(i, &d)| i * st[d]).sum::<usize>()])
        });
        out.push(row);
    });
    out
}

/// The shape after a reduction.
pub fn shape(x: &[usize], over: &[usize], keep: bool) -> Vec<usize> {
    x.iter()
        .enumerate()
        .filter_map(|(d, &n)| match (over.contains(&d), keep) {
            (false, _) => Some(n),
            (true, true) => Some(1),
            (true, false) => None,
        })
        .collect()
}

/// A sum in any order.
pub fn sum(d: DType, row: &[Cell]) -> Cell {
    let (mut s, mut size, mut e) = (0.0f64, 0.0f64, 0.0f64);
    for c in row {
        if c.poisoned() {
            return Cell::any();
        }
        s += c.v;
        if c.v.is_finite() {
            size += c.v.abs();
        }
        e += c.e;
    }
    if size + e > largest(d.compute()) * 0.5 {
        return if s.is_nan() && size.is_finite() && row.iter().any(|c| c.v.is_nan()) {
            Cell::float(s)
        } else {
            Cell::any()
        };
    }
    finish(d, s, e, size, row.len() as f64)
}

/// A product in any order.
fn prod(d: DType, row: &[Cell]) -> Cell {
    let c = d.compute();
    let (mut p, mut rel, mut up, mut down) = (1.0f64, 0.0f64, 0.0f64, 0.0f64);
    for x in row {
        if x.poisoned() || (x.e > 0.0 && x.v.abs() <= 4.0 * x.e) {
            return Cell::any();
        }
        p *= x.v;
        if x.v != 0.0 && x.v.is_finite() {
            rel += x.e / x.v.abs();
            up += x.v.abs().log2().max(0.0);
            down += x.v.abs().log2().min(0.0);
        }
    }
    let n = row.len() as f64;
    if up > largest(c).log2() - 1.0 || down < smallest(c).log2() + 1.0 {
        return Cell::any();
    }
    if p == 0.0 {
        return Cell {
            v: 0.0,
            i: 0,
            e: f64::from_bits(1),
        };
    }
    finish(
        d,
        p,
        p.abs() * (rel * 2.0 + n * super::cell::ulp(c, 1.0)),
        p.abs(),
        1.0,
    )
}

/// The largest or smallest of a row; NaN wins.
pub fn extreme(d: DType, row: &[Cell], max: bool) -> Cell {
    if row.iter().any(Cell::poisoned) {
        return Cell::any();
    }
    if !d.is_float() {
        let it = row.iter().map(|c| c.i);
        return Cell::int(if max { it.max() } else { it.min() }.unwrap_or(0));
    }
    if row.iter().any(|c| c.v.is_nan()) {
        return Cell::float(f64::NAN);
    }
    let start = if max { f64::NEG_INFINITY } else { f64::INFINITY };
    let v = row
        .iter()
        .fold(start, |m, c| if max { m.max(c.v) } else { m.min(c.v) });
    let e = row.iter().fold(0.0f64, |m, c| m.max(c.e));
    let c = Cell {
        v: round_to(d, v),
        i: 0,
        e,
    };
    if v == 0.0 { c.unsigned_zero() } else { c }
}

fn arg(d: DType, row: &[Cell], max: bool) -> Cell {
    if row.iter().any(|c| !c.exact()) {
        return Cell::any();
    }
    if let Some(i) = row.iter().position(|c| d.is_float() && c.v.is_nan()) {
        return Cell::int(i as i64);
    }
    let mut best = 0;
    for i in 1..row.len() {
        let (a, b) = (row[i], row[best]);
        let wins = match (d.is_float(), max) {
            (true, true) => a.v > b.v,
            (true, false) => a.v < b.v,
            (false, true) => a.i > b.i,
            (false, false) => a.i < b.i,
        };
        if wins {
            best = i;
        }
    }
    Cell::int(best as i64)
}

/// Runs a reduction.
pub fn eval(op: Op, args: &[A], v: &[Array]) -> Eval {
    use Op::*;
    let x = val(&args[0], v)?;
    let list: Vec<i64> = match args.get(1) {
        Some(A::Is(l)) => l.clone(),
        Some(A::I(d)) => vec![*d],
        _ => Vec::new(),
    };
    let over = axes(&list, x.shape.len())?;
    let keep = matches!(
        op,
        SumKeepdim | MaxKeepdim | MinKeepdim | ArgmaxKeepdim | ArgminKeepdim | RowMax
    );
    let nonempty = matches!(
        op,
        Max | MaxKeepdim
            | MaxAll
            | Min
            | MinKeepdim
            | MinAll
            | Argmax
            | ArgmaxKeepdim
            | Argmin
            | ArgminKeepdim
    );
    if nonempty && over.iter().any(|&d| x.shape[d] == 0) {
        return refuse("empty axis");
    }
    let d = x.dtype;
    let acc = if d.is_float() { d } else { DType::I64 };
    let fold_int = |row: &[Cell], f: &dyn Fn(i64, i64) -> i64, start: i64| {
        if row.iter().any(Cell::poisoned) {
            Cell::any()
        } else {
            Cell::int(row.iter().fold(start, |s, c| f(s, c.i)))
        }
    };
    let truth = |row: &[Cell]| {
        row.iter()
            .map(|&c| super::cast::convert(c, d, DType::Bool))
            .collect::<Vec<_>>()
    };
    let one = |row: &[Cell]| match op {
        Sum | SumKeepdim | SumAll if d.is_float() => sum(d, row),
        Sum | SumKeepdim | SumAll => fold_int(row, &i64::wrapping_add, 0),
        Prod if d.is_float() => prod(d, row),
        Prod => fold_int(row, &i64::wrapping_mul, 1),
        Max | MaxKeepdim | MaxAll | RowMax | RowMaxDrop => extreme(d, row, true),
        Min | MinKeepdim | MinAll => extreme(d, row, false),
        Argmax | ArgmaxKeepdim => arg(d, row, true),
        Argmin | ArgminKeepdim => arg(d, row, false),
        Any => fold_int(&truth(row), &|a, b| a | b, 0),
        All => fold_int(&truth(row), &|a, b| a & b, 1),
        _ => Cell::any(),
    };
    let result = match op {
        Sum | SumKeepdim | SumAll | Prod => acc,
        Argmax | ArgmaxKeepdim | Argmin | ArgminKeepdim => DType::I64,
        Any | All => DType::Bool,
        _ => d,
    };
    let cells: Vec<Cell> = rows(x, &over).iter().map(|r| one(r)).collect();
    Ok(Array::of(result, shape(&x.shape, &over, keep), cells))
}

/// `cumsum` and `cumprod`: a fold of every beginning of a row.
pub fn scan(op: Op, args: &[A], v: &[Array]) -> Eval {
    let x = val(&args[0], v)?;
    let a = axis(super::int(&args[1])?, x.shape.len().max(1))?;
    let d = if x.dtype.is_float() { x.dtype } else { DType::I64 };
    let sums = op == Op::Cumsum;
    let one = |row: &[Cell]| match (d.is_float(), sums) {
        (true, true) => sum(d, row),
        (true, false) => prod(d, row),
        _ if row.iter().any(Cell::poisoned) => Cell::any(),
        (_, true) => Cell::int(row.iter().fold(0i64, |s, c| s.wrapping_add(c.i))),
        (_, false) => Cell::int(row.iter().fold(1i64, |s, c| s.wrapping_mul(c.i))),
    };
    let mut cells = vec![Cell::any(); x.cells.len()];
    let over = if x.shape.is_empty() { vec![] } else { vec![a] };
    let n = x.shape.get(a).copied().unwrap_or(1);
    let inner = count(x.shape.get(a + 1..).unwrap_or(&[]));
    for (r, row) in rows(x, &over).iter().enumerate() {
        for i in 0..n {
            cells[(r / inner * n + i) * inner + r % inner] = one(&row[..=i]);
        }
    }
    Ok(Array::of(d, x.shape.clone(), cells))
}
