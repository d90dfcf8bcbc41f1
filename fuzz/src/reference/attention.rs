//! Scaled dot-product attention: a row of scores, its softmax, a weighted mean of values.
//!
//! A row that sees no key, or scores of minus infinity only, is 0. What is hidden from a row may still reach it as 0
//! times a value: where that value is not finite, the result is not defined.

use super::cell::{Cell, largest, smallest, ulp};
use super::contract::finish;
use super::{Array, Eval, broadcast, floats, opt_val, refuse, source, val};
use crate::case::{A, count, each, strides};
use tensorplay_graph::{DType, Host};

/// `scale * q . k`, in any order, scaled before or after.
fn score(c: DType, q: &[Cell], k: &[Cell], scale: f64) -> Cell {
    let (mut sum, mut size, mut e) = (0.0f64, 0.0f64, 0.0f64);
    let inexact = q.iter().chain(k).any(|x| x.e > 0.0);
    for (a, b) in q.iter().zip(k) {
        if a.poisoned() || b.poisoned() {
            return Cell::any();
        }
        let p = a.v * scale * b.v;
        sum += p;
        size += p.abs();
        e += (a.v.abs() * b.e + b.v.abs() * a.e + a.e * b.e) * scale.abs();
    }
    let finite = q.iter().chain(k).all(|x| x.v.is_finite());
    if !finite {
        // which products cancel to NaN is clear for exact operands only
        return if inexact || !sum.is_nan() {
            Cell::any()
        } else {
            Cell::float(f64::NAN)
        };
    }
    if size + e > largest(c) * 0.1
        || q.iter()
            .chain(k)
            .any(|x| x.v.abs() * (1.0 + scale.abs()) > largest(c) * 0.1)
    {
        return Cell::any();
    }
    let n = q.len() as f64;
    Cell {
        v: sum,
        i: 0,
        e: e + (n + 5.0) * ulp(c, size) + (n + 1.0) * ulp(c, 0.0) * (1.0 + scale.abs()),
    }
}

/// A column of values, weighted by the softmax of the scores; both of the visible keys.
fn blend(d: DType, scores: &[Cell], values: &[Cell]) -> Cell {
    let c = d.compute();
    if scores.iter().chain(values).any(Cell::poisoned) {
        return Cell::any();
    }
    if scores.iter().any(|s| s.v.is_nan() || s.v == f64::INFINITY) {
        return Cell::float(f64::NAN);
    }
    let top = scores.iter().fold(f64::NEG_INFINITY, |m, s| m.max(s.v));
    if top == f64::NEG_INFINITY {
        return Cell::float(0.0);
    }
    if values.iter().any(|x| !x.v.is_finite()) {
        let nan = values.iter().any(|x| x.v.is_nan());
        return if nan { Cell::float(f64::NAN) } else { Cell::any() };
    }
    let worst = scores.iter().fold(0.0f64, |m, s| m.max(s.e));
    let (mut above, mut below, mut size, mut ea, mut eb) = (0.0f64, 0.0f64, 0.0f64, 0.0f64, 0.0f64);
    for (s, x) in scores.iter().zip(values) {
        let t = s.v - top;
        if t == f64::NEG_INFINITY {
            continue;
        }
        let slack = s.e + worst + 2.0 * ulp(c, t.abs() + worst) + 12.0 * ulp(c, 1.0);
        if slack > 0.3 {
            return Cell::any();
        }
        let w = t.exp();
        let dw = w * slack.exp_m1() + 16.0 * smallest(c);
        above += w * x.v;
        below += w;
        size += w * x.v.abs();
        ea += dw * (x.v.abs() + x.e) + w * x.e;
        eb += dw;
    }
    let n = scores.len() as f64;
    ea += (n + 4.0) * ulp(c, size) + n * ulp(c, 0.0);
    eb += (n + 4.0) * ulp(c, below);
    if size > largest(c) * 0.1 || eb > 0.5 * below {
        return Cell::any();
    }
    let y = above / below;
    let e = 2.0 * (ea + y.abs() * eb) / below + 4.0 * ulp(c, y);
    finish(d, y, if d == DType::F64 { 2.0 * e } else { e }, y.abs(), 1.0)
}

