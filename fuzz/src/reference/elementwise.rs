//! Element-wise operations: operands promoted, broadcast, and combined one by one.

use super::cell::{Cell, lift, round_to, ulp, wrap};
use super::{
    Array, Eval, Stop, broadcast, cast, float, promote, refuse, scalar, scalar_cell, spread, val, with_scalar,
};
use crate::case::A;
use tensorplay_graph::op::row::{LaneClass, Lowering};
use tensorplay_graph::{DType, Op, Scalar};

fn float_of(d: DType) -> DType {
    if d.is_float() { d } else { DType::F32 }
}

/// The dtype in which the operands meet.
fn meet(args: &[A], v: &[Array]) -> Eval<DType> {
    let mut d: Option<DType> = None;
    for a in args {
        if let A::V(i) = a {
            d = Some(d.map_or(v[*i].dtype, |p| promote(p, v[*i].dtype)));
        }
    }
    let mut out = d;
    for a in args {
        if let (A::S(_) | A::I(_), Some(t)) = (a, out) {
            out = Some(with_scalar(t, scalar(a)?));
        } else if let (A::S(_) | A::I(_), None) = (a, out) {
            out = Some(match scalar(a)? {
                Scalar::Float(_) => DType::F32,
                Scalar::Int(_) => DType::I64,
                Scalar::Bool(_) => DType::Bool,
            });
        }
    }
    out.ok_or(Stop::Unknown)
}

fn operands(args: &[A], v: &[Array], d: DType) -> Eval<(Vec<usize>, Vec<Vec<Cell>>)> {
    let shapes: Vec<&[usize]> = args
        .iter()
        .filter_map(|a| {
            if let A::V(i) = a {
                Some(&v[*i].shape[..])
            } else {
                None
            }
        })
        .collect();
    let shape = broadcast(&shapes)?;
    let n = crate::case::count(&shape);
    let mut out = Vec::new();
    for a in args {
        out.push(match a {
            A::V(i) => {
                let x = &v[*i];
                spread(&Array::of(d, x.shape.clone(), cast::promoted(x, d)), &shape)
            }
            A::S(_) | A::I(_) => vec![scalar_cell(d, scalar(a)?); n],
            _ => return refuse("argument"),
        });
    }
    Ok((shape, out))
}

/// `a + b` of arrays.
pub fn add(a: &Array, b: &Array) -> Eval {
    eval(Op::Add, &[A::V(0), A::V(1)], &[a.clone(), b.clone()])
}

/// The result of a comparison of inexact values.
fn decide(a: Cell, b: Cell, f: impl Fn(f64, f64) -> bool) -> Cell {
    if a.poisoned() || b.poisoned() {
        return Cell::any();
    }
    let r = f(a.v, b.v);
    if a.e > 0.0 || b.e > 0.0 {
        for x in [a.v - a.e, a.v + a.e] {
            for y in [b.v - b.e, b.v + b.e] {
                if f(x, y) != r {
                    return Cell::any();
                }
            }
        }
        if a.v.is_finite() && b.v.is_finite() && (a.v - b.v).abs() <= a.e + b.e {
            return Cell::any();
        }
    }
    Cell::bool(r)
}

fn truth(c: Cell, d: DType) -> Cell {
    cast::convert(c, d, DType::Bool)
}

