//! Shape evaluation.

use super::{EvalArg, EvalError, Interpreter};
use crate::builder::infer_types;
use crate::op::row::ArgType;
use crate::{Expr, Node, NodeId, Op, OpError, Symbol, TensorType};
use std::fmt;

/// Shape evaluation: an interpreter over types. What a node records is used only where a number of results
/// is not known.
#[derive(Clone, Copy, Debug, Default)]
pub struct TypeInterpreter<'a> {
    /// Named dims, for messages and bounds.
    pub symbols: &'a [Symbol],
}

/// An error of [`TypeInterpreter`].
#[derive(Clone, PartialEq, Debug)]
pub enum TypeError {
    /// The walk itself.
    Eval(EvalError),
    /// A broken rule of a node.
    Op(NodeId, OpError),
}

impl From<EvalError> for TypeError {
    fn from(e: EvalError) -> Self {
        TypeError::Eval(e)
    }
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeError::Eval(e) => e.fmt(f),
            TypeError::Op(_, e) => e.fmt(f),
        }
    }
}

impl std::error::Error for TypeError {}

impl From<EvalArg<TensorType>> for ArgType {
    fn from(a: EvalArg<TensorType>) -> ArgType {
        match a {
            EvalArg::Value(t) => ArgType::Tensor(t),
            EvalArg::Host(h) => ArgType::Host(Some(h)),
            EvalArg::Unknown => ArgType::Host(None),
            EvalArg::List(l) => ArgType::List(l.into_iter().map(ArgType::from).collect()),
            EvalArg::None => ArgType::None,
        }
    }
}

impl Interpreter<TensorType> for TypeInterpreter<'_> {
    type Error = TypeError;

    fn call(
        &mut self,
        id: NodeId,
        node: &Node,
        op: Op,
        args: Vec<EvalArg<TensorType>>,
    ) -> Result<Vec<TensorType>, TypeError> {
        let args: Vec<ArgType> = args.into_iter().map(ArgType::from).collect();
        infer_types(self.symbols, op, &args, node.types.len()).map_err(|e| TypeError::Op(id, e))
    }

    fn unknown(&mut self, _: NodeId, _: Op, _: &Expr) -> Result<EvalArg<TensorType>, TypeError> {
        Ok(EvalArg::Unknown)
    }
}
