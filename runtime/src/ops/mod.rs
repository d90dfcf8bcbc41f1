//! Eager operations: each call runs at once.
//!
//! Problem: eager code must agree with compiled code, op by op, without a second set of kernels.
//! Method: views and creations act directly; every other operation is a graph of one node, bound to
//! the operands' metadata as compiled functions are, and run on the tile VM. The plans are kept
//! by thread, keyed by all that binding reads.

mod cache;
mod methods;

use crate::options::Settings;
use crate::shape::{Written, normal_dim};
use crate::tensor::create;
use crate::tensor::operators::Operand;
use crate::{DType, Error, Result, Scalar, Tensor};
use smallvec::SmallVec;
use tensorplay_graph::op::row::{ArgType, Call, Lowering};
use tensorplay_graph::op::shape::slice_bounds;
use tensorplay_graph::{Host, Op, TensorType};

/// An argument of an eager call.
#[derive(Clone)]
pub(crate) enum EagerArg<'a> {
    Tensor(&'a Tensor),
    Tensors(SmallVec<[&'a Tensor; 4]>),
    Scalar(Scalar),
    Int(i64),
    Ints(Written),
    DType(DType),
    Options(Settings),
    None,
}

impl<'a> From<Operand<'a>> for EagerArg<'a> {
    fn from(o: Operand<'a>) -> Self {
        match o {
            Operand::Tensor(t) => EagerArg::Tensor(t),
            Operand::Scalar(s) => EagerArg::Scalar(s),
        }
    }
}

impl EagerArg<'_> {
    fn ty(&self) -> ArgType {
        let tensor = |t: &Tensor| ArgType::Tensor(TensorType::known(t.dtype(), t.shape()));
        match self {
            EagerArg::Tensor(t) => tensor(t),
            EagerArg::Tensors(l) => ArgType::List(l.iter().map(|t| tensor(t)).collect()),
            EagerArg::Scalar(s) => ArgType::Host(Some((*s).into())),
            EagerArg::Int(v) => ArgType::Host(Some(Host::Int(*v))),
            EagerArg::Ints(l) => {
                ArgType::List(l.iter().map(|&v| ArgType::Host(Some(Host::Int(v)))).collect())
            }
            EagerArg::DType(d) => ArgType::Host(Some(Host::DType(*d))),
            EagerArg::Options(l) => {
                let one = |h: &Option<Host>| h.map_or(ArgType::None, |h| ArgType::Host(Some(h)));
                ArgType::List(l.iter().map(one).collect())
            }
            EagerArg::None => ArgType::None,
        }
    }
}