/// Runs an element-wise operation.
pub fn eval(op: Op, args: &[A], v: &[Array]) -> Eval {
    use Op::*;
    let all = meet(args, v)?;
    let no_bool = |d: DType| if d == DType::Bool { refuse("bool") } else { Ok(d) };
    let first = val(&args[0], v)?.dtype;
    let tensors: Vec<A> = args.iter().filter(|a| matches!(a, A::V(_))).cloned().collect();
    let Lowering::Lane(class) = op.row().lowering else {
        return composite(op, args, v);
    };
    // the dtype in which the operands are taken
    let d = match op {
        Add | Mul | Maximum | Minimum => all,
        Sub | Rsub | Clamp | ClampMin | ClampMax | Fmax | Fmin | Fmod | Remainder | FloorDiv => no_bool(all)?,
        Pow => {
            let d = no_bool(all)?;
            if !d.is_float() && matches!(args[1], A::S(Scalar::Int(n)) if n < 0) {
                return refuse("negative exponent");
            }
            d
        }
        Div | Rdiv | Atan2 | Hypot | Copysign => float_of(all),
        Neg | Abs | Sign | Square | Relu | Floor | Ceil | Round | Trunc => no_bool(first)?,
        Frac if !first.is_float() => return refuse("floats only"),
        Isnan | Isinf | Isfinite => first,
        LogicalNot | LogicalAnd | LogicalOr | LogicalXor => all,
        BitwiseNot | BitwiseAnd | BitwiseOr | BitwiseXor => {
            for a in args {
                let float = match a {
                    A::V(i) => v[*i].dtype.is_float(),
                    A::S(s) => matches!(s, Scalar::Float(_)),
                    _ => false,
                };
                if float {
                    return refuse("floats");
                }
            }
            all
        }
        Eq | Ne | Lt | Le | Gt | Ge => all,
        WhereCond => {
            if first != DType::Bool {
                return refuse("condition");
            }
            meet(&args[1..], v)?
        }
        _ => float_of(meet(&tensors, v)?),
    };
    let (shape, xs) = if op == WhereCond {
        let c = A::V(0);
        let mask = val(&args[0], v)?.clone();
        let shapes: Vec<&[usize]> = args
            .iter()
            .filter_map(|a| {
                if let A::V(i) = a {
                    Some(&v[*i].shape[..])
                } else {
                    None
                }
            })
            .collect();
        let shape = broadcast(&shapes)?;
        let mut list = vec![spread(&mask, &shape)];
        let _ = c;
        for a in &args[1..] {
            list.push(match a {
                A::V(i) => spread(
                    &Array::of(d, v[*i].shape.clone(), cast::promoted(&v[*i], d)),
                    &shape,
                ),
                a => vec![scalar_cell(d, scalar(a)?); crate::case::count(&shape)],
            });
        }
        (shape, list)
    } else if matches!(op, LogicalAnd | LogicalOr | LogicalXor) {
        // truth of each operand in its own dtype
        let shapes = [&val(&args[0], v)?.shape[..], &val(&args[1], v)?.shape[..]];
        let shape = broadcast(&shapes)?;
        let list = args
            .iter()
            .map(|a| {
                let x = val(a, v)?;
                let cells = x.cells.iter().map(|&c| truth(c, x.dtype)).collect();
                Ok(spread(&Array::of(DType::Bool, x.shape.clone(), cells), &shape))
            })
            .collect::<Eval<Vec<_>>>()?;
        (shape, list)
    } else {
        operands(args, v, d)?
    };
    if !d.is_float()
        && matches!(op, Fmod | Remainder | FloorDiv)
        && xs[1].iter().any(|c| c.i == 0 && !c.poisoned())
    {
        return Err(Stop::Data("integer division by zero".into()));
    }
    let n = crate::case::count(&shape);
    let mut cells = Vec::with_capacity(n);
    let mut at = Vec::new();
    for i in 0..n {
        at.clear();
        at.extend(xs.iter().map(|x| x[i]));
        cells.push(one(op, d, &at));
    }
    let result = match class {
        LaneClass::Pred1 | LaneClass::Cmp2 | LaneClass::Bool1 | LaneClass::Bool2 => DType::Bool,
        _ => d,
    };
    Ok(Array::of(result, shape, cells))
}

