//! The reference interpreter: naive loops over row-major elements, with its own typing, broadcasting and kernels.
//!
//! Problem: the product must be held against something that shares none of its code.
//! Method: [`eval`] takes a call and its operands, checks them against the rules of the op table, and computes element by element in
//! f64, i64 and bool; [`cell::Cell`] carries what a right implementation may deviate.
//! Invariant: it refuses what the rules refuse ([`Stop::Refused`]), and knows errors in the data ([`Stop::Data`]).

mod arrange;
mod attention;
mod cast;
pub mod cell;
mod channel;
mod contract;
mod elementwise;
mod exact;
mod float;
mod index;
mod loss;
mod norm;
mod reduce;
mod resample;
mod view;
mod window;

use crate::case::{A, Case, count, float_of, strides};
use cell::{Cell, round_to, ulp, wrap};
use tensorplay_graph::op::row::Lowering;
use tensorplay_graph::{DType, Op, Scalar};

/// A tensor of the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The dtype.
    pub dtype: DType,
    /// The sizes.
    pub shape: Vec<usize>,
    /// The elements in row-major order.
    pub cells: Vec<Cell>,
    /// Only exact operations of non-half dtypes led here: eager and fused must agree bit for bit.
    pub pure: bool,
}

/// Why a call gives nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The rules forbid it.
    Refused(String),
    /// The data forbid it: division of integers by zero, an index out of range.
    Data(String),
    /// The reference does not say.
    Unknown,
}

pub(crate) type Eval<T = Array> = Result<T, Stop>;

pub(crate) fn refuse<T>(why: impl Into<String>) -> Eval<T> {
    Err(Stop::Refused(why.into()))
}

impl Array {
    /// Whether all elements are known exactly.
    pub fn exact(&self) -> bool {
        self.cells.iter().all(Cell::exact)
    }

    /// The share of elements that may be anything, in percent.
    pub fn poisoned(&self) -> usize {
        self.cells.iter().filter(|c| c.poisoned()).count() * 100 / self.cells.len().max(1)
    }

    pub(crate) fn of(dtype: DType, shape: Vec<usize>, cells: Vec<Cell>) -> Array {
        debug_assert_eq!(count(&shape), cells.len());
        Array {
            dtype,
            shape,
            cells,
            pure: true,
        }
    }
}

/// The reference's view of an input.
pub fn input(i: &crate::case::Input) -> Array {
    let cell = |&b: &u64| {
        if i.dtype.is_float() {
            Cell::float(float_of(i.dtype, b))
        } else {
            Cell::int(b as i64)
        }
    };
    Array::of(i.dtype, i.shape.clone(), i.bits.iter().map(cell).collect())
}

/// PyTorch's promotion, written down anew.
pub(crate) fn promote(a: DType, b: DType) -> DType {
    use DType::*;
    if a == b {
        return a;
    }
    match (a.is_float(), b.is_float()) {
        (true, false) => a,
        (false, true) => b,
        (true, true) if a == F64 || b == F64 => F64,
        (true, true) => F32,
        _ => [I64, I32, U8, Bool]
            .into_iter()
            .find(|&d| d == a || d == b)
            .unwrap_or(Bool),
    }
}

pub(crate) fn with_scalar(d: DType, s: Scalar) -> DType {
    match s {
        Scalar::Float(_) if !d.is_float() => DType::F32,
        Scalar::Int(_) if d == DType::Bool => DType::I64,
        _ => d,
    }
}

/// A scalar in the type in which an operation computes.
pub(crate) fn scalar_cell(d: DType, s: Scalar) -> Cell {
    if d.is_float() {
        let v = match s {
            Scalar::Int(i) if d == DType::F32 => f64::from(i as f32),
            s => s.to_f64(),
        };
        let r = round_to(d.compute(), v);
        // whether a scalar is rounded to a half type first is not defined
        let e = if d.is_half() && round_to(d, v) != r {
            ulp(d, v)
        } else {
            0.0
        };
        Cell { v: r, i: 0, e }
    } else {
        Cell::int(wrap(d, s.to_i64()))
    }
}

/// The shape to which shapes broadcast.
pub(crate) fn broadcast(shapes: &[&[usize]]) -> Eval<Vec<usize>> {
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut out = vec![1usize; rank];
    for s in shapes {
        for (i, &n) in s.iter().rev().enumerate() {
            let o = &mut out[rank - 1 - i];
            if *o == 1 {
                *o = n;
            } else if n != 1 && n != *o {
                return refuse(format!("{shapes:?} do not broadcast"));
            }
        }
    }
    Ok(out)
}

/// The position in `shape` that index `at` of a broadcast result reads.
pub(crate) fn source(shape: &[usize], st: &[usize], at: &[usize]) -> usize {
    let lead = at.len() - shape.len();
    (0..shape.len())
        .map(|i| if shape[i] == 1 { 0 } else { at[lead + i] * st[i] })
        .sum()
}

/// The elements broadcast to `shape`.
pub(crate) fn spread(a: &Array, shape: &[usize]) -> Vec<Cell> {
    let st = strides(&a.shape);
    let mut out = Vec::with_capacity(count(shape));
    crate::case::each(shape, |at| out.push(a.cells[source(&a.shape, &st, at)]));
    out
}

/// An axis, negative from the end; a scalar counts as one axis where `scalar` says so.
pub(crate) fn axis(d: i64, rank: usize) -> Eval<usize> {
    let n = rank as i64;
    let at = if d < 0 { d + n } else { d };
    if at < 0 || at >= n {
        refuse(format!("dim {d} of rank {rank}"))
    } else {
        Ok(at as usize)
    }
}

