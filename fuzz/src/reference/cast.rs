//! Conversions between dtypes, as Rust's `as`; non-zero is true.

use super::cell::{Cell, lift, wrap};
use super::{Array, Eval, refuse, val};
use crate::case::A;
use tensorplay_graph::DType;

/// One element in another dtype.
pub fn convert(c: Cell, from: DType, to: DType) -> Cell {
    if c.poisoned() {
        return Cell::any();
    }
    match (from.is_float(), to.is_float()) {
        (true, true) if from == to => c,
        (true, true) => lift(to, &[c], 0.0, 0.0, |x| x[0]),
        (true, false) => {
            let f = |v: f64| match to {
                DType::I32 => i64::from(v as i32),
                DType::U8 => i64::from(v as u8),
                DType::Bool => i64::from(v != 0.0),
                _ => v as i64,
            };
            let i = f(c.v);
            if c.e > 0.0 && (f(c.v - c.e) != i || f(c.v + c.e) != i) {
                Cell::any()
            } else {
                Cell::int(i)
            }
        }
        (false, true) => match to {
            DType::F32 => Cell::float(f64::from(c.i as f32)),
            DType::F64 => Cell::float(c.i as f64),
            // an integer of more than 24 bits may be rounded twice
            _ if c.i.unsigned_abs() >> 24 != 0 => lift(
                to,
                &[Cell {
                    v: c.i as f64,
                    i: 0,
                    e: super::cell::ulp(DType::F32, c.i as f64),
                }],
                0.0,
                0.0,
                |x| x[0],
            ),
            _ => lift(to, &[Cell::float(c.i as f64)], 0.0, 0.0, |x| x[0]),
        },
        (false, false) => Cell::int(wrap(to, c.i)),
    }
}

/// All elements in another dtype, as operands are promoted. A half type that becomes another is not rounded.
pub fn promoted(a: &Array, to: DType) -> Vec<Cell> {
    a.cells.iter().map(|&c| convert(c, a.dtype, to)).collect()
}

/// `to_dtype`.
pub fn eval(args: &[A], v: &[Array]) -> Eval {
    let x = val(&args[0], v)?;
    let A::D(d) = args[1] else {
        return refuse("not a dtype");
    };
    Ok(Array::of(d, x.shape.clone(), promoted(x, d)))
}