fn composite(op: Op, args: &[A], v: &[Array]) -> Eval {
    match op {
        Op::MaskedFill => {
            let (x, mask) = (val(&args[0], v)?, val(&args[1], v)?);
            if mask.dtype != DType::Bool || with_scalar(x.dtype, scalar(&args[2])?) != x.dtype {
                return refuse("mask or value");
            }
            eval(
                Op::WhereCond,
                &[args[1].clone(), args[2].clone(), args[0].clone()],
                v,
            )
            .and_then(|a| {
                if a.dtype == x.dtype {
                    Ok(a)
                } else {
                    Err(Stop::Unknown)
                }
            })
        }
        Op::Addcmul => {
            let d = meet(args, v)?;
            if d == DType::Bool {
                return refuse("bool");
            }
            // the operands are promoted one by one: only where that is the same is the order of roundings defined
            let same = args.iter().all(|a| !matches!(a, A::V(i) if v[*i].dtype != d));
            if !same {
                return Err(Stop::Unknown);
            }
            let mut w = v.to_vec();
            w.push(eval(Op::Mul, &[args[1].clone(), args[3].clone()], v)?);
            let t = eval(Op::Mul, &[A::V(w.len() - 1), args[2].clone()], &w)?;
            w.push(t);
            eval(Op::Add, &[args[0].clone(), A::V(w.len() - 1)], &w)
        }
        Op::Powf => {
            let x = val(&args[0], v)?;
            let d = float_of(x.dtype);
            let e = scalar(&args[1])?.to_f64();
            let cells = cast::promoted(x, d);
            let cells = cells
                .into_iter()
                .map(|c| match e {
                    2.0 => one(Op::Square, d, &[c]),
                    0.5 if c.v != f64::NEG_INFINITY => one(Op::Sqrt, d, &[c]),
                    -1.0 => one(Op::Reciprocal, d, &[c]),
                    _ => one(Op::Pow, d, &[c, scalar_cell(d, Scalar::Float(e))]),
                })
                .collect();
            Ok(Array::of(d, x.shape.clone(), cells))
        }
        Op::Powi => {
            let x = val(&args[0], v)?;
            let n = super::int(&args[1])?;
            let d = x.dtype;
            if d == DType::Bool || (!d.is_float() && n < 0) {
                return refuse("powi");
            }
            let cells = x.cells.iter().map(|&c| match n {
                2 => one(Op::Square, d, &[c]),
                _ => one(Op::Pow, d, &[c, scalar_cell(d, Scalar::Int(n))]),
            });
            Ok(Array::of(d, x.shape.clone(), cells.collect()))
        }
        _ => Err(Stop::Unknown),
    }
}

fn ipow(d: DType, a: i64, e: i64) -> i64 {
    if e < 0 {
        return match a {
            1 => 1,
            -1 => 1 - 2 * (e & 1),
            _ => 0,
        };
    }
    let (mut base, mut e, mut y) = (a, e, 1i64);
    while e > 0 {
        if e & 1 == 1 {
            y = wrap(d, y.wrapping_mul(base));
        }
        base = wrap(d, base.wrapping_mul(base));
        e >>= 1;
    }
    y
}

fn one(op: Op, d: DType, x: &[Cell]) -> Cell {
    if op == Op::WhereCond {
        return match x[0] {
            c if c.poisoned() => Cell::any(),
            c if c.i != 0 => x[1],
            _ => x[2],
        };
    }
    if x.iter().any(Cell::poisoned) {
        return Cell::any();
    }
    if d.is_float() {
        floats(op, d, x)
    } else {
        integers(op, d, x)
    }
}