/// The last two sizes.
fn matrix(x: &Array) -> Eval<(&[usize], usize, usize)> {
    match &x.shape[..] {
        [lead @ .., m, n] => Ok((lead, *m, *n)),
        _ => refuse("rank"),
    }
}

/// `scaled_dot_product_attention`.
pub fn eval(args: &[A], v: &[Array]) -> Eval {
    let (q, k, x) = (val(&args[0], v)?, val(&args[1], v)?, val(&args[2], v)?);
    let mask = opt_val(&args[3], v)?;
    let A::O(options) = &args[4] else {
        return refuse("not options");
    };
    floats(&[Some(q), Some(k), Some(x), mask.filter(|m| m.dtype != DType::Bool)])?;
    let ((ql, rows, e), (kl, keys, f), (xl, n, width)) = (matrix(q)?, matrix(k)?, matrix(x)?);
    if e != f || keys != n {
        return refuse("sizes");
    }
    let lead = broadcast(&[ql, kl, xl])?;
    let mut table = lead.clone();
    table.extend([rows, keys]);
    if let Some(m) = mask
        && broadcast(&[&table, &m.shape])? != table
    {
        return refuse("mask");
    }
    let (d, c) = (q.dtype, q.dtype.compute());
    let causal = options[0] == Some(Host::Bool(true));
    let scale = options[1]
        .and_then(Host::as_float)
        .unwrap_or(1.0 / (e.max(1) as f64).sqrt());
    let [qs, ks, xs] = [ql, kl, xl].map(strides);
    let ms = mask.map(|m| strides(&m.shape));
    let mut cells = Vec::new();
    each(&lead, |at| {
        let q = &q.cells[source(ql, &qs, at) * rows * e..][..rows * e];
        let k = &k.cells[source(kl, &ks, at) * keys * e..][..keys * e];
        let x = &x.cells[source(xl, &xs, at) * keys * width..][..keys * width];
        for i in 0..rows {
            let (mut scores, mut seen, mut unclear) = (Vec::new(), Vec::new(), false);
            for j in 0..keys {
                let mut s = score(c, &q[i * e..(i + 1) * e], &k[j * e..(j + 1) * e], scale);
                let mut hidden = causal && j > i;
                if let (Some(m), Some(st)) = (mask, &ms) {
                    let mut place = at.to_vec();
                    place.extend([i, j]);
                    let m_cell = m.cells[source(&m.shape, st, &place)];
                    if m.dtype == DType::Bool {
                        unclear |= m_cell.poisoned() && !hidden;
                        hidden |= m_cell.i == 0;
                    } else if s.poisoned() || m_cell.poisoned() {
                        s = Cell::any();
                    } else {
                        let v = s.v + m_cell.v;
                        let size = if v.is_finite() {
                            s.v.abs() + m_cell.v.abs()
                        } else {
                            0.0
                        };
                        s = Cell {
                            v,
                            i: 0,
                            e: s.e + m_cell.e + 2.0 * ulp(c, size),
                        };
                        if size + s.e > largest(c) * 0.1 {
                            s = Cell::any();
                        }
                    }
                }
                if !hidden {
                    scores.push(s);
                    seen.push(j);
                }
            }
            let all_low = scores.iter().all(|s| s.v == f64::NEG_INFINITY && !s.poisoned());
            for column in 0..width {
                let value = |j: usize| x[j * width + column];
                let values: Vec<Cell> = seen.iter().map(|&j| value(j)).collect();
                let behind = (0..keys).filter(|j| !seen.contains(j));
                let stray = behind.map(value).any(|v| v.poisoned() || !v.v.is_finite());
                cells.push(if unclear || (stray && !all_low) {
                    Cell::any()
                } else if all_low {
                    Cell::float(0.0)
                } else {
                    blend(d, &scores, &values)
                });
            }
        }
    });
    let mut shape = lead;
    shape.extend([rows, width]);
    debug_assert_eq!(count(&shape), cells.len());
    Ok(Array::of(d, shape, cells))
}
