//! Results against the reference, and against each other.

use crate::case::float_of;
use crate::reference::Array;
use crate::reference::cell::{Cell, ulp};
use crate::tensors::bits_of;
use tensorplay::Tensor;
use tensorplay_graph::DType;

fn close(d: DType, c: &Cell, bits: u64) -> bool {
    if c.poisoned() {
        return true;
    }
    if !d.is_float() {
        return c.i == bits as i64;
    }
    let got = float_of(d, bits);
    if c.v.is_nan() || got.is_nan() {
        return c.v.is_nan() && got.is_nan();
    }
    if c.v.is_infinite() || c.exact() {
        return got == c.v && (got != 0.0 || got.is_sign_negative() == c.v.is_sign_negative());
    }
    let slack = if d.is_half() {
        0.75 * ulp(d, c.v)
    } else {
        ulp(d, c.v) * 0.5
    };
    (got - c.v).abs() <= c.e + slack
}

/// Holds a tensor against the reference.
///
/// # Errors
/// The first element that is not within its bound, or another shape or dtype.
pub fn with_reference(want: &Array, got: &Tensor) -> Result<(), String> {
    if want.dtype != got.dtype() || want.shape != got.shape() {
        return Err(format!(
            "is {}{:?}, expected {}{:?}",
            got.dtype(),
            got.shape(),
            want.dtype,
            want.shape
        ));
    }
    let bits = bits_of(got);
    let bad: Vec<usize> = (0..bits.len())
        .filter(|&i| !close(want.dtype, &want.cells[i], bits[i]))
        .collect();
    let Some(&i) = bad.first() else { return Ok(()) };
    let c = &want.cells[i];
    let (e, g) = if want.dtype.is_float() {
        (
            format!("{:?} +- {:e}", c.v, c.e),
            format!("{:?}", float_of(want.dtype, bits[i])),
        )
    } else {
        (c.i.to_string(), (bits[i] as i64).to_string())
    };
    Err(format!(
        "element {i} of {}{:?}: expected {e}, got {g} ({} of {} wrong)",
        want.dtype,
        want.shape,
        bad.len(),
        bits.len()
    ))
}

/// Holds two results of exact operations against each other, bit for bit; NaN is NaN.
///
/// # Errors
/// The first element that differs.
pub fn bitwise(a: &Tensor, b: &Tensor) -> Result<(), String> {
    if a.dtype() != b.dtype() || a.shape() != b.shape() {
        return Err(format!(
            "{}{:?} and {}{:?}",
            a.dtype(),
            a.shape(),
            b.dtype(),
            b.shape()
        ));
    }
    let d = a.dtype();
    let (x, y) = (bits_of(a), bits_of(b));
    let nan = |v: u64| d.is_float() && float_of(d, v).is_nan();
    match (0..x.len()).find(|&i| x[i] != y[i] && !(nan(x[i]) && nan(y[i]))) {
        None => Ok(()),
        Some(i) if d.is_float() => Err(format!(
            "element {i}: {:?} and {:?}",
            float_of(d, x[i]),
            float_of(d, y[i])
        )),
        Some(i) => Err(format!("element {i}: {} and {}", x[i] as i64, y[i] as i64)),
    }
}