/// The result types, or the rule that the call breaks.
fn infer(op: Op, args: &[EagerArg<'_>]) -> Result<Vec<TensorType>> {
    let types: SmallVec<[ArgType; 4]> = args.iter().map(EagerArg::ty).collect();
    Ok(op.row().infer(&Call {
        op,
        args: &types,
        symbols: &[],
    })?)
}

/// Runs an operation with one result.
pub(crate) fn call(op: Op, args: &[EagerArg<'_>]) -> Result<Tensor> {
    match op.row().lowering {
        Lowering::View => {
            let types = infer(op, args)?;
            view(op, args, &types)?
                .pop()
                .ok_or_else(|| Error::msg(format!("{op}: no result")))
        }
        Lowering::Create => {
            let types = infer(op, args)?;
            make(op, args, &types[0])
        }
        _ if !op.updates().is_empty() => updating(op, args),
        _ => {
            if let (Op::ToDtype, [EagerArg::Tensor(x), EagerArg::DType(d)]) = (op, args)
                && x.dtype() == *d
            {
                return Ok(x.snapshot());
            }
            cache::run(op, args)?
                .pop()
                .ok_or_else(|| Error::msg(format!("{op}: no result")))
        }
    }
}

/// All results of an operation as a node of a graph: it assigns nothing.
pub(crate) fn evaluate(op: Op, args: &[EagerArg<'_>]) -> Result<Vec<Tensor>> {
    match (op.row().lowering, args) {
        (Lowering::View, _) => view(op, args, &infer(op, args)?),
        (Lowering::Create, _) => Ok(vec![make(op, args, &infer(op, args)?[0])?]),
        (_, [EagerArg::Tensor(x), EagerArg::DType(d)]) if op == Op::ToDtype && x.dtype() == *d => {
            Ok(vec![x.snapshot()])
        }
        _ => Ok(cache::run(op, args)?.into_vec()),
    }
}

/// Runs an operation that replaces the values of variables, which happens if all of it succeeds.
fn updating(op: Op, args: &[EagerArg<'_>]) -> Result<Tensor> {
    let one = |op: Op| {
        let result = cache::run(op, args)?.pop();
        result.ok_or_else(|| Error::msg(format!("{op}: no result")))
    };
    let y = one(op)?;
    let mut news = SmallVec::<[(&Tensor, Tensor); 2]>::new();
    for &(i, new) in op.updates() {
        let Some(EagerArg::Tensor(t)) = args.get(i) else {
            continue;
        };
        check_variable(op, i, t)?;
        news.push((t, one(new)?));
    }
    for (t, new) in news {
        t.try_assign(&new)?;
    }
    Ok(y)
}

/// Whether an operation can give parameter `i` a new value.
fn check_variable(op: Op, i: usize, t: &Tensor) -> Result<()> {
    if t.is_variable() {
        return Ok(());
    }
    let name = op.row().params[i].name;
    Err(Error::value(
        op.name(),
        format!("`{name}` is not a variable, so it cannot be updated"),
    )
    .with_help("make it one with variable()"))
}

/// Runs an operation that gives values and their indices.
pub(crate) fn call_indexed(op: Op, args: &[EagerArg<'_>]) -> Result<(Tensor, Tensor)> {
    let mut results = cache::run(op, args)?;
    match (results.pop(), results.pop()) {
        (Some(indices), Some(values)) => Ok((values, indices)),
        _ => Err(Error::msg(format!("{op}: two results expected"))),
    }
}

/// Runs an operation with a list of results.
pub(crate) fn call_list(op: Op, args: &[EagerArg<'_>]) -> Result<Vec<Tensor>> {
    let types = infer(op, args)?;
    view(op, args, &types)
}

#[track_caller]
pub(crate) fn binary(op: Op, a: &Tensor, b: Operand<'_>) -> Tensor {
    match call(op, &[EagerArg::Tensor(a), b.into()]) {
        Ok(t) => t,
        Err(e) => e.raise(),
    }
}

#[track_caller]
pub(crate) fn unary(op: Op, x: &Tensor) -> Tensor {
    match call(op, &[EagerArg::Tensor(x)]) {
        Ok(t) => t,
        Err(e) => e.raise(),
    }
}

fn sizes(op: Op, t: &TensorType) -> Result<Vec<usize>> {
    t.sizes()
        .ok_or_else(|| Error::value(op.name(), "a size is not known"))
}

fn view(op: Op, args: &[EagerArg<'_>], types: &[TensorType]) -> Result<Vec<Tensor>> {
    let Some(EagerArg::Tensor(x)) = args.first() else {
        return Err(Error::msg(format!("{op}: takes a tensor")));
    };
    let i = |k: usize| {
        if let Some(EagerArg::Int(v)) = args.get(k) {
            *v
        } else {
            0
        }
    };
    let ints = |k: usize| {
        if let Some(EagerArg::Ints(v)) = args.get(k) {
            v.clone()
        } else {
            Written::new()
        }
    };
    let one = match op {
        Op::Reshape => x.view_reshape(&ints(1))?,
        Op::Flatten => x.view_flatten(i(1), i(2))?,
        Op::FlattenAll => x.reshaped(&sizes(op, &types[0])?)?,
        Op::Transpose => x.view_transpose(i(1), i(2))?,
        Op::T => x.view_t()?,
        Op::ChannelsOf => x.reshaped(&sizes(op, &types[0])?)?,
        Op::Permute => x.view_permute(&ints(1))?,
        Op::Unsqueeze => x.view_unsqueeze(i(1))?,
        Op::Squeeze => x.view_squeeze(i(1))?,
        Op::Narrow => x.view_narrow(i(1), i(2), i(3))?,
        Op::Select => x.view_select(i(1), i(2))?,
        Op::Slice => {
            let dim = i(1);
            let n = x.dim(dim);
            let (start, len) = slice_bounds(n, i(2), i(3), i(4));
            let end = (start + len * i(4).max(1) as usize).min(n);
            x.view_slice(dim, start as i64, end as i64, i(4))?
        }
        Op::Expand => x.view_expand(&ints(1))?,
        Op::Movedim => x.view_movedim(i(1), i(2))?,
        Op::Contiguous => x.snapshot().to_contiguous()?,
        Op::Detach => x.snapshot(),
        Op::Chunk | Op::Split => {
            let dim = i(2);
            let mut start = 0;
            let mut parts = Vec::with_capacity(types.len());
            for t in types {
                let shape = sizes(op, t)?;
                let axis = normal_dim(op.name(), dim, shape.len())?;
                parts.push(x.view_narrow(dim, start, shape[axis] as i64)?);
                start += shape[axis] as i64;
            }
            return Ok(parts);
        }
        op => return Err(Error::msg(format!("`{op}` is not a view"))),
    };
    Ok(vec![one])
}

fn make(op: Op, args: &[EagerArg<'_>], ty: &TensorType) -> Result<Tensor> {
    let shape = sizes(op, ty)?;
    let dtype = ty.dtype.unwrap_or(DType::F32);
    let s = |k: usize| {
        if let Some(EagerArg::Scalar(s)) = args.get(k) {
            *s
        } else {
            Scalar::Int(0)
        }
    };
    let n = |k: usize| {
        if let Some(EagerArg::Int(v)) = args.get(k) {
            (*v).max(0) as usize
        } else {
            0
        }
    };
    match op {
        Op::Zeros | Op::ZerosLike => create::zeros(&shape, dtype),
        Op::Ones | Op::OnesLike => create::ones(&shape, dtype),
        Op::Full => create::full(&shape, s(1), dtype),
        Op::Arange => create::arange(s(0), s(1), dtype),
        Op::Linspace => create::linspace(s(0), s(1), n(2), dtype),
        Op::Eye => create::eye(n(0), dtype),
        Op::Rand => create::rand(&shape, dtype, crate::random::reserve_op()),
        Op::RandIf if s(2) == Scalar::Bool(false) => create::zeros(&shape, dtype),
        Op::RandIf => create::rand(&shape, dtype, crate::random::reserve_op()),
        Op::Randn => create::randn(&shape, dtype, crate::random::reserve_op()),
        op => Err(Error::msg(format!("`{op}` does not create"))),
    }
}
