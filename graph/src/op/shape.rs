//! Shape rules. One rule serves `cargo check`, where dims may be symbols or unknown, and a call,
//! where all are numbers: it reports what is surely wrong and answers as far as it can.

use super::row::{ArgType, Call};
use crate::error::{Code, OpError, OpErrorKind, count as plural};
use crate::types::display_shape;
use crate::{Dim, Host, Scalar, Shape};

type Rule = Result<Vec<Shape>, OpError>;

impl Call<'_> {
    fn name(&self) -> &'static str {
        self.op.name()
    }

    fn error(&self, code: Code, message: impl Into<String>) -> OpError {
        let kind = match code {
            Code::BOUNDS => OpErrorKind::Index,
            Code::VALUE => OpErrorKind::Value,
            _ => OpErrorKind::Shape,
        };
        OpError::new(code, kind, self.name(), message)
    }

    fn shape(&self, i: usize) -> Shape {
        match self.args.get(i) {
            Some(ArgType::Tensor(t)) => t.shape.clone(),
            _ => None,
        }
    }

    fn show(&self, s: &Shape) -> String {
        display_shape(s, self.symbols).to_string()
    }

    fn show_dim(&self, d: Dim) -> String {
        let s = self.show(&Some(vec![d]));
        s[1..s.len() - 1].to_string()
    }

    /// The integer argument `i`, if known.
    fn int(&self, i: usize) -> Option<i64> {
        match self.args.get(i) {
            Some(ArgType::Host(Some(h))) => h.as_int(),
            _ => None,
        }
    }

    /// Whether argument `i` stands for the sizes of a tensor of unknown rank.
    fn unknown_sizes(&self, i: usize) -> bool {
        matches!(self.args.get(i), Some(ArgType::Tensor(t)) if t.shape.is_none())
    }

    /// The sizes that argument `i` gives, symbols included; -1 and what is not known are unknown.
    fn sizes(&self, i: usize) -> Vec<Dim> {
        let size = |a: &ArgType| match a {
            ArgType::Host(Some(Host::Int(n))) => usize::try_from(*n).map_or(Dim::Unknown, Dim::Known),
            ArgType::Symbol(s) => Dim::Symbol(*s),
            _ => Dim::Unknown,
        };
        match self.args.get(i) {
            Some(ArgType::List(l)) => l.iter().map(size).collect(),
            Some(ArgType::Tensor(t)) => t.shape.clone().unwrap_or_default(),
            Some(a) => vec![size(a)],
            None => Vec::new(),
        }
    }

    /// The list argument `i`; elements are `None` while unknown.
    fn ints(&self, i: usize) -> Vec<Option<i64>> {
        match self.args.get(i) {
            Some(ArgType::List(l)) => l
                .iter()
                .map(|a| {
                    if let ArgType::Host(Some(h)) = a {
                        h.as_int()
                    } else {
                        None
                    }
                })
                .collect(),
            Some(ArgType::Tensor(t)) => {
                let known = |d: &Dim| d.known().and_then(|n| i64::try_from(n).ok());
                t.shape.iter().flatten().map(known).collect()
            }
            Some(ArgType::Host(h)) => vec![h.and_then(Host::as_int)],
            Some(ArgType::Open(_) | ArgType::Symbol(_)) => vec![None],
            _ => Vec::new(),
        }
    }

    /// Whether sizes surely differ, by the bounds of symbols too.
    fn differs(&self, a: Dim, b: Dim) -> bool {
        a.differs_in(b, self.symbols)
    }

    /// Whether a size is surely not 1.
    fn not_one(&self, d: Dim) -> bool {
        self.differs(d, Dim::Known(1))
    }

    /// `dim` as an axis of a tensor with `rank` axes.
    fn axis(&self, arg: usize, dim: i64, rank: usize) -> Result<usize, OpError> {
        self.place(arg, dim, rank, rank)
    }

    /// Like [`axis`](Call::axis), where a scalar counts as one axis, as in PyTorch.
    fn axis_or_scalar(&self, arg: usize, dim: i64, rank: usize) -> Result<usize, OpError> {
        self.place(arg, dim, rank, rank.max(1))
    }

    /// `dim` as one of `places` places of a tensor with `rank` axes.
    fn place(&self, arg: usize, dim: i64, rank: usize, places: usize) -> Result<usize, OpError> {
        let n = places as i64;
        let at = if dim < 0 { dim + n } else { dim };
        if at >= 0 && at < n {
            return Ok(at as usize);
        }
        let valid = if places == 0 {
            "a scalar has no dims; unsqueeze(0) first".to_string()
        } else {
            format!("valid dims are {}..={}", -n, n - 1)
        };
        Err(self
            .error(
                Code::DIM_RANGE,
                format!("dim {dim} is out of range for a tensor of rank {rank}"),
            )
            .help(valid)
            .at([arg]))
    }

    /// The axes named by list argument `i`; all axes if the list is empty; `None` while unknown.
    fn axes(&self, i: usize, rank: usize) -> Result<Option<Vec<usize>>, OpError> {
        let list = self.ints(i);
        if list.is_empty() {
            return Ok(Some((0..rank).collect()));
        }
        let mut axes = Vec::new();
        let mut known = true;
        for dim in list {
            let Some(dim) = dim else {
                known = false;
                continue;
            };
            let at = self.axis(i, dim, rank)?;
            if axes.contains(&at) {
                return Err(self
                    .error(Code::REPEATED_DIM, format!("dim {dim} appears twice"))
                    .help("name each dim once; negative dims count from the end")
                    .at([i]));
            }
            axes.push(at);
        }
        Ok(known.then_some(axes))
    }

    /// The index of the dims argument.
    fn dims_arg(&self) -> usize {
        let row = self.op.row();
        let is_dims = |k| matches!(k, super::row::ParamKind::Dims | super::row::ParamKind::Dim);
        row.params.iter().position(|p| is_dims(p.kind)).unwrap_or(1)
    }
}