fn integers(op: Op, d: DType, x: &[Cell]) -> Cell {
    use Op::*;
    let a = x[0].i;
    let b = x.get(1).map_or(0, |c| c.i);
    let boolean = d == DType::Bool;
    let r = match op {
        Add if boolean => a | b,
        Mul if boolean => a & b,
        Add => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        Rsub => b.wrapping_sub(a),
        Mul => a.wrapping_mul(b),
        Neg => a.wrapping_neg(),
        Abs => a.wrapping_abs(),
        Sign => a.signum(),
        Square => a.wrapping_mul(a),
        Relu => a.max(0),
        Floor | Ceil | Round | Trunc => a,
        Isnan | Isinf => 0,
        Isfinite => 1,
        LogicalNot => i64::from(a == 0),
        LogicalAnd => a & b,
        LogicalOr => a | b,
        LogicalXor => a ^ b,
        BitwiseNot if boolean => 1 - a,
        BitwiseNot => !a,
        BitwiseAnd => a & b,
        BitwiseOr => a | b,
        BitwiseXor => a ^ b,
        Clamp => a.max(b).min(x[2].i),
        ClampMin | Maximum | Fmax => a.max(b),
        ClampMax | Minimum | Fmin => a.min(b),
        Pow => ipow(d, a, b),
        Fmod => a.wrapping_rem(b),
        Remainder => {
            let r = a.wrapping_rem(b);
            if r != 0 && (r < 0) != (b < 0) { r + b } else { r }
        }
        FloorDiv => {
            let (q, r) = (a.wrapping_div(b), a.wrapping_rem(b));
            if r != 0 && (r < 0) != (b < 0) { q - 1 } else { q }
        }
        Eq => i64::from(a == b),
        Ne => i64::from(a != b),
        Lt => i64::from(a < b),
        Le => i64::from(a <= b),
        Gt => i64::from(a > b),
        Ge => i64::from(a >= b),
        ToDtype => a,
        _ => return Cell::any(),
    };
    match op {
        Isnan | Isinf | Isfinite | LogicalNot | LogicalAnd | LogicalOr | LogicalXor | Eq | Ne | Lt | Le
        | Gt | Ge => Cell::int(r),
        _ => Cell::int(wrap(d, r)),
    }
}

