//! Element-wise operations and casts.

use super::operands::{Need, float};
use super::{Family, Maker};
use crate::case::{A, count};
use crate::inputs::Flavour;
use crate::reference;
use tensorplay_graph::{DType, Op};

use Op::*;
const UNARY: &[Op] = &[
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sqrt,
    Rsqrt,
    Reciprocal,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Erf,
    Erfc,
    Sigmoid,
    Logsigmoid,
    Relu6,
    Selu,
    Gelu,
    GeluTanh,
    Silu,
    Mish,
    Hardswish,
    Hardsigmoid,
    Softsign,
    LeakyRelu,
    Elu,
    Celu,
    Softplus,
    Hardtanh,
    Powf,
    NanToNum,
];
const SIMPLE: &[Op] = &[Neg, Abs, Square, Relu, Clamp, ClampMin, ClampMax, Powi];
const JUMPS: &[Op] = &[
    Sign, Floor, Ceil, Round, Trunc, Frac, Isnan, Isinf, Isfinite, LogicalNot, BitwiseNot,
];
const BINARY: &[Op] = &[
    Add, Sub, Mul, Div, Rsub, Rdiv, Add, Sub, Mul, Div, Maximum, Minimum, Fmax, Fmin, Pow, Atan2, Hypot,
];
const JUMPS2: &[Op] = &[Copysign, Fmod, Remainder, FloorDiv];
const COMPARE: &[Op] = &[Eq, Ne, Lt, Le, Gt, Ge];
const LOGIC: &[Op] = &[
    LogicalAnd, LogicalOr, LogicalXor, BitwiseAnd, BitwiseOr, BitwiseXor,
];
const SELECT: &[Op] = &[WhereCond, WhereCond, MaskedFill, Lerp, Addcmul];

pub(super) const FAMILIES: &[Family] = &[
    Family {
        weight: 18,
        ops: UNARY,
        args: unary,
    },
    Family {
        weight: 7,
        ops: SIMPLE,
        args: unary,
    },
    Family {
        weight: 5,
        ops: JUMPS,
        args: jump,
    },
    Family {
        weight: 24,
        ops: BINARY,
        args: binary,
    },
    Family {
        weight: 4,
        ops: JUMPS2,
        args: jump2,
    },
    Family {
        weight: 5,
        ops: COMPARE,
        args: jump2,
    },
    Family {
        weight: 4,
        ops: LOGIC,
        args: logic,
    },
    Family {
        weight: 6,
        ops: SELECT,
        args: select,
    },
    Family {
        weight: 6,
        ops: &[ToDtype],
        args: cast,
    },
];

pub(super) const FUSED: &[Family] = &[
    Family {
        weight: 4,
        ops: &[Exp, Sigmoid, Tanh, Abs, Square, Neg, Relu],
        args: unary,
    },
    Family {
        weight: 10,
        ops: &[Add, Sub, Mul, Div, Maximum, Rsub],
        args: binary,
    },
    Family {
        weight: 1,
        ops: &[WhereCond, Lerp, Addcmul],
        args: select,
    },
];

fn unary(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let (a, x) = m.receiver(Need::default());
    let (one, d) = (A::V(a), x.dtype);
    Some(match op {
        LeakyRelu | Elu | Celu => vec![one, float(*m.r.pick(&[0.1, 1.0, 0.5, 2.0]))],
        Softplus => vec![one, float(*m.r.pick(&[1.0, 2.0, 0.5])), float(20.0)],
        Hardtanh => vec![one, float(-1.0), float(*m.r.pick(&[1.0, 0.5]))],
        Clamp => {
            let (lo, hi) = (m.scalar(d, Flavour::Any), m.scalar(d, Flavour::Any));
            vec![one, A::S(lo), A::S(hi)]
        }
        ClampMin | ClampMax => vec![one, A::S(m.scalar(d, Flavour::Any))],
        Powf => vec![one, float(*m.r.pick(&[0.5, 2.0, -1.0, 3.0, 1.7, 0.0, 1.0]))],
        Powi => vec![one, A::I(*m.r.pick(&[0, 1, 2, 3, 4, -1]))],
        NanToNum => vec![one, float(0.0), float(*m.r.pick(&[1.0, 1e4])), float(-2.0)],
        _ => vec![one],
    })
}

fn jump(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let exact = !m.r.one_in(12);
    let (a, _) = m.receiver(Need {
        exact,
        float: op == Frac,
        int: op == BitwiseNot,
        ..Need::default()
    });
    Some(vec![A::V(a)])
}

fn binary(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let (a, x) = m.receiver(Need::default());
    let b = match op {
        Pow => m.operand(a, true, Flavour::Exponent, false),
        Div | Rdiv => m.operand(a, true, Flavour::NonZero, false),
        Rsub => A::S(m.scalar(x.dtype, Flavour::Any)),
        _ => m.operand(a, true, Flavour::Any, false),
    };
    Some(vec![A::V(a), b])
}

fn jump2(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let exact = !m.r.one_in(12);
    let (a, _) = m.receiver(Need {
        exact,
        ..Need::default()
    });
    let flavour = if matches!(op, Fmod | Remainder | FloorDiv) {
        Flavour::NonZero
    } else {
        Flavour::Any
    };
    let b = m.operand(a, true, flavour, exact);
    Some(vec![A::V(a), b])
}

fn logic(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let logical = matches!(op, LogicalAnd | LogicalOr | LogicalXor);
    let (a, _) = m.receiver(Need {
        exact: logical,
        int: !logical,
        ..Need::default()
    });
    let b = m.operand(a, !logical, Flavour::Any, logical);
    Some(vec![A::V(a), b])
}

fn select(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    if op == WhereCond {
        let c = m.pick(|x| x.dtype == DType::Bool && x.poisoned() == 0)?;
        let a = m.operand(c, true, Flavour::Any, false);
        let wide = match a {
            A::V(v) if count(&m.values[v].shape) > count(&m.values[c].shape) => v,
            _ => c,
        };
        let b = m.operand(wide, true, Flavour::Any, false);
        return Some(vec![A::V(c), a, b]);
    }
    let (a, x) = m.receiver(Need::default());
    let (one, d) = (A::V(a), x.dtype);
    Some(match op {
        MaskedFill => {
            let mask = m.pick(|m| {
                m.dtype == DType::Bool && m.poisoned() == 0 && reference::broadcasts(&m.shape, &x.shape)
            })?;
            vec![one, A::V(mask), A::S(m.scalar(d, Flavour::Any))]
        }
        Lerp => {
            let e = m.operand(a, false, Flavour::Any, false);
            let w = if m.r.chance(60) {
                float(*m.r.pick(&[0.0, 0.25, 0.5, 1.0]))
            } else {
                m.operand(a, false, Flavour::Any, false)
            };
            vec![one, e, w]
        }
        _ => {
            let s = m.operand(a, false, Flavour::Any, false);
            let t = m.operand(a, false, Flavour::Any, false);
            vec![one, s, t, A::S(m.scalar(d, Flavour::Any))]
        }
    })
}

fn cast(m: &mut Maker, _: Op) -> Option<Vec<A>> {
    let (a, x) = m.receiver(Need::default());
    let to = *m.r.pick(&DType::ALL);
    if x.dtype.is_float() && !to.is_float() && !x.exact() && !m.r.one_in(10) {
        return None;
    }
    Some(vec![A::V(a), A::D(to)])
}