/// The shape to which `a` and `b` broadcast.
fn broadcast_two(c: &Call<'_>, ai: usize, a: &Shape, bi: usize, b: &Shape) -> Result<Shape, OpError> {
    let (Some(x), Some(y)) = (a, b) else {
        return Ok(None);
    };
    let rank = x.len().max(y.len());
    let at = |s: &[Dim], i: usize| (i + s.len()).checked_sub(rank).map_or(Dim::Known(1), |i| s[i]);
    let mut out = Vec::with_capacity(rank);
    for i in 0..rank {
        out.push(match (at(x, i), at(y, i)) {
            (Dim::Known(1), d) | (d, Dim::Known(1)) => d,
            (p, q) if p.same(q) => p,
            (p, q) if c.differs(p, q) && c.not_one(p) && c.not_one(q) => {
                return Err(c
                    .error(
                        Code::BROADCAST,
                        format!(
                            "shapes {} and {} do not broadcast (dim {}: {} != {})",
                            c.show(a),
                            c.show(b),
                            i as i64 - rank as i64,
                            c.show_dim(p),
                            c.show_dim(q)
                        ),
                    )
                    .help("sizes must be equal or 1, compared from the last dim; unsqueeze(..) or transpose(..) one side")
                    .at([ai, bi]));
            }
            (Dim::Known(n), _) | (_, Dim::Known(n)) => Dim::Known(n),
            (d, _) | (_, d) if c.not_one(d) => d,
            _ => Dim::Unknown,
        });
    }
    Ok(Some(out))
}

/// All tensor arguments broadcast together.
pub fn broadcast(c: &Call<'_>) -> Rule {
    let mut out: Option<(usize, Shape)> = None;
    for (i, a) in c.args.iter().enumerate() {
        if let ArgType::Tensor(t) = a {
            out = Some(match out {
                None => (i, t.shape.clone()),
                Some((j, s)) => (j, broadcast_two(c, j, &s, i, &t.shape)?),
            });
        }
    }
    Ok(vec![out.map_or(Some(Vec::new()), |(_, s)| s)])
}

/// The first operand's shape.
pub fn same(c: &Call<'_>) -> Rule {
    Ok(vec![c.shape(0)])
}

/// The first operand's shape, with an axis that exists.
pub fn along(c: &Call<'_>) -> Rule {
    let shape = c.shape(0);
    if let (Some(s), Some(d)) = (&shape, c.int(1)) {
        c.axis_or_scalar(1, d, s.len())?;
    }
    Ok(vec![shape])
}

