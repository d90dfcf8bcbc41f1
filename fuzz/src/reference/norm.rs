//! Composites over rows: means, variances, norms, softmax, normalisation; each with a bound of its own.

use super::cell::{Cell, largest, lift, round_to, smallest, ulp};
use super::contract::finish;
use super::{Array, Eval, Stop, axis, int, ints, reduce as fold, refuse, scalar, val};
use crate::case::{A, count};
use tensorplay_graph::{DType, Op};

/// The sizes of a row: largest element, largest error; `None` where something is not finite or inexact beyond use.
fn sizes(d: DType, row: &[Cell]) -> Option<(f64, f64)> {
    let big = row.iter().fold(0.0f64, |m, c| m.max(c.v.abs()));
    let err = row.iter().fold(0.0f64, |m, c| m.max(c.e));
    let ok = row.iter().all(|c| c.v.is_finite() && !c.poisoned());
    let n = row.len() as f64;
    (ok && (big + err) * (big + err) * n < largest(d.compute()) * 0.01).then_some((big, err))
}

/// Mean and sum of squared deviations with their errors, and the error of one deviation.
fn deviations(d: DType, row: &[Cell]) -> Option<(f64, f64, f64, f64)> {
    let (big, err) = sizes(d, row)?;
    let n = row.len() as f64;
    let c = d.compute();
    let mean = row.iter().map(|c| c.v).sum::<f64>() / n;
    let delta = 2.0 * err + (n + 8.0) * ulp(c, big);
    let squares: f64 = row.iter().map(|c| (c.v - mean) * (c.v - mean)).sum();
    let abs: f64 = row.iter().map(|c| (c.v - mean).abs()).sum();
    let e = 2.0 * abs * delta + n * delta * delta + (n + 4.0) * ulp(c, squares) + n * smallest(c);
    Some((mean, squares, e, delta))
}

/// What a row that is not finite gives: NaN for sure if one is NaN.
fn unclear(row: &[Cell]) -> Cell {
    let nan = row.iter().any(|c| c.v.is_nan()) && row.iter().all(|c| !c.poisoned());
    if nan { Cell::float(f64::NAN) } else { Cell::any() }
}

fn log_sum(d: DType, row: &[Cell]) -> Cell {
    let c = d.compute();
    if row.iter().any(Cell::poisoned) {
        return Cell::any();
    }
    if row.iter().any(|c| c.v.is_nan()) {
        return Cell::float(f64::NAN);
    }
    let m = row.iter().fold(f64::NEG_INFINITY, |m, c| m.max(c.v));
    if m.is_infinite() {
        return Cell::float(m);
    }
    let low = row.iter().filter(|c| c.v.is_finite()).fold(m, |l, c| l.min(c.v));
    if m - low > largest(c) * 0.4 {
        return Cell::any();
    }
    let s: f64 = row.iter().map(|c| (c.v - m).exp()).sum();
    let err = row.iter().fold(0.0f64, |m, c| m.max(c.e));
    let n = row.len() as f64;
    let v = s.ln() + m;
    let e = 2.0 * err + ulp(c, m) * 4.0 + (n + 8.0) * ulp(c, 1.0) + ulp(c, s.ln()) * 4.0;
    if e > 1.0 {
        Cell::any()
    } else {
        finish(d, v, e, v.abs(), 1.0)
    }
}

fn norm(d: DType, p: f64, row: &[Cell]) -> Cell {
    let Some((big, err)) = sizes(d, row) else {
        return unclear(row).max_of(p);
    };
    let c = d.compute();
    let n = row.len() as f64;
    let abs = || row.iter().map(|c| Cell { v: c.v.abs(), ..*c });
    if p == 0.0 {
        if row.iter().any(|c| c.e > 0.0 && c.v.abs() <= c.e) {
            return Cell::any();
        }
        let k = row.iter().filter(|c| c.v != 0.0).count() as f64;
        return finish(d, k, 0.0, k, 1.0);
    }
    if p.is_infinite() {
        let mut list = abs().map(|c| c.v);
        let first = list.next().unwrap_or(0.0);
        let v = list.fold(first, |m, x| if p > 0.0 { m.max(x) } else { m.min(x) });
        return Cell {
            v: round_to(d, v),
            i: 0,
            e: if v == 0.0 { err.max(f64::from_bits(1)) } else { err },
        };
    }
    if p == 1.0 {
        return fold::sum(d, &abs().collect::<Vec<_>>());
    }
    let power: f64 = row.iter().map(|c| c.v.abs().powf(p)).sum();
    let tiny = row
        .iter()
        .any(|x| x.v != 0.0 && (x.v.abs().powf(p) < smallest(c) * 1e6 || x.v.abs() < 64.0 * x.e));
    let hidden = row.iter().any(|x| x.v == 0.0 && x.e > 0.0);
    if tiny || hidden || power > largest(c) * 0.01 || big.powf(p) > largest(c) * 0.001 {
        return Cell::any();
    }
    let v = power.powf(1.0 / p);
    let rel = row
        .iter()
        .map(|x| if x.v == 0.0 { 0.0 } else { x.e / x.v.abs() })
        .fold(0.0f64, f64::max);
    let e = v * (2.0 * rel + (n + 16.0) * ulp(c, 1.0) * (1.0 + power.log2().abs()));
    finish(d, v, if power == 0.0 { 0.0 } else { e }, v, 1.0)
}