fn floats(op: Op, d: DType, x: &[Cell]) -> Cell {
    use Op::*;
    let c = d.compute();
    let u = if d == DType::F64 { 16.0 } else { 4.0 };
    let exact = |f: &dyn Fn(&[f64]) -> f64| lift(d, x, 0.0, 0.0, f);
    let within = |ulps: f64, f: &dyn Fn(&[f64]) -> f64| lift(d, x, ulps, 0.0, f);
    let extreme = |r: Cell| {
        // which zero wins a tie is not tested
        let zeros = x.len() > 1
            && x[0].v == 0.0
            && x[1].v == 0.0
            && x[0].v.is_sign_negative() != x[1].v.is_sign_negative();
        if zeros { r.unsigned_zero() } else { r }
    };
    let max = |a: f64, b: f64| {
        if a.is_nan() || b.is_nan() {
            f64::NAN
        } else {
            a.max(b)
        }
    };
    let min = |a: f64, b: f64| {
        if a.is_nan() || b.is_nan() {
            f64::NAN
        } else {
            a.min(b)
        }
    };
    let inexact = x.iter().any(|c| c.e > 0.0);
    match op {
        Add => exact(&|x| x[0] + x[1]),
        Sub => exact(&|x| x[0] - x[1]),
        Rsub => exact(&|x| x[1] - x[0]),
        Mul => exact(&|x| x[0] * x[1]),
        // a pole within the bound
        Div if x[1].spans_zero() => Cell::any(),
        Rdiv if x[0].spans_zero() => Cell::any(),
        Pow if x[0].spans_zero() && x[1].v - x[1].e < 0.0 => Cell::any(),
        Div => exact(&|x| x[0] / x[1]),
        Rdiv => exact(&|x| x[1] / x[0]),
        Neg => exact(&|x| -x[0]),
        Abs => exact(&|x| x[0].abs()),
        Sign => exact(&|x| {
            if x[0] > 0.0 {
                1.0
            } else if x[0] < 0.0 {
                -1.0
            } else {
                0.0
            }
        })
        .unsigned_zero(),
        Square => exact(&|x| x[0] * x[0]),
        Relu => exact(&|x| max(x[0], 0.0)).unsigned_zero(),
        Floor => exact(&|x| x[0].floor()),
        Ceil => exact(&|x| x[0].ceil()),
        Round => exact(&|x| x[0].round_ties_even()),
        Trunc => exact(&|x| x[0].trunc()),
        Isnan => decide(x[0], x[0], |a, _| a.is_nan()),
        Isinf => decide_alone(x[0], f64::is_infinite),
        Isfinite => decide_alone(x[0], f64::is_finite),
        LogicalNot => decide_alone(x[0], |a| a == 0.0),
        LeakyRelu => exact(&|x| if x[0] > 0.0 { x[0] } else { x[0] * x[1] }),
        Elu => within(u, &|x| if x[0] > 0.0 { x[0] } else { x[1] * x[0].exp_m1() }),
        Celu => within(u, &|x| {
            if x[0] > 0.0 {
                x[0]
            } else {
                x[1] * (x[0] / x[1]).exp_m1()
            }
        }),
        Softplus => within(u + 4.0, &|x| {
            let t = round_to(c, x[0] * x[1]);
            if t > x[2] {
                x[0]
            } else {
                (t.max(0.0) + (-t.abs()).exp().ln_1p()) / x[1]
            }
        }),
        Hardtanh | Clamp => exact(&|x| min(max(x[0], x[1]), x[2])).unsigned_zero(),
        ClampMin | Maximum => extreme(exact(&|x| max(x[0], x[1]))),
        ClampMax | Minimum => extreme(exact(&|x| min(x[0], x[1]))),
        Fmax => extreme(exact(&|x| x[0].max(x[1]))),
        Fmin => extreme(exact(&|x| x[0].min(x[1]))),
        NanToNum => exact(&|x| match x[0] {
            a if a.is_nan() => x[1],
            f64::INFINITY => x[2],
            f64::NEG_INFINITY => x[3],
            a => a,
        }),
        Pow => {
            let y = lift(d, x, u, 0.0, |x| x[0].powf(x[1]));
            // the error of the exponent's rounding inside
            if x[0].v == f64::NEG_INFINITY {
                Cell::any()
            } else {
                y
            }
        }
        Atan2 => within(u, &|x| x[0].atan2(x[1])),
        Hypot => within(u, &|x| x[0].hypot(x[1])),
        Copysign if x[1].spans_zero() => Cell::any(),
        // the sign of a NaN is not defined
        Copysign if x[1].v.is_nan() => Cell::any(),
        Copysign => exact(&|x| x[0].copysign(x[1])),
        Fmod | Remainder | FloorDiv if inexact => Cell::any(),
        Fmod => exact(&|x| x[0] % x[1]),
        Remainder => exact(&|x| float::remainder(x[0], x[1])).unsigned_zero(),
        FloorDiv => {
            let q = exact(&|x| float::floor_div(x[0], x[1])).unsigned_zero();
            let big = q.v.is_finite() && q.v.abs() > 1.0 / ulp(c, 1.0) / 8.0;
            if big {
                Cell {
                    e: 4.0 * ulp(c, q.v) + q.e,
                    ..q
                }
            } else {
                q
            }
        }
        Lerp => {
            let size = x[0]
                .v
                .abs()
                .max(x[1].v.abs())
                .max((x[2].v * (x[1].v - x[0].v)).abs());
            let finite = x.iter().all(|c| c.v.is_finite());
            if !finite || size > super::cell::largest(c) / 4.0 || x[2].v.abs() > 1e6 {
                return Cell::any();
            }
            let w = 1.0 + x[2].v.abs();
            lift(d, x, u, 4.0 * ulp(c, size) * w, |x| x[0] + x[2] * (x[1] - x[0]))
        }
        Eq => decide(x[0], x[1], |a, b| a == b),
        Ne => decide(x[0], x[1], |a, b| a != b),
        Lt => decide(x[0], x[1], |a, b| a < b),
        Le => decide(x[0], x[1], |a, b| a <= b),
        Gt => decide(x[0], x[1], |a, b| a > b),
        Ge => decide(x[0], x[1], |a, b| a >= b),
        _ => float::unary(op, d, x[0]),
    }
}

fn decide_alone(a: Cell, f: impl Fn(f64) -> bool) -> Cell {
    let r = f(a.v);
    let crossing = a.e > 0.0 && a.v.abs() <= a.e;
    if a.poisoned() || crossing || f(a.v - a.e) != r || f(a.v + a.e) != r {
        Cell::any()
    } else {
        Cell::bool(r)
    }
}
