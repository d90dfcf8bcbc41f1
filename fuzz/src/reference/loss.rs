//! Losses: the mean of what every element, or every sample, contributes. And `dropout` out of training.

use super::cell::{Cell, largest, lift, ulp};
use super::norm::soft;
use super::{Array, Eval, Stop, broadcast, flag, floats, index, reduce, refuse, scalar, spread, val};
use crate::case::{A, count};
use tensorplay_graph::{DType, Op};

/// The mean of cells in the compute type, rounded to `d`.
fn mean(d: DType, cells: &[Cell]) -> Array {
    let n = cells.len() as f64;
    let y = if cells.is_empty() {
        Cell::float(f64::NAN)
    } else {
        lift(d, &[reduce::sum(d.compute(), cells)], 1.0, 0.0, |x| x[0] / n)
    };
    Array::of(d, vec![], vec![y])
}

/// `x` with the logarithm of its softmax along the classes.
fn logarithms(x: &Array) -> Array {
    let c = x.dtype.compute();
    let a = usize::from(x.shape.len() > 1);
    let (n, inner) = (x.shape[a], count(&x.shape[a + 1..]));
    let mut cells = vec![Cell::any(); x.cells.len()];
    for (r, row) in reduce::rows(x, &[a]).iter().enumerate() {
        for (i, y) in soft(c, row, true).into_iter().enumerate() {
            cells[(r / inner * n + i) * inner + r % inner] = y;
        }
    }
    Array::of(c, x.shape.clone(), cells)
}

/// `max(x, 0) - x t + ln(1 + e^-|x|)`.
fn with_logits(c: DType, x: Cell, t: Cell) -> Cell {
    let size = x.v.abs() + (x.v * t.v).abs() + 1.0;
    if size.is_finite() && size > largest(c) * 0.1 {
        return Cell::any();
    }
    let slack = if size.is_finite() { 6.0 * ulp(c, size) } else { 0.0 };
    let f = |x: &[f64]| {
        let positive = if x[0].is_nan() { x[0] } else { x[0].max(0.0) };
        positive - x[0] * x[1] + (-x[0].abs()).exp().ln_1p()
    };
    lift(c, &[x, t], 4.0, slack, f)
}

/// Runs a loss.
pub fn eval(op: Op, args: &[A], v: &[Array]) -> Eval {
    let (x, t) = (val(&args[0], v)?, val(&args[1], v)?);
    let (d, c) = (x.dtype, x.dtype.compute());
    if matches!(op, Op::CrossEntropy | Op::NllLoss) {
        floats(&[Some(x)])?;
        if !t.dtype.is_int() || x.shape.is_empty() {
            return refuse("target or rank");
        }
        let logs = if op == Op::CrossEntropy {
            logarithms(x)
        } else {
            x.clone()
        };
        let chosen = index::targets(&logs, t)?;
        let losses: Vec<Cell> = chosen.iter().map(|y| Cell { v: -y.v, ..*y }).collect();
        return Ok(mean(d, &losses));
    }
    floats(&[Some(x), Some(t)])?;
    if op == Op::BinaryCrossEntropyWithLogits && x.shape != t.shape {
        return refuse("shapes");
    }
    let shape = broadcast(&[&x.shape, &t.shape])?;
    let pairs = spread(x, &shape).into_iter().zip(spread(t, &shape));
    let one = |(x, t): (Cell, Cell)| {
        let distance = || lift(c, &[x, t], 0.0, 0.0, |x| x[0] - x[1]);
        match op {
            Op::MseLoss => Ok(lift(c, &[distance()], 0.0, 0.0, |x| x[0] * x[0])),
            Op::L1Loss => Ok(lift(c, &[distance()], 0.0, 0.0, |x| x[0].abs())),
            Op::BinaryCrossEntropyWithLogits => Ok(with_logits(c, x, t)),
            _ => Err(Stop::Unknown),
        }
    };
    Ok(mean(d, &pairs.map(one).collect::<Eval<Vec<Cell>>>()?))
}

/// `dropout` out of training: the operand.
pub fn dropout(args: &[A], v: &[Array]) -> Eval {
    let x = val(&args[0], v)?;
    floats(&[Some(x)])?;
    if !(0.0..=1.0).contains(&scalar(&args[1])?.to_f64()) {
        return refuse("probability");
    }
    if flag(&args[2])? {
        return Err(Stop::Unknown);
    }
    Ok(x.clone())
}