impl Cell {
    /// NaN for any finite p but 0; anything for the others.
    fn max_of(self, p: f64) -> Cell {
        if self.v.is_nan() && p != 0.0 {
            self
        } else {
            Cell::any()
        }
    }
}

/// Reductions.
pub fn reduce(op: Op, args: &[A], v: &[Array]) -> Eval {
    let x = val(&args[0], v)?;
    let d = if x.dtype.is_float() { x.dtype } else { DType::F32 };
    if op != Op::Logsumexp && !x.dtype.is_float() {
        return refuse("floats only");
    }
    let x = &Array::of(d, x.shape.clone(), super::cast::promoted(x, d));
    let list: Vec<i64> = match op {
        Op::MeanAll => Vec::new(),
        Op::Norm => ints(&args[2])?.to_vec(),
        _ => ints(&args[1])?.to_vec(),
    };
    let over = fold::axes(&list, x.shape.len())?;
    let keep = matches!(op, Op::MeanKeepdim | Op::VarKeepdim);
    let correction = if matches!(op, Op::Var | Op::VarKeepdim | Op::StdDev) {
        int(&args[2])?
    } else {
        0
    };
    let p = if op == Op::Norm {
        scalar(&args[1])?.to_f64()
    } else {
        0.0
    };
    if p.is_infinite() && over.iter().any(|&a| x.shape[a] == 0) {
        return refuse("empty");
    }
    let one = |row: &[Cell]| -> Cell {
        let n = row.len() as f64;
        match op {
            Op::Mean | Op::MeanKeepdim | Op::MeanAll => {
                let s = fold::sum(d.compute(), row);
                if row.is_empty() {
                    Cell::float(f64::NAN)
                } else {
                    lift(d, &[s], 1.0, 0.0, |x| x[0] / n)
                }
            }
            Op::Var | Op::VarKeepdim | Op::StdDev => {
                let divisor = (n - correction as f64).max(0.0);
                let Some((_, squares, e, _)) = deviations(d, row) else {
                    return unclear(row);
                };
                if row.is_empty() {
                    return Cell::float(f64::NAN);
                }
                if divisor == 0.0 {
                    return if n == 1.0 {
                        Cell::float(f64::NAN)
                    } else {
                        Cell::any()
                    };
                }
                let (var, e) = (squares / divisor, e / divisor);
                if op == Op::StdDev {
                    let (lo, hi) = ((var - e).max(0.0).sqrt(), (var + e).sqrt());
                    let s = var.sqrt();
                    return finish(d, s, (hi - s).max(s - lo), s, 1.0);
                }
                finish(d, var, e, var, 1.0)
            }
            Op::Norm => norm(d, p, row),
            _ => log_sum(d, row),
        }
    };
    let cells = fold::rows(x, &over).iter().map(|r| one(r)).collect();
    Ok(Array::of(d, fold::shape(&x.shape, &over, keep), cells))
}

/// The softmax of a row, or its logarithm.
pub(super) fn soft(d: DType, row: &[Cell], log: bool) -> Vec<Cell> {
    let c = d.compute();
    let n = row.len();
    if row.iter().any(Cell::poisoned) {
        return vec![Cell::any(); n];
    }
    let m = row.iter().fold(f64::NEG_INFINITY, |m, c| m.max(c.v));
    if row.iter().any(|c| c.v.is_nan()) || m.is_infinite() {
        // PyTorch: NaN everywhere; at +inf the others would be 0 / NaN as well
        return vec![Cell::float(f64::NAN); n];
    }
    let low = row.iter().filter(|c| c.v.is_finite()).fold(m, |l, c| l.min(c.v));
    if m - low > largest(c) * 0.4 {
        return vec![Cell::any(); n];
    }
    let s: f64 = row.iter().map(|c| (c.v - m).exp()).sum();
    let err = row.iter().fold(0.0f64, |m, c| m.max(c.e));
    let of = |x: &Cell| {
        let t = x.v - m;
        let base = 2.0 * err + (n as f64 + 12.0) * ulp(c, 1.0);
        if log {
            if t.is_infinite() {
                return Cell::float(t);
            }
            let y = t - s.ln();
            return finish(d, y, base + 4.0 * ulp(c, t) + 4.0 * ulp(c, s.ln()), y.abs(), 1.0);
        }
        let p = t.exp() / s;
        let rel = base + 2.0 * ulp(c, if t.is_finite() { t } else { 0.0 });
        if rel > 0.5 {
            return Cell::any();
        }
        finish(d, p, p * rel * 2.0 + 8.0 * smallest(c), p, 1.0)
    };
    row.iter().map(of).collect()
}

