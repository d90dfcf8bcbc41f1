//! DType rules: what each family of operations computes in, and what it gives.
//!
//! A rule answers as far as the operands are known; it reports an error only when a known dtype breaks it.

use super::row::{ArgType, Call, Signature};
use crate::error::{Code, OpError, OpErrorKind};
use crate::{DType, Host, HostType, Scalar};

type Rule = Result<Signature, OpError>;

fn both(d: Option<DType>) -> Rule {
    Ok(Signature {
        compute: d,
        result: d,
    })
}

fn refuse(c: &Call<'_>, d: DType, i: usize, takes: &str, help: &str) -> OpError {
    OpError::new(
        Code::DTYPE,
        OpErrorKind::DType,
        c.op.name(),
        format!("takes {takes}, got {d}"),
    )
    .help(help)
    .at([i])
}

/// Promotes the tensors and scalars among `args`; open if a tensor's dtype is.
fn promote(args: &[ArgType]) -> Option<DType> {
    let mut tensors: Option<DType> = None;
    for a in args {
        if let ArgType::Tensor(t) = a {
            let d = t.dtype?;
            tensors = Some(tensors.map_or(d, |p| p.promote(d)));
        }
    }
    let mut d = tensors;
    for a in args {
        if matches!(a, ArgType::Host(_) | ArgType::Open(_) | ArgType::Symbol(_)) {
            match (d, scalar_of(a)) {
                (Some(t), Some(s)) => d = Some(s.promote(t)),
                (None, Some(s)) => d = Some(scalar_dtype(s)),
                (Some(t), None) if t.is_float() => {}
                _ => return None,
            }
        }
    }
    d
}

/// The scalar argument, or one of its type while it is not known.
fn scalar_of(a: &ArgType) -> Option<Scalar> {
    match a {
        ArgType::Host(h) => h.and_then(Host::as_scalar),
        ArgType::Symbol(_) => Some(Scalar::Int(1)),
        ArgType::Open(HostType::F32 | HostType::F64 | HostType::FloatLiteral) => Some(Scalar::Float(1.0)),
        ArgType::Open(HostType::Bool) => Some(Scalar::Bool(true)),
        ArgType::Open(t) if t.is_int() => Some(Scalar::Int(1)),
        _ => None,
    }
}

fn scalar_dtype(s: Scalar) -> DType {
    match s {
        Scalar::Float(_) => DType::F32,
        Scalar::Int(_) => DType::I64,
        Scalar::Bool(_) => DType::Bool,
    }
}

fn float_of(d: DType) -> DType {
    if d.is_float() { d } else { DType::F32 }
}

fn first(c: &Call<'_>) -> Option<DType> {
    match c.args.first() {
        Some(ArgType::Tensor(t)) => t.dtype,
        _ => None,
    }
}

/// The first operand's dtype.
pub fn same(c: &Call<'_>) -> Rule {
    both(first(c))
}

/// The first operand's dtype; not bool.
pub fn numeric(c: &Call<'_>) -> Rule {
    let d = first(c);
    if d == Some(DType::Bool) {
        return Err(refuse(
            c,
            DType::Bool,
            0,
            "numbers",
            "use logical_not() on a bool tensor, or to_dtype(..) first",
        ));
    }
    both(d)
}

/// Promoted operands; integers and bool compute in f32.
pub fn float(c: &Call<'_>) -> Rule {
    let tensors: Vec<ArgType> = c
        .args
        .iter()
        .filter(|a| matches!(a, ArgType::Tensor(_)))
        .cloned()
        .collect();
    both(promote(&tensors).map(float_of))
}

/// Floats only.
pub fn float_strict(c: &Call<'_>) -> Rule {
    if let Some(d) = first(c).filter(|d| !d.is_float()) {
        return Err(refuse(
            c,
            d,
            0,
            "floats",
            "convert with to_dtype(DType::F32) first",
        ));
    }
    both(first(c))
}

/// Any operand, bool out.
pub fn predicate(c: &Call<'_>) -> Rule {
    Ok(Signature {
        compute: first(c).map(float_of),
        result: Some(DType::Bool),
    })
}

/// Promoted operands.
pub fn arith(c: &Call<'_>) -> Rule {
    both(promote(c.args))
}

/// Promoted operands; not bool.
pub fn arith_no_bool(c: &Call<'_>) -> Rule {
    let d = promote(c.args);
    if d == Some(DType::Bool) {
        return Err(refuse(
            c,
            DType::Bool,
            0,
            "numbers",
            "use the logical_ or bitwise_ operations on bool tensors",
        ));
    }
    both(d)
}

