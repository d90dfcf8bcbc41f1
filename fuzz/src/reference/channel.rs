//! Normalisations by channel (axis 1): `batch_norm` and `group_norm`.

use super::cell::{Cell, lift, ulp};
use super::norm::{affine, scaled};
use super::{Array, Eval, floats, int, opt_val, refuse, scalar, val};
use crate::case::{A, count};
use tensorplay_graph::{DType, Op};

/// `1 / sqrt(v + eps)`.
fn scale(c: DType, v: Cell, eps: f64) -> Cell {
    let sum = v.v + eps;
    // what cancels, or may be negative, is as good as anything
    if sum.is_finite() && (sum.abs() < 0.01 * v.v.abs().max(eps) || sum.abs() <= 2.0 * v.e) {
        return Cell::any();
    }
    let slack = if sum > 0.0 && sum.is_finite() {
        ulp(c, v.v.abs() + eps) / (sum * sum.sqrt())
    } else {
        0.0
    };
    lift(c, &[v], 4.0, slack, |x| 1.0 / (x[0] + eps).sqrt())
}

/// `batch_norm` and `group_norm`.
pub fn eval(op: Op, args: &[A], v: &[Array]) -> Eval {
    let x = val(&args[0], v)?;
    let statistics = match op {
        Op::BatchNorm => Some((val(&args[1], v)?, val(&args[2], v)?)),
        _ => None,
    };
    let (w, b, eps) = match op {
        Op::BatchNorm => (&args[3], &args[4], &args[5]),
        _ => (&args[2], &args[3], &args[4]),
    };
    let (w, b, eps) = (opt_val(w, v)?, opt_val(b, v)?, scalar(eps)?.to_f64());
    let all = [statistics.map(|s| s.0), statistics.map(|s| s.1), w, b];
    floats(&[Some(x), all[0], all[1], all[2], all[3]])?;
    if x.shape.len() < 2 {
        return refuse("rank");
    }
    let channels = x.shape[1];
    if all.iter().flatten().any(|y| y.shape != [channels]) {
        return refuse("channels");
    }
    let (d, c) = (x.dtype, x.dtype.compute());
    let inner = count(&x.shape[2..]);
    let by = |y: Option<&Array>, i: usize| y.map(|y| y.cells[i / inner % channels]);
    let rounded: Vec<Cell> = match statistics {
        Some((mean, var)) => {
            let one = |(i, &x): (usize, &Cell)| {
                let k = i / inner % channels;
                let t = lift(c, &[x, mean.cells[k]], 1.0, 0.0, |x| x[0] - x[1]);
                lift(c, &[t, scale(c, var.cells[k], eps)], 1.0, 0.0, |x| x[0] * x[1])
            };
            x.cells.iter().enumerate().map(one).collect()
        }
        None => {
            let groups = int(&args[1])?;
            if groups < 1 || channels % groups as usize != 0 {
                return refuse("groups");
            }
            let row = channels / groups as usize * inner;
            x.cells
                .chunks(row.max(1))
                .flat_map(|row| scaled(d, row, eps, true))
                .collect()
        }
    };
    let cells = rounded.into_iter().enumerate();
    let cells = cells.map(|(i, y)| affine(d, y, by(w, i), by(b, i))).collect();
    Ok(Array::of(d, x.shape.clone(), cells))
}
