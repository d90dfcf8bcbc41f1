//! Composite operations, expanded into other rows. Each rule states its equation.
//!
//! A rule rounds nothing to a half type: a fused group computes f16 and bf16 wholly in f32, and a group that is split
//! keeps its intermediates in f32. Quotients and roots of a row are computed in f64, and `as_dtype` brings them to
//! the compute type of the elements.

use crate::error::{Code, OpError, OpErrorKind};
use crate::host::{HostBinary, HostType, HostUnary};
use crate::{Arg, Builder, DType, Expr, Host, Op, Value};

mod model;

pub use model::*;

type Rule = Result<Value, OpError>;

fn tensor(args: &[Arg], i: usize) -> Value {
    match &args[i] {
        Arg::Value(v) => *v,
        other => unreachable!("argument {i} is checked to be a tensor, got {other:?}"),
    }
}

fn host(args: &[Arg], i: usize) -> Expr {
    match &args[i] {
        Arg::Host(e) => e.clone(),
        other => unreachable!("argument {i} is checked to be a host value, got {other:?}"),
    }
}

fn literal(b: &Builder, op: Op, args: &[Arg], i: usize) -> Result<Host, OpError> {
    b.known(&host(args, i)).ok_or_else(|| {
        let name = op.row().params[i].name;
        OpError::new(
            Code::VALUE,
            OpErrorKind::Value,
            op.name(),
            format!("`{name}` is not known at build time"),
        )
        .help("write a literal or a const")
        .at([i])
    })
}

fn dims_of(arg: &Arg) -> Vec<Expr> {
    match arg {
        Arg::List(l) => l
            .iter()
            .filter_map(|a| {
                if let Arg::Host(e) = a {
                    Some(e.clone())
                } else {
                    None
                }
            })
            .collect(),
        Arg::Host(e) => vec![e.clone()],
        _ => Vec::new(),
    }
}

/// `x` in the float dtype that the composite computes in: integers and bool become f32.
fn float(b: &mut Builder, x: Value) -> Rule {
    match b.ty(x).dtype {
        Some(d) if d.is_float() => Ok(x),
        _ => b.call(Op::AsFloat, vec![x.into()]),
    }
}

/// The number of elements that `dims` of `x` hold; all of `x` for an empty list, 1 for a scalar.
fn extent(b: &Builder, x: Value, dims: &[Expr]) -> Expr {
    if b.is_rank(x, 0) == Some(true) {
        return Expr::int(1);
    }
    dims.iter()
        .map(|d| Expr::Dim(x, Box::new(d.clone())))
        .reduce(|a, b| Expr::binary(HostBinary::Mul, a, b))
        .unwrap_or(Expr::ElemCount(x))
}

fn list(dims: &[Expr]) -> Arg {
    Arg::List(dims.iter().cloned().map(Arg::Host).collect())
}

/// `powf(x, e) = square(x), sqrt(x), 1 / x for e = 2, 0.5, -1; pow(x, e) otherwise`.
pub fn powf(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let x = float(b, tensor(args, 0))?;
    let e = host(args, 1);
    match b.known(&e).and_then(Host::as_float) {
        Some(2.0) => b.call(Op::Square, vec![x.into()]),
        Some(0.5) => b.call(Op::Sqrt, vec![x.into()]),
        Some(-1.0) => b.call(Op::Reciprocal, vec![x.into()]),
        _ => b.call(
            Op::Pow,
            vec![x.into(), Arg::Host(Expr::Cast(HostType::F64, Box::new(e)))],
        ),
    }
}

/// `powi(x, n) = square(x) for n = 2; pow(x, n) otherwise`.
pub fn powi(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let x = tensor(args, 0);
    let n = host(args, 1);
    match b.known(&n) {
        Some(Host::Int(2)) => b.call(Op::Square, vec![x.into()]),
        _ => b.call(Op::Pow, vec![x.into(), Arg::Host(n)]),
    }
}

/// `masked_fill(x, mask, v) = where(mask, v, x)`.
pub fn masked_fill(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    b.call(
        Op::WhereCond,
        vec![args[1].clone(), args[2].clone(), args[0].clone()],
    )
}