/// Promoted operands; not bool, and an integer result takes no negative exponent.
pub fn pow(c: &Call<'_>) -> Rule {
    let s = arith_no_bool(c)?;
    if let (Some(d), Some(ArgType::Host(Some(h)))) = (s.result, c.args.get(1))
        && d.is_int()
        && h.as_int().is_some_and(|n| n < 0)
    {
        return Err(negative_exponent(c, d));
    }
    Ok(s)
}

fn negative_exponent(c: &Call<'_>, d: DType) -> OpError {
    refuse(
        c,
        d,
        0,
        "floats with a negative exponent",
        "convert with to_dtype(DType::F32) first",
    )
}

/// Promoted operands; integers and bool compute in f32.
pub fn true_div(c: &Call<'_>) -> Rule {
    both(promote(c.args).map(float_of))
}

/// Floats and integers; an integer tensor takes no negative exponent.
pub fn powi(c: &Call<'_>) -> Rule {
    if let (Some(d), ArgType::Host(Some(h))) = (first(c), &c.args[1])
        && d.is_int()
        && h.as_int().is_some_and(|n| n < 0)
    {
        return Err(negative_exponent(c, d));
    }
    numeric(c)
}

/// Promoted operands, bool out.
pub fn compare(c: &Call<'_>) -> Rule {
    Ok(Signature {
        compute: promote(c.args),
        result: Some(DType::Bool),
    })
}

/// Non-zero means true; bool out.
pub fn logical(_: &Call<'_>) -> Rule {
    Ok(Signature {
        compute: Some(DType::Bool),
        result: Some(DType::Bool),
    })
}

/// Promoted operands; integers and bool only.
pub fn bitwise(c: &Call<'_>) -> Rule {
    for (i, a) in c.args.iter().enumerate() {
        if let ArgType::Tensor(t) = a
            && let Some(d) = t.dtype.filter(|d| d.is_float())
        {
            return Err(refuse(
                c,
                d,
                i,
                "integers and bool",
                "convert with to_dtype(DType::I64) first",
            ));
        }
        if matches!(scalar_of(a), Some(Scalar::Float(_))) {
            let message = "takes integers and bool, got a float scalar";
            return Err(
                OpError::new(Code::DTYPE, OpErrorKind::DType, c.op.name(), message)
                    .help("write an integer")
                    .at([i]),
            );
        }
    }
    both(promote(c.args))
}

fn mask(c: &Call<'_>, i: usize) -> Result<(), OpError> {
    if let ArgType::Tensor(t) = &c.args[i]
        && let Some(d) = t.dtype.filter(|&d| d != DType::Bool)
    {
        return Err(refuse(c, d, i, "a bool mask", "compare first, as in x.ne(0)"));
    }
    Ok(())
}

/// A bool condition; the branches are promoted.
pub fn where_cond(c: &Call<'_>) -> Rule {
    mask(c, 0)?;
    both(promote(&c.args[1..]))
}

/// A bool mask; the first operand's dtype.
pub fn masked_fill(c: &Call<'_>) -> Rule {
    mask(c, 1)?;
    if let (Some(d), Some(s)) = (first(c), scalar_of(&c.args[2]))
        && s.promote(d) != d
    {
        let message = format!("a tensor of {d} does not hold a value of {}", s.promote(d));
        return Err(
            OpError::new(Code::DTYPE, OpErrorKind::DType, c.op.name(), message)
                .help("convert the tensor with to_dtype(..) first")
                .at([0, 2]),
        );
    }
    same(c)
}

/// Floats as they are; integers and bool give i64.
pub fn sum(c: &Call<'_>) -> Rule {
    both(first(c).map(|d| if d.is_float() { d } else { DType::I64 }))
}

/// Floats; f64 out.
pub fn wide(c: &Call<'_>) -> Rule {
    float_strict(c)?;
    Ok(Signature {
        compute: first(c),
        result: Some(DType::F64),
    })
}

/// Any operand, i64 out.
pub fn arg(c: &Call<'_>) -> Rule {
    Ok(Signature {
        compute: first(c),
        result: Some(DType::I64),
    })
}

/// Floats; weights have the first operand's dtype.
pub fn normalise(c: &Call<'_>) -> Rule {
    float_strict(c)?;
    agree(c)?;
    same(c)
}

