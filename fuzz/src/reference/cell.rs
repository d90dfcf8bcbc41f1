//! Numbers with an error bound.
//!
//! Problem: a right implementation may round otherwise than the reference (fused half types, other sums, other
//! approximations), and after a few operations nobody can tell its error from a bug.
//! Method: every element carries `e`, by how much a right result may differ from it; 0 means not at all,
//! infinity that anything is right (a jump lies within the bound). A function of inexact arguments is sampled at
//! the corners of their bounds.

use tensorplay_graph::DType;

/// One element: a float `v` with its bound, or an integer `i`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The float.
    pub v: f64,
    /// The integer; 0 or 1 for bool.
    pub i: i64,
    /// How far a right float may be away; infinite for an element that may be anything.
    pub e: f64,
}

impl Cell {
    /// A float that is known exactly.
    pub fn float(v: f64) -> Cell {
        Cell { v, i: 0, e: 0.0 }
    }
    /// An integer.
    pub fn int(i: i64) -> Cell {
        Cell { v: 0.0, i, e: 0.0 }
    }
    /// A truth value.
    pub fn bool(b: bool) -> Cell {
        Cell::int(i64::from(b))
    }
    /// Anything.
    pub fn any() -> Cell {
        Cell {
            v: 0.0,
            i: 0,
            e: f64::INFINITY,
        }
    }
    /// Whether it may be anything.
    pub fn poisoned(&self) -> bool {
        self.e == f64::INFINITY
    }
    /// Whether it is known exactly.
    pub fn exact(&self) -> bool {
        self.e == 0.0
    }
    /// Whether it may be zero of either sign, though it is not known exactly.
    pub fn spans_zero(&self) -> bool {
        self.e > 0.0 && self.v.abs() <= self.e
    }
    /// A zero whose sign is not defined is not exact.
    pub fn unsigned_zero(mut self) -> Cell {
        if self.v == 0.0 && self.e == 0.0 {
            self.e = f64::from_bits(1);
        }
        self
    }
}

fn format(d: DType) -> (i32, i32, f64) {
    match d {
        DType::F16 => (11, -14, 65504.0),
        DType::BF16 => (8, -126, 3.389_531_389_251_535_5e38),
        DType::F32 => (24, -126, f64::from(f32::MAX)),
        _ => (53, -1022, f64::MAX),
    }
}

/// The largest finite value.
pub fn largest(d: DType) -> f64 {
    format(d).2
}

/// The smallest normal value.
pub fn smallest(d: DType) -> f64 {
    2f64.powi(format(d).1)
}

fn exponent(x: f64) -> i32 {
    if x == 0.0 || !x.is_finite() {
        return -1100;
    }
    let e = (x.to_bits() >> 52 & 0x7ff) as i32;
    if e == 0 { -1023 } else { e - 1023 }
}

/// The spacing of the dtype's values at `x`.
pub fn ulp(d: DType, x: f64) -> f64 {
    let (p, emin, _) = format(d);
    libm::ldexp(1.0, exponent(x).max(emin) - (p - 1))
}

/// The nearest value of the dtype, ties to even.
pub fn round_to(d: DType, x: f64) -> f64 {
    match d {
        DType::F32 => f64::from(x as f32),
        DType::F16 | DType::BF16 => {
            if !x.is_finite() || x == 0.0 {
                return x;
            }
            let q = ulp(d, x);
            let r = (x / q).round_ties_even() * q;
            if r.abs() > largest(d) {
                f64::INFINITY.copysign(x)
            } else {
                r.copysign(x)
            }
        }
        _ => x,
    }
}

/// Integers wrap.
pub fn wrap(d: DType, v: i64) -> i64 {
    match d {
        DType::I32 => i64::from(v as i32),
        DType::U8 => i64::from(v as u8),
        DType::Bool => i64::from(v != 0),
        _ => v,
    }
}

fn class(x: f64) -> u8 {
    match x {
        x if x.is_nan() => 0,
        f64::INFINITY => 1,
        f64::NEG_INFINITY => 2,
        _ => 3,
    }
}

/// Applies a float function that a right implementation computes within `ulps` of the compute type (0: rounded
/// once), plus `extra` absolute error.
pub fn lift(d: DType, xs: &[Cell], ulps: f64, extra: f64, f: impl Fn(&[f64]) -> f64) -> Cell {
    if xs.iter().any(Cell::poisoned) {
        return Cell::any();
    }
    let at: Vec<f64> = xs.iter().map(|c| c.v).collect();
    let exact = f(&at);
    let v = round_to(d, exact);
    let mut spread: f64 = 0.0;
    if xs.iter().any(|c| c.e > 0.0) {
        let corners = 3usize.pow(xs.len() as u32);
        for k in 0..corners {
            let mut k = k;
            let moved: Vec<f64> = xs
                .iter()
                .map(|c| {
                    let s = (k % 3) as f64 - 1.0;
                    k /= 3;
                    if c.e == 0.0 { c.v } else { c.v + s * c.e }
                })
                .collect();
            let y = f(&moved);
            if class(round_to(d, y)) != class(v) {
                return Cell::any();
            }
            if v.is_finite() {
                spread = spread.max((y - exact).abs());
            }
        }
    }
    if v.is_nan() {
        return Cell::float(v);
    }
    let c = d.compute();
    if v.is_infinite() {
        // an overflow that another rounding may miss
        let near = exact.is_finite()
            && (d.is_half() || ((ulps > 0.0 || spread > 0.0) && exact.abs() < largest(c) * 1.001));
        return if near { Cell::any() } else { Cell::float(v) };
    }
    let mut e = spread * 1.3 + extra;
    if e > 0.0 || ulps > 0.0 {
        e += (ulps + 1.0) * ulp(c, v);
    }
    if ulps > 0.0 {
        e += smallest(c);
    }
    if d.is_half() && (v != exact || e > 0.0) {
        // `v` and the result under test are each rounded, and an error between them may be what takes them to
        // either side of a tie
        e += if e > 0.0 { 1.0 } else { 0.75 } * ulp(d, v);
    }
    if v.abs() + e > largest(d) {
        return if e > 0.0 { Cell::any() } else { Cell::float(v) };
    }
    if e.is_nan() {
        Cell::any()
    } else if xs.iter().any(|c| c.e > 0.0) {
        // 0 times something of unknown sign
        Cell { v, i: 0, e }.unsigned_zero()
    } else {
        Cell { v, i: 0, e }
    }
}