/// `addcmul(x, a, b, v) = x + (v * a) * b`.
pub fn addcmul(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let t = b.call(Op::Mul, vec![args[1].clone(), args[3].clone()])?;
    let t = b.call(Op::Mul, vec![t.into(), args[2].clone()])?;
    b.call(Op::Add, vec![args[0].clone(), t.into()])
}

/// The same, where the rank may be unknown: `n = elem_count(x) / max(elem_count(folded), 1)`, which is 0 for an empty axis.
fn folded_extent(b: &Builder, x: Value, folded: Value, dims: &[Expr]) -> Expr {
    if dims.is_empty() || b.ty(x).shape.is_some() {
        return extent(b, x, dims);
    }
    let rows = Expr::binary(HostBinary::Max, Expr::ElemCount(folded), Expr::int(1));
    Expr::binary(HostBinary::Div, Expr::ElemCount(x), rows)
}

/// A value that is computed in f64 for each row, in the dtype of `x`.
fn narrow(b: &mut Builder, wide: Value, x: Value) -> Rule {
    b.call(Op::AsDtype, vec![wide.into(), Arg::Host(Expr::DTypeOf(x))])
}

/// `mean(x) = sum(x) / n`, the quotient in f64.
pub fn mean(b: &mut Builder, op: Op, args: &[Arg]) -> Rule {
    let x = tensor(args, 0);
    let dims = args.get(1).map(dims_of).unwrap_or_default();
    let sum = match op {
        Op::MeanAll => b.call(Op::WideSumAll, vec![x.into()])?,
        Op::MeanKeepdim => b.call(Op::WideSumKeepdim, vec![x.into(), list(&dims)])?,
        _ => b.call(Op::WideSum, vec![x.into(), list(&dims)])?,
    };
    let n = folded_extent(b, x, sum, &dims);
    let mean = b.call(Op::Div, vec![sum.into(), Arg::Host(n)])?;
    narrow(b, mean, x)
}

/// `var(x) = sum((x - mean(x))^2) / max(n - correction, 0)`, the quotient in f64.
pub fn var(b: &mut Builder, op: Op, args: &[Arg]) -> Rule {
    let v = wide_var(b, op, args)?;
    narrow(b, v, tensor(args, 0))
}

/// `std_dev(x) = sqrt(var(x))`, the root in f64.
pub fn std_dev(b: &mut Builder, op: Op, args: &[Arg]) -> Rule {
    let v = wide_var(b, op, args)?;
    let root = b.call(Op::Sqrt, vec![v.into()])?;
    narrow(b, root, tensor(args, 0))
}

fn wide_var(b: &mut Builder, op: Op, args: &[Arg]) -> Rule {
    let x = tensor(args, 0);
    let dims = dims_of(&args[1]);
    let mean = b.call(Op::MeanKeepdim, vec![x.into(), list(&dims)])?;
    let d = b.call(Op::Sub, vec![x.into(), mean.into()])?;
    let d = b.call(Op::Square, vec![d.into()])?;
    let fold = if op == Op::VarKeepdim {
        Op::WideSumKeepdim
    } else {
        Op::WideSum
    };
    let sum = b.call(fold, vec![d.into(), list(&dims)])?;
    let n = Expr::Cast(HostType::I64, Box::new(folded_extent(b, x, sum, &dims)));
    let c = Expr::Cast(HostType::I64, Box::new(host(args, 2)));
    let divisor = Expr::binary(HostBinary::Max, Expr::binary(HostBinary::Sub, n, c), Expr::int(0));
    b.call(Op::Div, vec![sum.into(), Arg::Host(divisor)])
}