fn reduce_with(c: &Call<'_>, keepdim: bool, nonempty: bool) -> Rule {
    let Some(s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let arg = c.dims_arg();
    // PyTorch lets a scalar be reduced along dim 0 or -1
    let scalar_ok = s.is_empty() && c.ints(arg).iter().all(|d| matches!(d, Some(0 | -1) | None));
    let axes = if scalar_ok {
        Some(Vec::new())
    } else {
        c.axes(arg, s.len())?
    };
    let Some(axes) = axes else {
        let list = c.ints(arg);
        let rank = if keepdim {
            s.len()
        } else {
            s.len().saturating_sub(list.len())
        };
        return Ok(vec![Some(vec![Dim::Unknown; rank])]);
    };
    if nonempty {
        nonempty_axes(c, &s, &axes)?;
    }
    let out = s
        .iter()
        .enumerate()
        .filter_map(|(i, &d)| match (axes.contains(&i), keepdim) {
            (false, _) => Some(d),
            (true, true) => Some(Dim::Known(1)),
            (true, false) => None,
        });
    Ok(vec![Some(out.collect())])
}

fn nonempty_axes(c: &Call<'_>, s: &[Dim], axes: &[usize]) -> Result<(), OpError> {
    match axes.iter().find(|&&a| s[a] == Dim::Known(0)) {
        Some(a) => Err(c
            .error(
                Code::EMPTY,
                format!(
                    "dim {a} of {} is empty, and {} has no identity",
                    c.show(&Some(s.to_vec())),
                    c.name()
                ),
            )
            .help("reduce dims of size 1 or more; check the size before the function is called")
            .at([0])),
        None => Ok(()),
    }
}

/// Without the reduced axes.
pub fn reduce(c: &Call<'_>) -> Rule {
    reduce_with(c, false, false)
}

/// Like [`reduce`], for a norm: an infinite one is a largest or smallest value, which an empty axis does not have.
pub fn reduce_p(c: &Call<'_>) -> Rule {
    let infinite = match c.args.get(1) {
        Some(ArgType::Host(Some(h))) => h.as_float().is_some_and(f64::is_infinite),
        _ => false,
    };
    reduce_with(c, false, infinite)
}

/// With the reduced axes at size 1.
pub fn reduce_keepdim(c: &Call<'_>) -> Rule {
    reduce_with(c, true, false)
}

/// A scalar.
pub fn reduce_all(_: &Call<'_>) -> Rule {
    Ok(vec![Some(Vec::new())])
}

/// Like [`reduce`]; no reduced axis may be empty.
pub fn reduce_nonempty(c: &Call<'_>) -> Rule {
    reduce_with(c, false, true)
}

/// Like [`reduce_keepdim`]; no reduced axis may be empty.
pub fn reduce_nonempty_keepdim(c: &Call<'_>) -> Rule {
    reduce_with(c, true, true)
}

/// A scalar; no axis may be empty.
pub fn reduce_nonempty_all(c: &Call<'_>) -> Rule {
    if let Some(s) = c.shape(0) {
        let axes: Vec<usize> = (0..s.len()).collect();
        nonempty_axes(c, &s, &axes)?;
    }
    reduce_all(c)
}

/// Weights match the trailing axes.
pub fn layer_norm(c: &Call<'_>) -> Rule {
    let shape = c.shape(0);
    let n = c.int(1);
    let (Some(s), Some(n)) = (&shape, n) else {
        return match n.filter(|&n| n < 1) {
            Some(n) => Err(c
                .error(Code::RANK, format!("trailing_dims is {n}"))
                .help("write 1 or more")
                .at([1])),
            None => Ok(vec![shape]),
        };
    };
    if n < 1 || n as usize > s.len() {
        let message = format!("trailing_dims is {n}, and the tensor has rank {}", s.len());
        return Err(c
            .error(Code::RANK, message)
            .help(format!("write 1..={}", s.len()))
            .at([1]));
    }
    trailing_weights(c, s, &s[s.len() - n as usize..], &[2, 3])?;
    Ok(vec![shape])
}

/// The weight matches the last axis.
pub fn rms_norm(c: &Call<'_>) -> Rule {
    let shape = c.shape(0);
    let Some(s) = &shape else { return Ok(vec![shape]) };
    let Some(last) = s.last() else {
        return Err(c
            .error(Code::RANK, "a scalar has no last dim")
            .help("unsqueeze(0) first")
            .at([0]));
    };
    trailing_weights(c, s, &[*last], &[1])?;
    Ok(vec![shape])
}

fn trailing_weights(c: &Call<'_>, x: &[Dim], want: &[Dim], args: &[usize]) -> Result<(), OpError> {
    for &i in args {
        if let Some(w) = c.shape(i)
            && (w.len() != want.len() || w.iter().zip(want).any(|(a, b)| c.differs(*a, *b)))
        {
            let message = format!(
                "`{}` {} does not match the trailing dims {} of {}",
                c.op.row().params[i].name,
                c.show(&Some(w)),
                c.show(&Some(want.to_vec())),
                c.show(&Some(x.to_vec()))
            );
            return Err(c
                .error(Code::SIZES, message)
                .help("weight and bias have exactly the normalised dims")
                .at([0, i]));
        }
    }
    Ok(())
}

/// PyTorch's matrix product.
pub fn matmul(c: &Call<'_>) -> Rule {
    let (a, b) = (c.shape(0), c.shape(1));
    let (Some(x), Some(y)) = (&a, &b) else {
        for (i, s) in [&a, &b].into_iter().enumerate() {
            if s.as_ref().is_some_and(Vec::is_empty) {
                return Err(scalar_operand(c, i));
            }
        }
        return Ok(vec![None]);
    };
    for (i, s) in [x, y].into_iter().enumerate() {
        if s.is_empty() {
            return Err(scalar_operand(c, i));
        }
    }
    let inner = (x[x.len() - 1], if y.len() == 1 { y[0] } else { y[y.len() - 2] });
    if c.differs(inner.0, inner.1) {
        let (p, q) = (c.show_dim(inner.0), c.show_dim(inner.1));
        let mut e = c.error(
            Code::INNER,
            format!(
                "inner dimensions differ: lhs {} @ rhs {} ({p} != {q})",
                c.show(&a),
                c.show(&b)
            ),
        );
        e = if y.len() >= 2 && y[y.len() - 1].same(inner.0) {
            e.help("the rhs fits transposed: write rhs.transpose(-1, -2)")
        } else {
            e.help("the last dim of lhs must equal the last but one of rhs")
        };
        return Err(e.at([0, 1]));
    }
    let (xb, yb) = (
        Some(x[..x.len().saturating_sub(2)].to_vec()),
        Some(y[..y.len().saturating_sub(2)].to_vec()),
    );
    let batch = broadcast_two(c, 0, &xb, 1, &yb).map_err(|e| OpError {
        message: format!(
            "batch dims {} and {} of lhs {} @ rhs {} do not broadcast",
            c.show(&xb),
            c.show(&yb),
            c.show(&a),
            c.show(&b)
        ),
        ..e
    })?;
    let Some(mut out) = batch else {
        return Ok(vec![None]);
    };
    if x.len() >= 2 {
        out.push(x[x.len() - 2]);
    }
    if y.len() >= 2 {
        out.push(y[y.len() - 1]);
    }
    Ok(vec![Some(out)])
}

fn scalar_operand(c: &Call<'_>, i: usize) -> OpError {
    c.error(Code::RANK, "a scalar is not a matrix or vector")
        .help("multiply with `*`, or unsqueeze(0) first")
        .at([i])
}

/// `x @ w^T + bias`.
pub fn linear(c: &Call<'_>) -> Rule {
    let (x, w) = (c.shape(0), c.shape(1));
    if let Some(s) = &w
        && s.len() != 2
    {
        let message = format!("the weight has rank {}, expected [out, in]", s.len());
        return Err(c
            .error(Code::RANK, message)
            .help("the weight is [out, in]; use matmul(..) for other products")
            .at([1]));
    }
    if let (Some(s), Some(bias)) = (&w, c.shape(2))
        && (bias.len() != 1 || c.differs(bias[0], s[0]))
    {
        let message = format!(
            "bias {} does not match the weight {}",
            c.show(&Some(bias)),
            c.show(&w)
        );
        return Err(c
            .error(Code::SIZES, message)
            .help("the bias is [out], the weight [out, in]")
            .at([1, 2]));
    }
    let Some(xs) = &x else { return Ok(vec![None]) };
    let Some((last, rest)) = xs.split_last() else {
        return Err(scalar_operand(c, 0));
    };
    let mut out = rest.to_vec();
    let Some(ws) = &w else {
        out.push(Dim::Unknown);
        return Ok(vec![Some(out)]);
    };
    if c.differs(*last, ws[1]) {
        let (p, q) = (c.show_dim(*last), c.show_dim(ws[1]));
        let message = format!(
            "inner dimensions differ: input {} with weight {} ({p} != {q})",
            c.show(&x),
            c.show(&w)
        );
        return Err(c
            .error(Code::INNER, message)
            .help("the weight is [out, in]")
            .at([0, 1]));
    }
    out.push(ws[0]);
    Ok(vec![Some(out)])
}

/// A computed size, if it fits; sizes are at most `i64::MAX`.
fn size(n: Option<usize>) -> Option<usize> {
    n.filter(|&n| i64::try_from(n).is_ok())
}

/// The element count, if it is known and fits.
fn count(s: &[Dim]) -> Option<usize> {
    s.iter().try_fold(1usize, |n, d| size(n.checked_mul(d.known()?)))
}

/// The size of `count(s) / count(divisor)`: a number, or the one symbol that is left.
fn quotient(s: &[Dim], divisor: &[Dim]) -> Dim {
    /// The product of the numbers, and the symbols; `None` if something is unknown.
    fn product(s: &[Dim]) -> Option<(usize, Vec<Dim>)> {
        let (mut known, mut symbols) = (1usize, Vec::new());
        for d in s {
            match d {
                Dim::Known(n) => known = size(known.checked_mul(*n))?,
                Dim::Symbol(_) => symbols.push(*d),
                Dim::Unknown => return None,
            }
        }
        Some((known, symbols))
    }
    let (Some((n, mut symbols)), Some((m, cancelled))) = (product(s), product(divisor)) else {
        return Dim::Unknown;
    };
    for d in cancelled {
        match symbols.iter().position(|s| *s == d) {
            Some(at) => symbols.swap_remove(at),
            None => return Dim::Unknown,
        };
    }
    match symbols[..] {
        [d] if n == m && m > 0 => d,
        [] if m > 0 && n % m == 0 => Dim::Known(n / m),
        _ => Dim::Unknown,
    }
}

/// A given shape with at most one -1.
pub fn reshape(c: &Call<'_>) -> Rule {
    if c.unknown_sizes(1) {
        return Ok(vec![None]);
    }
    let want = c.ints(1);
    let x = c.shape(0);
    if want.iter().filter(|&&d| d == Some(-1)).count() > 1 {
        return Err(c
            .error(Code::RESHAPE, "more than one size is -1")
            .help("only one size can be inferred")
            .at([1]));
    }
    if let Some(d) = want.iter().flatten().find(|&&d| d < -1) {
        return Err(c
            .error(Code::RESHAPE, format!("{d} is not a size"))
            .help("sizes are >= 0, or one -1")
            .at([1]));
    }
    let mut out = c.sizes(1);
    let total = x.as_deref().and_then(count);
    let given: Option<usize> = want
        .iter()
        .filter(|&&d| d != Some(-1))
        .try_fold(1usize, |n, d| d.map(|d| n.saturating_mul(d as usize)));
    let (Some(total), Some(given)) = (total, given) else {
        if let (Some(at), Some(s)) = (want.iter().position(|&d| d == Some(-1)), &x) {
            out[at] = Dim::Known(1);
            out[at] = quotient(s, &out);
        }
        return Ok(vec![Some(out)]);
    };
    let shown = || {
        format!(
            "[{}]",
            want.iter()
                .map(|d| d.map_or("_".into(), |d| d.to_string()))
                .collect::<Vec<_>>()
                .join(", ")
        )
    };
    if let Some(at) = want.iter().position(|&d| d == Some(-1)) {
        if given == 0 || total % given != 0 {
            let message = format!(
                "{} has {total} elements, which do not fill {}",
                c.show(&x),
                shown()
            );
            return Err(c
                .error(Code::RESHAPE, message)
                .help("the other sizes must divide the element count")
                .at([0, 1]));
        }
        out[at] = Dim::Known(total / given);
    } else if total != given {
        let message = format!("{} has {total} elements, {} has {given}", c.show(&x), shown());
        return Err(c
            .error(Code::RESHAPE, message)
            .help("write -1 for one size to infer it")
            .at([0, 1]));
    }
    Ok(vec![Some(out)])
}

/// Merged axes.
pub fn flatten(c: &Call<'_>) -> Rule {
    let Some(s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let (Some(from), Some(to)) = (c.int(1), c.int(2)) else {
        return Ok(vec![None]);
    };
    if s.is_empty() {
        // PyTorch lets a scalar be flattened along dim 0 or -1
        c.axis(1, from, 1)?;
        c.axis(2, to, 1)?;
        return Ok(vec![Some(vec![Dim::Known(1)])]);
    }
    let (from, to) = (c.axis(1, from, s.len())?, c.axis(2, to, s.len())?);
    if from > to {
        return Err(c
            .error(Code::VALUE, format!("from ({from}) is behind to ({to})"))
            .help("write the first axis to merge, then the last")
            .at([1, 2]));
    }
    let merged = if from == to {
        s[from]
    } else {
        quotient(&s[from..=to], &[])
    };
    let mut out = s[..from].to_vec();
    out.push(merged);
    out.extend_from_slice(&s[to + 1..]);
    Ok(vec![Some(out)])
}

/// One axis.
pub fn flatten_all(c: &Call<'_>) -> Rule {
    Ok(vec![Some(vec![
        c.shape(0).map_or(Dim::Unknown, |s| quotient(&s, &[])),
    ])])
}

/// Two axes swapped.
pub fn transpose(c: &Call<'_>) -> Rule {
    let Some(mut s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let (Some(a), Some(b)) = (c.int(1), c.int(2)) else {
        return Ok(vec![Some(vec![Dim::Unknown; s.len()])]);
    };
    let (a, b) = (c.axis_or_scalar(1, a, s.len())?, c.axis_or_scalar(2, b, s.len())?);
    if s.is_empty() {
        return Ok(vec![Some(s)]);
    }
    s.swap(a, b);
    Ok(vec![Some(s)])
}

/// A matrix transposed.
pub fn t(c: &Call<'_>) -> Rule {
    let Some(mut s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    if s.len() > 2 {
        let message = format!(
            "{} has rank {}, expected at most 2",
            c.show(&Some(s.clone())),
            s.len()
        );
        return Err(c
            .error(Code::RANK, message)
            .help("write transpose(-1, -2)")
            .at([0]));
    }
    s.reverse();
    Ok(vec![Some(s)])
}

/// Axes reordered.
pub fn permute(c: &Call<'_>) -> Rule {
    let Some(s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let dims = c.ints(1);
    if dims.len() != s.len() {
        let message = format!(
            "{} given for a tensor of rank {}",
            plural(dims.len(), "dim"),
            s.len()
        );
        return Err(c.error(Code::RANK, message).help("name every dim once").at([1]));
    }
    if s.is_empty() {
        return Ok(vec![Some(s)]);
    }
    let Some(axes) = c.axes(1, s.len())? else {
        return Ok(vec![Some(vec![Dim::Unknown; s.len()])]);
    };
    Ok(vec![Some(axes.into_iter().map(|a| s[a]).collect())])
}

/// A new axis of size 1.
pub fn unsqueeze(c: &Call<'_>) -> Rule {
    let Some(mut s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let Some(d) = c.int(1) else {
        return Ok(vec![Some(vec![Dim::Unknown; s.len() + 1])]);
    };
    let at = c.place(1, d, s.len(), s.len() + 1)?;
    s.insert(at, Dim::Known(1));
    Ok(vec![Some(s)])
}

/// An axis removed if its size is 1.
pub fn squeeze(c: &Call<'_>) -> Rule {
    let Some(mut s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let Some(d) = c.int(1) else { return Ok(vec![None]) };
    if s.is_empty() && matches!(d, 0 | -1) {
        return Ok(vec![Some(s)]);
    }
    let at = c.axis(1, d, s.len())?;
    match s[at] {
        Dim::Known(1) => {
            s.remove(at);
            Ok(vec![Some(s)])
        }
        d if c.not_one(d) => Ok(vec![Some(s)]),
        _ => Ok(vec![None]),
    }
}

/// `len` elements from `start`.
pub fn narrow(c: &Call<'_>) -> Rule {
    let (start, len) = (c.int(2), c.int(3));
    let (Some(mut s), Some(d)) = (c.shape(0), c.int(1)) else {
        // no size of the tensor makes these right
        for (i, what) in [(2, "start"), (3, "len")] {
            if let Some(n) = c.int(i).filter(|&n| n < 0) {
                return Err(c
                    .error(Code::BOUNDS, format!("{what} is {n}"))
                    .help("start and len are not negative; start counts from the front")
                    .at([i]));
            }
        }
        return Ok(vec![c.shape(0).map(|s| vec![Dim::Unknown; s.len()])]);
    };
    let at = c.axis(1, d, s.len())?;
    let largest = match s[at] {
        Dim::Known(n) => Some(n),
        Dim::Symbol(i) => c.symbols.get(i as usize).and_then(|s| s.hi),
        Dim::Unknown => None,
    };
    let (first, count) = (start.unwrap_or(0), len.unwrap_or(0));
    if first < 0 || count < 0 || largest.is_some_and(|n| first.saturating_add(count) > n as i64) {
        let show = |v: Option<i64>| v.map_or("_".to_string(), |v| v.to_string());
        let message = format!(
            "start {} with len {} is outside dim {at} of {} (size {})",
            show(start),
            show(len),
            c.show(&Some(s.clone())),
            c.show_dim(s[at])
        );
        return Err(c
            .error(Code::BOUNDS, message)
            .help("start + len must not exceed the size")
            .at([2, 3]));
    }
    s[at] = c.sizes(3)[0];
    Ok(vec![Some(s)])
}

/// One index of an axis.
pub fn select(c: &Call<'_>) -> Rule {
    let Some(mut s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let Some(d) = c.int(1) else {
        return Ok(vec![Some(vec![Dim::Unknown; s.len().saturating_sub(1)])]);
    };
    let at = c.axis(1, d, s.len())?;
    if let (Some(i), Dim::Known(n)) = (c.int(2), s[at])
        && (i < -(n as i64) || i >= n as i64)
    {
        let message = format!(
            "index {i} is out of range for dim {at} of {} (size {n})",
            c.show(&Some(s))
        );
        let help = match n {
            0 => "the dim is empty".to_string(),
            n => format!("valid indices are -{n}..={}", n - 1),
        };
        return Err(c.error(Code::BOUNDS, message).help(help).at([2]));
    }
    s.remove(at);
    Ok(vec![Some(s)])
}

/// The bounds of a Python slice with a positive step, clamped to `n`: `(start, len)`.
pub fn slice_bounds(n: usize, start: i64, end: i64, step: i64) -> (usize, usize) {
    let n = n as i64;
    let clamp = |v: i64| if v < 0 { (v + n).max(0) } else { v.min(n) };
    let (start, end) = (clamp(start), clamp(end));
    (
        start as usize,
        ((end - start).max(0) as usize).div_ceil(step.max(1) as usize),
    )
}

/// Elements `start, start + step, ..` below `end`.
pub fn slice(c: &Call<'_>) -> Rule {
    if let Some(step) = c.int(4).filter(|&step| step < 1) {
        return Err(c
            .error(Code::VALUE, format!("step is {step}"))
            .help("steps are positive; flip(..) reverses")
            .at([4]));
    }
    let Some(mut s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let Some(d) = c.int(1) else {
        return Ok(vec![Some(vec![Dim::Unknown; s.len()])]);
    };
    let at = c.axis(1, d, s.len())?;
    s[at] = match (c.int(2), c.int(3), c.int(4), s[at]) {
        (Some(start), Some(end), Some(step), Dim::Known(n)) => {
            Dim::Known(slice_bounds(n, start, end, step).1)
        }
        (Some(0), Some(i64::MAX), Some(1), d) => d,
        _ => Dim::Unknown,
    };
    Ok(vec![Some(s)])
}

/// Size-1 axes repeated without a copy.
pub fn expand(c: &Call<'_>) -> Rule {
    if c.unknown_sizes(1) {
        return Ok(vec![None]);
    }
    let want = c.ints(1);
    let x = c.shape(0);
    let Some(s) = &x else {
        if let Some(n) = want.iter().flatten().find(|&&n| n < -1) {
            return Err(c
                .error(Code::RESHAPE, format!("{n} is not a size here"))
                .help("-1 keeps an existing size")
                .at([1]));
        }
        return Ok(vec![Some(c.sizes(1))]);
    };
    if want.len() < s.len() {
        let message = format!("{} given for {}", plural(want.len(), "size"), c.show(&x));
        return Err(c
            .error(Code::RESHAPE, message)
            .help("an expanded tensor has at least the same rank")
            .at([1]));
    }
    let lead = want.len() - s.len();
    let given = c.sizes(1);
    let mut out = Vec::with_capacity(want.len());
    for (i, d) in want.iter().enumerate() {
        let old = i.checked_sub(lead).map(|i| s[i]);
        out.push(match (d, old) {
            (Some(-1), Some(old)) => old,
            (Some(n), _) if *n < 0 => {
                return Err(c
                    .error(Code::RESHAPE, format!("{n} is not a size here"))
                    .help("-1 keeps an existing size")
                    .at([1]));
            }
            (Some(n), Some(Dim::Known(m))) if m != 1 && m as i64 != *n => {
                let message = format!(
                    "dim {i} of {} has size {m}, which does not expand to {n}",
                    c.show(&x)
                );
                return Err(c
                    .error(Code::RESHAPE, message)
                    .help("only size 1 expands")
                    .at([0, 1]));
            }
            (Some(n), _) => Dim::Known(*n as usize),
            (None, Some(old)) if c.not_one(old) || old == given[i] => old,
            (None, _) => given[i],
        });
    }
    Ok(vec![Some(out)])
}

/// An axis moved.
pub fn movedim(c: &Call<'_>) -> Rule {
    let Some(mut s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let (Some(a), Some(b)) = (c.int(1), c.int(2)) else {
        return Ok(vec![Some(vec![Dim::Unknown; s.len()])]);
    };
    let (a, b) = (c.axis_or_scalar(1, a, s.len())?, c.axis_or_scalar(2, b, s.len())?);
    if s.is_empty() {
        return Ok(vec![Some(s)]);
    }
    let d = s.remove(a);
    s.insert(b, d);
    Ok(vec![Some(s)])
}

fn list<'a>(c: &Call<'a>) -> Result<Vec<&'a Shape>, OpError> {
    let Some(ArgType::List(l)) = c.args.first() else {
        return Ok(Vec::new());
    };
    if l.is_empty() {
        return Err(c
            .error(Code::VALUE, "the list of tensors is empty")
            .help("pass at least one tensor")
            .at([0]));
    }
    Ok(l.iter()
        .filter_map(|a| {
            if let ArgType::Tensor(t) = a {
                Some(&t.shape)
            } else {
                None
            }
        })
        .collect())
}

/// Joined along an axis.
pub fn cat(c: &Call<'_>) -> Rule {
    let shapes = list(c)?;
    let Some(first) = shapes.iter().find_map(|s| s.as_ref()) else {
        return Ok(vec![None]);
    };
    if first.is_empty() {
        return Err(c
            .error(Code::RANK, "scalars have no dim to join along")
            .help("use Tensor::stack(..)")
            .at([0]));
    }
    let Some(d) = c.int(1) else {
        return Ok(vec![Some(vec![Dim::Unknown; first.len()])]);
    };
    let at = c.axis(1, d, first.len())?;
    let mut out = first.clone();
    let mut total = Some(0usize);
    for s in &shapes {
        let Some(s) = s else {
            total = None;
            continue;
        };
        let clash = s.len() != out.len() || (0..s.len()).any(|i| i != at && c.differs(s[i], out[i]));
        if clash {
            let message = format!(
                "shapes {} and {} differ outside dim {at}",
                c.show(&Some(first.clone())),
                c.show(&Some((*s).clone()))
            );
            return Err(c
                .error(Code::SIZES, message)
                .help("all sizes but the joined one must be equal")
                .at([0]));
        }
        refine(&mut out, s);
        total = total.zip(s[at].known()).and_then(|(a, b)| size(a.checked_add(b)));
    }
    if shapes.len() > 1 {
        out[at] = total.map_or(Dim::Unknown, Dim::Known);
    }
    Ok(vec![Some(out)])
}

/// Takes from `other`, whose sizes are the same, what it knows better.
fn refine(sizes: &mut [Dim], other: &[Dim]) {
    sizes.iter_mut().zip(other).for_each(|(s, o)| *s = s.refine(*o));
}

/// Joined along a new axis.
pub fn stack(c: &Call<'_>) -> Rule {
    let shapes = list(c)?;
    let Some(first) = shapes.iter().find_map(|s| s.as_ref()) else {
        return Ok(vec![None]);
    };
    for s in shapes.iter().filter_map(|s| s.as_ref()) {
        if s.len() != first.len() || s.iter().zip(first).any(|(a, b)| c.differs(*a, *b)) {
            let message = format!(
                "shapes {} and {} differ",
                c.show(&Some(first.clone())),
                c.show(&Some(s.clone()))
            );
            return Err(c
                .error(Code::SIZES, message)
                .help("stacked tensors have one shape")
                .at([0]));
        }
    }
    let mut out = first.clone();
    shapes
        .iter()
        .filter_map(|s| s.as_ref())
        .for_each(|s| refine(&mut out, s));
    let Some(d) = c.int(1) else {
        return Ok(vec![Some(vec![Dim::Unknown; out.len() + 1])]);
    };
    let at = c.place(1, d, out.len(), out.len() + 1)?;
    out.insert(at, Dim::Known(shapes.len()));
    Ok(vec![Some(out)])
}

/// More pieces than this are refused, so that a shape rule stays cheap.
const MAX_PIECES: usize = 1 << 16;

/// The pieces of axis `args[2]`; `cut` tells their number and size from the axis' size.
fn pieces(c: &Call<'_>, cut: impl Fn(usize) -> (usize, usize)) -> Rule {
    let Some(s) = c.shape(0) else {
        return Ok(Vec::new());
    };
    let Some(d) = c.int(2) else { return Ok(Vec::new()) };
    let at = c.axis(2, d, s.len())?;
    let Dim::Known(n) = s[at] else {
        return Ok(Vec::new());
    };
    let (number, size) = cut(n);
    if number > MAX_PIECES {
        return Err(c
            .error(Code::VALUE, format!("{number} pieces are more than {MAX_PIECES}"))
            .help("take larger pieces")
            .at([1]));
    }
    let piece = |i: usize| {
        let mut p = s.clone();
        p[at] = Dim::Known(size.min(n - i * size));
        Some(p)
    };
    Ok((0..number).map(piece).collect())
}

/// Up to `n` equal pieces, `n` of them for an empty axis; none known while the size is not.
pub fn chunk(c: &Call<'_>) -> Rule {
    let Some(n) = c.int(1) else { return Ok(Vec::new()) };
    if n < 1 {
        return Err(c
            .error(Code::VALUE, format!("the number of pieces is {n}"))
            .help("write 1 or more")
            .at([1]));
    }
    let n = n as usize;
    pieces(c, |size| match size.div_ceil(n) {
        0 => (n, 0),
        piece => (size.div_ceil(piece), piece),
    })
}

/// Pieces of a size; none known while the axis is not.
pub fn split(c: &Call<'_>) -> Rule {
    let Some(n) = c.int(1) else { return Ok(Vec::new()) };
    if n < 1 {
        return Err(c
            .error(Code::VALUE, format!("the size of a piece is {n}"))
            .help("write 1 or more")
            .at([1]));
    }
    let n = n as usize;
    pieces(c, |size| (size.div_ceil(n).max(1), n))
}

/// The shape argument.
pub fn create(c: &Call<'_>) -> Rule {
    if c.unknown_sizes(0) {
        return Ok(vec![None]);
    }
    if let Some(n) = c.ints(0).into_iter().flatten().find(|&n| n < 0) {
        return Err(c
            .error(Code::VALUE, format!("{n} is not a size"))
            .help("sizes are >= 0")
            .at([0]));
    }
    Ok(vec![Some(c.sizes(0))])
}

/// `ceil(end - start)` elements.
pub fn arange(c: &Call<'_>) -> Rule {
    let bound = |i: usize| match c.args.get(i) {
        Some(ArgType::Host(Some(h))) => h.as_scalar(),
        _ => None,
    };
    let (Some(start), Some(end)) = (bound(0), bound(1)) else {
        return Ok(vec![Some(vec![Dim::Unknown])]);
    };
    let number = match (start, end) {
        (Scalar::Int(a), Scalar::Int(b)) => usize::try_from(i128::from(b) - i128::from(a)).ok(),
        _ => match (end.to_f64() - start.to_f64()).ceil() {
            n if (0.0..9e18).contains(&n) => Some(n as usize),
            _ => None,
        },
    };
    let Some(number) = number else {
        let message = format!("the range {start}..{end} is not increasing and finite");
        return Err(c
            .error(Code::VALUE, message)
            .help("the start must not exceed the end")
            .at([0, 1]));
    };
    Ok(vec![Some(vec![Dim::Known(number)])])
}

/// `n` elements.
pub fn linspace(c: &Call<'_>) -> Rule {
    repeated(c, 2, 1)
}

/// An n by n matrix.
pub fn eye(c: &Call<'_>) -> Rule {
    repeated(c, 0, 2)
}

/// `rank` sizes that are all argument `arg`.
fn repeated(c: &Call<'_>, arg: usize, rank: usize) -> Rule {
    if let Some(n) = c.int(arg).filter(|&n| n < 0) {
        return Err(c
            .error(Code::VALUE, format!("{n} is not a size"))
            .help("sizes are >= 0")
            .at([arg]));
    }
    Ok(vec![Some(vec![c.sizes(arg)[0]; rank])])
}
