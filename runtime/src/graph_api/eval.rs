//! `Eval`: one node on tensors.

use crate::ops::{self, EagerArg};
use crate::options::Settings;
use crate::shape::Written;
use crate::{Error, Result, Tensor};
use smallvec::SmallVec;
use tensorplay_graph::op::row::ParamKind;
use tensorplay_graph::{Arg, Host, Node};

/// Runs one node of a graph.
pub trait Eval {
    /// The results of the node's operation for these tensors, which stand for its tensor arguments in order.
    ///
    /// # Errors
    /// A broken rule; an input, or a call of other graphs; a number that depends on more than the node, which an
    /// [`Interpreter`](super::Interpreter) evaluates before it hands the node on.
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>>;
}

impl Eval for Node {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let Some(op) = self.op() else {
            return Err(Error::msg("an input of a graph is no operation"));
        };
        if self.region_call().is_some() || self.link().is_some() {
            let message = format!("`{op}` runs other graphs; run the graph that it is in");
            return Err(Error::GraphCapture(message));
        }
        let mut next = inputs.iter();
        let params = op.row().params;
        let args = self.args().iter().zip(params);
        let args = args
            .map(|(a, p)| argument(a, p.kind, &mut next))
            .collect::<Result<SmallVec<[EagerArg<'_>; 6]>>>()?;
        ops::evaluate(op, &args)
    }
}

fn argument<'a>(
    arg: &Arg,
    kind: ParamKind,
    tensors: &mut std::slice::Iter<'a, Tensor>,
) -> Result<EagerArg<'a>> {
    let mut tensor = || {
        tensors
            .next()
            .ok_or_else(|| Error::msg("the node takes more tensors"))
    };
    Ok(match (arg, kind) {
        (Arg::Value(_), _) => EagerArg::Tensor(tensor()?),
        (Arg::None, _) => EagerArg::None,
        (Arg::List(l), ParamKind::Tensors) => {
            EagerArg::Tensors(l.iter().map(|_| tensor()).collect::<Result<_>>()?)
        }
        (Arg::List(l), ParamKind::Options(_)) => {
            let one = |a: &Arg| match a {
                Arg::None => Ok(None),
                a => host(a).map(Some),
            };
            EagerArg::Options(l.iter().map(one).collect::<Result<Settings>>()?)
        }
        (Arg::List(l), _) => EagerArg::Ints(l.iter().map(int).collect::<Result<Written>>()?),
        (a, ParamKind::Dims | ParamKind::Ints | ParamKind::Shape) => {
            EagerArg::Ints([int(a)?].into_iter().collect())
        }
        (a, ParamKind::Int | ParamKind::Dim) => EagerArg::Int(int(a)?),
        (a, _) => match host(a)? {
            Host::DType(d) => EagerArg::DType(d),
            h => EagerArg::Scalar(h.as_scalar().ok_or_else(unknown)?),
        },
    })
}

fn unknown() -> Error {
    Error::msg("a number of the node is not known").with_help("run the graph that it is in")
}

fn host(arg: &Arg) -> Result<Host> {
    match arg {
        Arg::Host(e) => e.eval(&crate::plan::CallScalars(&[])).map_err(|_| unknown()),
        _ => Err(unknown()),
    }
}

fn int(arg: &Arg) -> Result<i64> {
    host(arg)?.as_int().ok_or_else(unknown)
}
