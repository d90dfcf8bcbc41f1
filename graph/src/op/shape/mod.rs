//! Shape rules. One rule serves `cargo check`, where dims may be symbols or unknown, and a call,
//! where all are numbers: it reports what is surely wrong and answers as far as it can.

mod contract;
mod create;
mod elementwise;
mod index;
mod join;
mod model;
mod norm;
mod reduce;
mod view;
mod window;

pub use contract::*;
pub use create::*;
pub use elementwise::*;
pub use index::*;
pub use join::*;
pub use model::*;
pub use norm::*;
pub use reduce::*;
pub use view::*;
pub use window::*;

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

    /// Checks that integer argument `i`, which is `what`, is `lowest` or more as far as it is known.
    fn at_least(&self, i: usize, lowest: i64, what: &str) -> Result<(), OpError> {
        self.none_below(self.int(i), i, lowest, what)
    }

    /// Checks that no number of argument `i` is below `lowest`.
    fn none_below(
        &self,
        numbers: impl IntoIterator<Item = i64>,
        i: usize,
        lowest: i64,
        what: &str,
    ) -> Result<(), OpError> {
        match numbers.into_iter().find(|&n| n < lowest) {
            Some(n) => Err(self
                .error(Code::VALUE, format!("{what} is {n}"))
                .help(format!("write {lowest} or more"))
                .at([i])),
            None => Ok(()),
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

/// A computed size, if it fits; sizes are at most `i64::MAX`.
fn size(n: Option<usize>) -> Option<usize> {
    n.filter(|&n| i64::try_from(n).is_ok())
}