/// A row over its root mean square, less its mean before if `centred`; in the compute type, not yet rounded to `d`.
pub(super) fn scaled(d: DType, row: &[Cell], eps: f64, centred: bool) -> Vec<Cell> {
    let (c, n) = (d.compute(), row.len() as f64);
    let stats = if centred {
        deviations(d, row)
    } else {
        sizes(d, row).map(|(big, err)| {
            let squares: f64 = row.iter().map(|c| c.v * c.v).sum();
            let abs: f64 = row.iter().map(|c| c.v.abs()).sum();
            let e = 2.0 * abs * err + n * err * err + (n + 4.0) * ulp(c, squares) + n * smallest(c);
            (0.0, squares, e, err + ulp(c, big))
        })
    };
    let Some((mean, squares, e, delta)) = stats else {
        return vec![unclear(row); row.len()];
    };
    let (var, e) = (squares / n + eps, e / n + 4.0 * ulp(c, squares / n + eps));
    if var <= 0.0 || e > 0.25 * var {
        return vec![Cell::any(); row.len()];
    }
    let r = 1.0 / var.sqrt();
    let dr = r * e / var + 4.0 * ulp(c, r);
    let one = |x: &Cell| {
        let t = x.v - mean;
        Cell {
            v: t * r,
            i: 0,
            e: t.abs() * dr * 2.0 + delta * r * 2.0 + 2.0 * ulp(c, t * r),
        }
    };
    row.iter().map(one).collect()
}

/// `y * w + b`, rounded to `d` in the end.
pub(super) fn affine(d: DType, mut y: Cell, w: Option<Cell>, b: Option<Cell>) -> Cell {
    let c = d.compute();
    if let Some(w) = w {
        y = lift(c, &[y, w], 1.0, 0.0, |x| x[0] * x[1]);
    }
    if let Some(b) = b {
        y = lift(c, &[y, b], 1.0, 0.0, |x| x[0] + x[1]);
    }
    if y.poisoned() {
        y
    } else {
        lift(d, &[y], 0.0, 0.0, |x| x[0])
    }
}

/// Softmax and the normalisations.
pub fn rows(op: Op, args: &[A], v: &[Array]) -> Eval {
    let x = val(&args[0], v)?;
    let rank = x.shape.len();
    let d = if x.dtype.is_float() { x.dtype } else { DType::F32 };
    if matches!(op, Op::Softmax | Op::LogSoftmax) {
        let at = axis(int(&args[1])?, rank.max(1))?;
        let x = &Array::of(d, x.shape.clone(), super::cast::promoted(x, d));
        let over = if rank == 0 { vec![] } else { vec![at] };
        let mut cells = vec![Cell::any(); x.cells.len()];
        let inner = if rank == 0 { 1 } else { count(&x.shape[at + 1..]) };
        let n = if rank == 0 { 1 } else { x.shape[at] };
        for (r, row) in fold::rows(x, &over).iter().enumerate() {
            for (i, y) in soft(d, row, op == Op::LogSoftmax).into_iter().enumerate() {
                cells[(r / inner) * inner * n + i * inner + r % inner] = y;
            }
        }
        return Ok(Array::of(d, x.shape.clone(), cells));
    }
    if !x.dtype.is_float() {
        return refuse("floats only");
    }
    let (k, weights, eps) = match op {
        Op::LayerNorm => (
            int(&args[1])?,
            vec![&args[2], &args[3]],
            scalar(&args[4])?.to_f64(),
        ),
        _ => (1, vec![&args[1]], scalar(&args[2])?.to_f64()),
    };
    if k < 1 || k as usize > rank {
        return refuse("trailing dims");
    }
    let tail = &x.shape[rank - k as usize..];
    for w in &weights {
        if let A::V(i) = w
            && (v[*i].shape != tail || v[*i].dtype != d)
        {
            return refuse("weights");
        }
    }
    let n = count(tail);
    let cell = |w: Option<&&A>, i: usize| match w {
        Some(A::V(a)) => Some(v[*a].cells[i]),
        _ => None,
    };
    let mut cells = Vec::with_capacity(x.cells.len());
    if n == 0 {
        return Ok(Array::of(d, x.shape.clone(), cells));
    }
    for row in x.cells.chunks(n) {
        for (i, y) in scaled(d, row, eps, op == Op::LayerNorm).into_iter().enumerate() {
            cells.push(affine(d, y, cell(weights.first(), i), cell(weights.get(1), i)));
        }
    }
    if cells.len() != x.cells.len() {
        return Err(Stop::Unknown);
    }
    Ok(Array::of(d, x.shape.clone(), cells))
}
