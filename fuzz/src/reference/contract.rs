//! Matrix products: three loops, with the bound of a sum in any order.

use super::cell::{Cell, largest, round_to, ulp, wrap};
use super::{Array, Eval, broadcast, refuse, val};
use crate::case::{A, count, each, strides};
use tensorplay_graph::DType;

/// A sum of products of floats, in any order, with or without fused multiply-add.
pub fn dot(d: DType, terms: impl Iterator<Item = (Cell, Cell)>) -> Cell {
    let c = d.compute();
    let (mut sum, mut size, mut e, mut n, mut over) = (0.0f64, 0.0f64, 0.0f64, 0.0f64, false);
    for (a, b) in terms {
        if a.poisoned() || b.poisoned() {
            return Cell::any();
        }
        let p = a.v * b.v;
        sum += p;
        n += 1.0;
        if p.is_finite() {
            size += p.abs();
        } else if a.v.is_finite() && b.v.is_finite() {
            over = true;
        } else if (a.e > 0.0 && !b.v.is_finite()) || (b.e > 0.0 && !a.v.is_finite()) {
            return Cell::any();
        }
        if p.is_finite() {
            e += a.v.abs() * b.e + b.v.abs() * a.e + a.e * b.e;
        }
    }
    if over || size + e > largest(c) * 0.25 || e.is_nan() {
        return if sum.is_nan() && !over && size <= largest(c) * 0.25 {
            Cell::float(f64::NAN)
        } else {
            Cell::any()
        };
    }
    finish(d, sum, e, size, n)
}

/// A result with propagated error `e` that was summed from `n` terms of total size `size`.
pub fn finish(d: DType, sum: f64, mut e: f64, size: f64, n: f64) -> Cell {
    let c = d.compute();
    let v = round_to(d, sum);
    if !sum.is_finite() {
        return Cell::float(sum);
    }
    if !v.is_finite() {
        return Cell::any();
    }
    if n > 1.0 {
        e += (n + 2.0) * ulp(c, size) * 0.5 + n * ulp(c, 0.0);
    } else if v != sum {
        e += ulp(c, v);
    }
    if d == DType::F64 && n > 1.0 {
        e *= 2.0;
    }
    if d.is_half() && (v != sum || e > 0.0) {
        // as in `lift`: an error before the rounding may take the two results to either side of a tie
        e += if e > 0.0 { 1.0 } else { 0.75 } * ulp(d, v);
    }
    if v.abs() + e > largest(d) {
        return Cell::any();
    }
    Cell {
        v,
        i: 0,
        e: if v == 0.0 { e.max(f64::from_bits(1)) } else { e },
    }
}

fn product(a: &Array, b: &Array) -> Eval {
    if a.dtype != b.dtype || a.dtype == DType::Bool {
        return refuse("dtypes");
    }
    if a.shape.is_empty() || b.shape.is_empty() {
        return refuse("scalar operand");
    }
    let mut sa = a.shape.clone();
    let mut sb = b.shape.clone();
    if a.shape.len() == 1 {
        sa.insert(0, 1);
    }
    if b.shape.len() == 1 {
        sb.push(1);
    }
    let (m, k, n) = (sa[sa.len() - 2], sa[sa.len() - 1], sb[sb.len() - 1]);
    if sb[sb.len() - 2] != k {
        return refuse("inner dimensions");
    }
    let (ba, bb) = (&sa[..sa.len() - 2], &sb[..sb.len() - 2]);
    let batch = broadcast(&[ba, bb])?;
    let (ta, tb) = (strides(ba), strides(bb));
    let mut cells = Vec::new();
    each(&batch, |at| {
        let pa = super::source(ba, &ta, at) * m * k;
        let pb = super::source(bb, &tb, at) * k * n;
        for i in 0..m {
            for j in 0..n {
                let terms = (0..k).map(|l| (a.cells[pa + i * k + l], b.cells[pb + l * n + j]));
                cells.push(if a.dtype.is_float() {
                    dot(a.dtype, terms)
                } else {
                    let mut poisoned = false;
                    let sum = terms.fold(0i64, |s, (x, y)| {
                        poisoned |= x.poisoned() || y.poisoned();
                        s.wrapping_add(x.i.wrapping_mul(y.i))
                    });
                    if poisoned {
                        Cell::any()
                    } else {
                        Cell::int(wrap(a.dtype, sum))
                    }
                });
            }
        }
    });
    let mut shape = batch;
    if a.shape.len() > 1 {
        shape.push(m);
    }
    if b.shape.len() > 1 {
        shape.push(n);
    }
    debug_assert_eq!(count(&shape), cells.len());
    Ok(Array::of(a.dtype, shape, cells))
}

/// `matmul`.
pub fn matmul(args: &[A], v: &[Array]) -> Eval {
    product(val(&args[0], v)?, val(&args[1], v)?)
}

/// `linear`.
pub fn linear(args: &[A], v: &[Array]) -> Eval {
    let (x, w) = (val(&args[0], v)?, val(&args[1], v)?);
    if w.shape.len() != 2 || x.shape.is_empty() || x.shape[x.shape.len() - 1] != w.shape[1] {
        return refuse("shapes");
    }
    let (o, i) = (w.shape[0], w.shape[1]);
    let cells = (0..i * o).map(|p| w.cells[(p % o) * i + p / o]).collect();
    let y = product(x, &Array::of(w.dtype, vec![i, o], cells))?;
    if args[2] == A::None {
        return Ok(y);
    }
    let b = val(&args[2], v)?;
    if b.shape != [o] || b.dtype != x.dtype {
        return refuse("bias");
    }
    super::elementwise::add(&y, b)
}