/// `norm(x, p) = sum(|x|^p)^(1/p)`; `max(|x|)` for p = inf, `min(|x|)` for -inf, `sum(x != 0)` for 0.
pub fn norm(b: &mut Builder, op: Op, args: &[Arg]) -> Rule {
    let x = tensor(args, 0);
    let dims = args[2].clone();
    let Some(p) = literal(b, op, args, 1)?.as_float() else {
        unreachable!("p is a float parameter")
    };
    let abs = b.call(Op::Abs, vec![x.into()])?;
    if p == f64::INFINITY {
        return b.call(Op::Max, vec![abs.into(), dims]);
    }
    if p == f64::NEG_INFINITY {
        return b.call(Op::Min, vec![abs.into(), dims]);
    }
    if p == 1.0 {
        return b.call(Op::Sum, vec![abs.into(), dims]);
    }
    if p == 2.0 {
        let s = b.call(Op::Square, vec![x.into()])?;
        let s = b.call(Op::WideSum, vec![s.into(), dims])?;
        let root = b.call(Op::Sqrt, vec![s.into()])?;
        return narrow(b, root, x);
    }
    if p == 0.0 {
        let nonzero = b.call(Op::Ne, vec![x.into(), Arg::float(0.0)])?;
        let zero = b.call(Op::Mul, vec![abs.into(), Arg::float(0.0)])?;
        let one = b.call(Op::WhereCond, vec![nonzero.into(), Arg::float(1.0), zero.into()])?;
        return b.call(Op::Sum, vec![one.into(), dims]);
    }
    let s = b.call(Op::Pow, vec![abs.into(), Arg::float(p)])?;
    let s = b.call(Op::Sum, vec![s.into(), dims])?;
    b.call(Op::Pow, vec![s.into(), Arg::float(1.0 / p)])
}

/// `m = max(x), 0 where infinite; logsumexp(x) = ln(sum(e^(x - m))) + m`.
pub fn logsumexp(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let x = float(b, tensor(args, 0))?;
    let dims = args[1].clone();
    let kept = b.call(Op::RowMax, vec![x.into(), dims.clone()])?;
    let kept = finite_or_zero(b, kept)?;
    let d = b.call(Op::Sub, vec![x.into(), kept.into()])?;
    let e = b.call(Op::Exp, vec![d.into()])?;
    let s = b.call(Op::Sum, vec![e.into(), dims.clone()])?;
    let l = b.call(Op::Log, vec![s.into()])?;
    let m = b.call(Op::RowMaxDrop, vec![x.into(), dims])?;
    let m = finite_or_zero(b, m)?;
    b.call(Op::Add, vec![l.into(), m.into()])
}

fn finite_or_zero(b: &mut Builder, v: Value) -> Rule {
    let finite = b.call(Op::Isfinite, vec![v.into()])?;
    b.call(Op::WhereCond, vec![finite.into(), v.into(), Arg::float(0.0)])
}

/// `d = x - max(x)`, `e^d` and `sum(e^d)` along a dim.
fn exponentials(b: &mut Builder, args: &[Arg]) -> Result<[Value; 3], OpError> {
    let x = float(b, tensor(args, 0))?;
    let dims = Arg::List(vec![args[1].clone()]);
    let m = b.call(Op::RowMax, vec![x.into(), dims.clone()])?;
    let d = b.call(Op::Sub, vec![x.into(), m.into()])?;
    let e = b.call(Op::Exp, vec![d.into()])?;
    let s = b.call(Op::SumKeepdim, vec![e.into(), dims])?;
    Ok([d, e, s])
}

/// `m = max(x); softmax(x) = e^(x - m) * (1 / sum(e^(x - m)))`.
pub fn softmax(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let [_, e, s] = exponentials(b, args)?;
    let r = b.call(Op::Reciprocal, vec![s.into()])?;
    b.call(Op::Mul, vec![e.into(), r.into()])
}

/// `m = max(x); log_softmax(x) = (x - m) - ln(sum(e^(x - m)))`.
pub fn log_softmax(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let [d, _, s] = exponentials(b, args)?;
    let l = b.call(Op::Log, vec![s.into()])?;
    b.call(Op::Sub, vec![d.into(), l.into()])
}

/// More dims than any tensor has: where the rank is not known, no expansion is longer.
const MANY_DIMS: i64 = 1 << 10;