/// Both operands have one dtype.
pub fn contract(c: &Call<'_>) -> Rule {
    agree(c)?;
    if first(c) == Some(DType::Bool) {
        return Err(refuse(
            c,
            DType::Bool,
            0,
            "numbers",
            "convert with to_dtype(..) first",
        ));
    }
    same(c)
}

/// All tensors have one dtype.
fn agree(c: &Call<'_>) -> Result<(), OpError> {
    let mut known: Option<(usize, DType)> = None;
    for (i, a) in c.args.iter().enumerate() {
        let ArgType::Tensor(t) = a else { continue };
        match (known, t.dtype) {
            (Some((j, d)), Some(e)) if d != e => {
                let message = format!("operands have different dtypes: {d} and {e}");
                return Err(
                    OpError::new(Code::DTYPE, OpErrorKind::DType, c.op.name(), message)
                        .help(format!("convert one operand, as in y.to_dtype(DType::{d:?})"))
                        .at([j, i]),
                );
            }
            (None, Some(d)) => known = Some((i, d)),
            _ => {}
        }
    }
    Ok(())
}

/// All tensors of the list promoted.
pub fn promote_all(c: &Call<'_>) -> Rule {
    match c.args.first() {
        Some(ArgType::List(l)) => both(promote(l)),
        _ => both(None),
    }
}

/// The dtype argument.
pub fn given(c: &Call<'_>) -> Rule {
    let d = c.args.iter().rev().find_map(|a| match a {
        ArgType::Host(Some(crate::Host::DType(d))) => Some(*d),
        _ => None,
    });
    both(d)
}

/// The dtype argument; floats only.
pub fn given_float(c: &Call<'_>) -> Rule {
    let s = given(c)?;
    if let Some(d) = s.result.filter(|d| !d.is_float()) {
        return Err(refuse(
            c,
            d,
            c.args.len() - 1,
            "a float dtype",
            "draw floats and convert with to_dtype(..)",
        ));
    }
    Ok(s)
}

/// All tensors have one dtype.
pub fn agreeing(c: &Call<'_>) -> Rule {
    agree(c)?;
    same(c)
}

/// Floats of one dtype.
pub fn convolve(c: &Call<'_>) -> Rule {
    normalise(c)
}

/// Queries, keys and values are floats of one dtype; the mask is of it too, or bool.
pub fn attention(c: &Call<'_>) -> Rule {
    let bool_mask = matches!(c.args.get(3), Some(ArgType::Tensor(t)) if t.dtype == Some(DType::Bool));
    let args = if bool_mask { &c.args[..3] } else { c.args };
    normalise(&Call { args, ..*c })
}

/// What is indexed and what is put there have one dtype.
pub fn index(c: &Call<'_>) -> Rule {
    let row = c.op.row();
    let others = c.args.iter().zip(row.params).map(|(a, p)| match p.kind {
        super::row::ParamKind::Index => ArgType::None,
        _ => a.clone(),
    });
    let args: Vec<ArgType> = others.collect();
    agreeing(&Call { args: &args, ..*c })
}

/// Integers, i64 out.
pub fn one_hot(c: &Call<'_>) -> Rule {
    if let Some(d) = first(c).filter(|d| !d.is_int()) {
        return Err(refuse(
            c,
            d,
            0,
            "integers",
            "convert with to_dtype(DType::I64) first",
        ));
    }
    Ok(Signature {
        compute: first(c),
        result: Some(DType::I64),
    })
}

/// Floats where values are blended; any dtype where they are taken as they are.
pub fn resample(c: &Call<'_>) -> Rule {
    let nearest = matches!(c.args.get(2), Some(ArgType::List(l)) if l.first() == Some(&ArgType::Host(Some(Host::Int(0)))));
    if nearest { same(c) } else { float_strict(c) }
}

/// A bool condition; the results are those of the regions.
pub fn cond(c: &Call<'_>) -> Rule {
    if let ArgType::Tensor(t) = &c.args[0]
        && let Some(d) = t.dtype.filter(|&d| d != DType::Bool)
    {
        let message = format!("takes a bool condition, got {d}");
        return Err(
            OpError::new(Code::DTYPE, OpErrorKind::DType, c.op.name(), message)
                .help("compare first, as in x.gt(0.0)")
                .at([0]),
        );
    }
    both(None)
}

/// The results are those of the regions.
pub fn open(_: &Call<'_>) -> Rule {
    both(None)
}