/// Runs one call.
///
/// # Errors
/// What the rules or the data forbid.
pub fn eval(op: Op, args: &[A], values: &[Array]) -> Eval<Vec<Array>> {
    let mut out = match op.row().lowering {
        _ if matches!(op, Op::Topk | Op::Sort) => index::ordered(op, args, values)?,
        Lowering::Copy if op == Op::SliceScatter => vec![index::eval(op, args, values)?],
        Lowering::View => view::eval(op, args, values)?,
        Lowering::Create => vec![view::create(op, args, values)?],
        Lowering::Reduce(_) => vec![reduce::eval(op, args, values)?],
        Lowering::Contract => vec![contract::matmul(args, values)?],
        _ => vec![match op {
            Op::Linear => contract::linear(args, values)?,
            Op::Cat | Op::Stack => view::join(op, args, values)?,
            Op::ToDtype => cast::eval(args, values)?,
            Op::Mean
            | Op::MeanKeepdim
            | Op::MeanAll
            | Op::Var
            | Op::VarKeepdim
            | Op::StdDev
            | Op::Norm
            | Op::Logsumexp => norm::reduce(op, args, values)?,
            Op::Softmax | Op::LogSoftmax | Op::LayerNorm | Op::RmsNorm => norm::rows(op, args, values)?,
            Op::BatchNorm | Op::GroupNorm => channel::eval(op, args, values)?,
            Op::Cumsum | Op::Cumprod => reduce::scan(op, args, values)?,
            Op::Conv1d | Op::Conv2d | Op::ConvTranspose2d => window::convolution(op, args, values)?,
            Op::MaxPool1d | Op::MaxPool2d | Op::AvgPool1d | Op::AvgPool2d => window::pool(op, args, values)?,
            Op::AdaptiveAvgPool2d => window::adaptive(args, values)?,
            Op::ScaledDotProductAttention => attention::eval(args, values)?,
            Op::Flip | Op::Roll | Op::Repeat | Op::Tril | Op::Triu | Op::Pad => {
                arrange::eval(op, args, values)?
            }
            Op::IndexSelect
            | Op::Gather
            | Op::Scatter
            | Op::ScatterAdd
            | Op::IndexAdd
            | Op::Embedding
            | Op::OneHot => index::eval(op, args, values)?,
            Op::Interpolate => resample::eval(args, values)?,
            Op::CrossEntropy | Op::NllLoss | Op::MseLoss | Op::L1Loss | Op::BinaryCrossEntropyWithLogits => {
                loss::eval(op, args, values)?
            }
            Op::Dropout => loss::dropout(args, values)?,
            _ => elementwise::eval(op, args, values)?,
        }],
    };
    exact::mark(op, args, values, &mut out);
    Ok(out)
}

/// Runs a case: all its values, or the call at which it stops.
pub fn run(case: &Case) -> Result<Vec<Array>, (usize, Stop)> {
    let mut values: Vec<Array> = case.inputs.iter().map(input).collect();
    for (i, n) in case.nodes.iter().enumerate() {
        let r = eval(n.op, &n.args, &values).map_err(|e| (i, e))?;
        if r.len() != n.results {
            return Err((
                i,
                Stop::Refused(format!("{} results, {} named", r.len(), n.results)),
            ));
        }
        values.extend(r);
    }
    Ok(values)
}

pub(crate) fn val<'a>(a: &A, v: &'a [Array]) -> Eval<&'a Array> {
    match a {
        A::V(i) => Ok(&v[*i]),
        _ => refuse("not a tensor"),
    }
}
pub(crate) fn opt_val<'a>(a: &A, v: &'a [Array]) -> Eval<Option<&'a Array>> {
    match a {
        A::None => Ok(None),
        a => val(a, v).map(Some),
    }
}

/// Floats of one dtype.
pub(crate) fn floats(xs: &[Option<&Array>]) -> Eval<()> {
    let mut all = xs.iter().flatten().map(|x| x.dtype);
    let first = all.next();
    if first.is_some_and(|d| d.is_float()) && all.all(|d| Some(d) == first) {
        Ok(())
    } else {
        refuse("dtypes")
    }
}
pub(crate) fn flag(a: &A) -> Eval<bool> {
    match a {
        A::B(b) => Ok(*b),
        _ => refuse("not a flag"),
    }
}
/// Sizes without -1.
pub(crate) fn sizes(a: &A) -> Eval<Vec<usize>> {
    ints(a)?
        .iter()
        .map(|&n| usize::try_from(n).or_else(|_| refuse("size")))
        .collect()
}
pub(crate) fn int(a: &A) -> Eval<i64> {
    match a {
        A::I(i) => Ok(*i),
        _ => refuse("not an integer"),
    }
}
pub(crate) fn ints(a: &A) -> Eval<&[i64]> {
    match a {
        A::Is(i) => Ok(i),
        _ => refuse("not a list"),
    }
}
pub(crate) fn scalar(a: &A) -> Eval<Scalar> {
    match a {
        A::S(s) => Ok(*s),
        A::I(i) => Ok(Scalar::Int(*i)),
        _ => refuse("not a scalar"),
    }
}

/// Whether two shapes broadcast.
pub fn broadcasts(a: &[usize], b: &[usize]) -> bool {
    broadcast(&[a, b]).is_ok()
}