/// `layer_norm(x) = (x - mean(x)) * (1 / sqrt(var(x) + eps)) * w + b` over the trailing dims, var with divisor n;
/// over one dim that holds them all where their number is not known.
pub fn layer_norm(b: &mut Builder, op: Op, args: &[Arg]) -> Rule {
    let x = tensor(args, 0);
    let Some(trailing) = b.known(&host(args, 1)).and_then(Host::as_int) else {
        let first = Expr::Cast(HostType::I64, Box::new(host(args, 1)));
        let first = Expr::Unary(HostUnary::Neg, Box::new(first));
        let rows = b.call(Op::Flatten, vec![x.into(), Arg::Host(first), Arg::int(-1)])?;
        let mut of_rows = vec![rows.into(), Arg::int(1)];
        for weight in &args[2..4] {
            of_rows.push(match weight {
                Arg::None => Arg::None,
                w => b.call(Op::FlattenAll, vec![w.clone()])?.into(),
            });
        }
        of_rows.push(args[4].clone());
        let y = layer_norm(b, op, &of_rows)?;
        return b.call(Op::Reshape, vec![y.into(), x.into()]);
    };
    if trailing > MANY_DIMS {
        let message = format!("trailing_dims is {trailing}, more than a tensor has");
        return Err(OpError::new(Code::RANK, OpErrorKind::Shape, op.name(), message)
            .help("write the number of dims to normalise over, counted from the last")
            .at([1]));
    }
    let dims: Vec<Expr> = (1..=trailing).rev().map(|i| Expr::int(-i)).collect();
    let n = Arg::Host(extent(b, x, &dims));
    let s = b.call(Op::WideSumKeepdim, vec![x.into(), list(&dims)])?;
    let mean = b.call(Op::Div, vec![s.into(), n.clone()])?;
    let mean = narrow(b, mean, x)?;
    let d = b.call(Op::Sub, vec![x.into(), mean.into()])?;
    let q = b.call(Op::Square, vec![d.into()])?;
    let q = b.call(Op::WideSumKeepdim, vec![q.into(), list(&dims)])?;
    let v = b.call(Op::Div, vec![q.into(), n])?;
    let y = scale_by_rsqrt(b, d, v, host(args, 4))?;
    let y = match &args[2] {
        Arg::None => y,
        w => b.call(Op::Mul, vec![y.into(), w.clone()])?,
    };
    match &args[3] {
        Arg::None => Ok(y),
        bias => b.call(Op::Add, vec![y.into(), bias.clone()]),
    }
}

/// `rms_norm(x, w) = x * (1 / sqrt(mean(x^2) + eps)) * w` over the last dim.
pub fn rms_norm(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let x = tensor(args, 0);
    let dims = [Expr::int(-1)];
    let q = b.call(Op::Square, vec![x.into()])?;
    let q = b.call(Op::WideSumKeepdim, vec![q.into(), list(&dims)])?;
    let v = b.call(Op::Div, vec![q.into(), Arg::Host(extent(b, x, &dims))])?;
    let y = scale_by_rsqrt(b, x, v, host(args, 2))?;
    b.call(Op::Mul, vec![y.into(), args[1].clone()])
}

/// `x * (1 / sqrt(v + eps))`, the root of the f64 `v` in f64.
fn scale_by_rsqrt(b: &mut Builder, x: Value, v: Value, eps: Expr) -> Rule {
    let v = b.call(
        Op::Add,
        vec![v.into(), Arg::Host(Expr::Cast(HostType::F64, Box::new(eps)))],
    )?;
    let r = b.call(Op::Rsqrt, vec![v.into()])?;
    let r = narrow(b, r, x)?;
    b.call(Op::Mul, vec![x.into(), r.into()])
}

/// `linear(x, w, b) = x @ w^T + b`.
pub fn linear(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let w = b.call(Op::T, vec![args[1].clone()])?;
    let y = b.call(Op::Matmul, vec![args[0].clone(), w.into()])?;
    match &args[2] {
        Arg::None => Ok(y),
        bias => b.call(Op::Add, vec![y.into(), bias.clone()]),
    }
}

/// `stack(xs, d) = cat(unsqueeze(x, d) for x in xs, d)`.
pub fn stack(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let Arg::List(xs) = &args[0] else {
        unreachable!("a stack takes a list")
    };
    let mut parts = Vec::with_capacity(xs.len());
    for x in xs {
        parts.push(b.call(Op::Unsqueeze, vec![x.clone(), args[1].clone()])?.into());
    }
    b.call(Op::Cat, vec![Arg::List(parts), args[1].clone()])
}
