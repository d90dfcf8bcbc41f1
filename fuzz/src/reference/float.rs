//! The float functions, as mathematics states them, in f64.

use super::cell::{Cell, lift, ulp};
use tensorplay_graph::{DType, Op};

fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        x.exp() / (1.0 + x.exp())
    }
}

/// A unary float function on an element of type `d`.
pub fn unary(op: Op, d: DType, x: Cell) -> Cell {
    let c = d.compute();
    let big = d == DType::F64;
    let u = if big { 16.0 } else { 8.0 };
    let own = |f: f64| if x.v.is_finite() { f * ulp(c, x.v) } else { 0.0 };
    let f = |ulps: f64, extra: f64, f: &dyn Fn(f64) -> f64| lift(d, &[x], ulps, extra, |a| f(a[0]));
    // x * 0 at -inf: PyTorch says NaN for some, tensorplay 0 for gelu
    let tail = matches!(
        op,
        Op::Silu | Op::Mish | Op::Gelu | Op::GeluTanh | Op::Hardswish | Op::Softsign | Op::Selu
    );
    if tail && x.v.is_infinite() {
        return Cell::any();
    }
    // the corners of a bound say nothing of a period or a pole between them
    let wild = match op {
        Op::Sin | Op::Cos => x.e > 0.5,
        Op::Reciprocal => x.spans_zero(),
        Op::Frac => x.e > 0.0 && (x.v - x.e).trunc() != (x.v + x.e).trunc(),
        Op::Tan => x.e > 0.0 && x.v.cos().abs() <= 4.0 * x.e,
        _ => false,
    };
    if wild {
        return Cell::any();
    }
    match op {
        Op::Exp => f(u, 0.0, &f64::exp),
        Op::Exp2 => f(u, 0.0, &f64::exp2),
        Op::Expm1 => f(u, 0.0, &f64::exp_m1),
        Op::Log => f(u, 0.0, &f64::ln),
        Op::Log2 => f(u, 0.0, &f64::log2),
        Op::Log10 => f(u, 0.0, &f64::log10),
        Op::Log1p => f(u, 0.0, &f64::ln_1p),
        Op::Sqrt => f(0.0, 0.0, &f64::sqrt),
        Op::Rsqrt => f(u, 0.0, &|x| 1.0 / x.sqrt()),
        Op::Reciprocal => f(0.0, 0.0, &|x| 1.0 / x),
        Op::Sin => f(u, 0.0, &f64::sin),
        Op::Cos => f(u, 0.0, &f64::cos),
        Op::Tan => f(u, 0.0, &f64::tan),
        Op::Asin => f(u, 0.0, &f64::asin),
        Op::Acos => f(u, 0.0, &f64::acos),
        Op::Atan => f(u, 0.0, &f64::atan),
        Op::Sinh => f(u, 0.0, &f64::sinh),
        Op::Cosh => f(u, 0.0, &f64::cosh),
        Op::Tanh => f(u, 0.0, &f64::tanh),
        Op::Asinh => f(u, 0.0, &libm::asinh),
        Op::Acosh => f(u, 0.0, &|x| if x < 1.0 { f64::NAN } else { libm::acosh(x) }),
        Op::Atanh => f(u, 0.0, &libm::atanh),
        Op::Erf => f(u, 0.0, &libm::erf),
        Op::Erfc => f(u, 0.0, &libm::erfc),
        Op::Sigmoid => f(u, 0.0, &sigmoid),
        Op::Logsigmoid => f(u, 0.0, &|x| x.min(0.0) - (-x.abs()).exp().ln_1p()),
        Op::Relu6 => f(0.0, 0.0, &|x| if x.is_nan() { x } else { x.clamp(0.0, 6.0) }).unsigned_zero(),
        Op::Selu => f(u, 0.0, &|x| {
            let (a, s) = (1.673_263_242_354_377_2, 1.050_700_987_355_480_5);
            if x > 0.0 { s * x } else { s * a * x.exp_m1() }
        }),
        Op::Gelu => f(u, own(if big { 2048.0 } else { 8.0 }), &|x| {
            0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
        }),
        Op::GeluTanh => f(u, own(if big { 2048.0 } else { 8.0 }), &|x| {
            let y = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
            x * sigmoid(2.0 * y)
        }),
        Op::Silu => f(u, x.v.abs() * super::cell::smallest(c), &|x| x * sigmoid(x)),
        Op::Mish => f(u, 0.0, &|x| x * (x.max(0.0) + (-x.abs()).exp().ln_1p()).tanh()),
        Op::Hardswish => f(u, own(2.0), &|x| x * ((x + 3.0).clamp(0.0, 6.0) / 6.0)),
        Op::Hardsigmoid => f(u, ulp(c, 1.0), &|x| (x + 3.0).clamp(0.0, 6.0) / 6.0),
        Op::Softsign => f(u, 0.0, &|x| x / (1.0 + x.abs())),
        Op::Frac => f(0.0, 0.0, &|x| x - x.trunc()).unsigned_zero(),
        _ => Cell::any(),
    }
}

/// The remainder with the sign of the divisor.
pub fn remainder(a: f64, b: f64) -> f64 {
    let r = a % b;
    if r != 0.0 && (r < 0.0) != (b < 0.0) {
        r + b
    } else {
        r
    }
}

/// The quotient rounded down, from the exact remainder.
pub fn floor_div(a: f64, b: f64) -> f64 {
    if b == 0.0 {
        return a / b;
    }
    let r = a % b;
    let q = (a - r) / b;
    let q = if r != 0.0 && (r < 0.0) != (b < 0.0) {
        q - 1.0
    } else {
        q
    };
    if q == 0.0 {
        0f64.copysign(a / b)
    } else {
        (q + 0.5).floor()
    }
}
