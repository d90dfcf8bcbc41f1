//! `Interpreter`: evaluates a graph node by node over any kind of value.
//!
//! Problem: eager and reference execution (tensors), shape evaluation (types) and tracing all walk a graph in the
//! same way: evaluate the host arguments, hand the call to somebody, keep the results as long as needed.
//!
//! Method: [`Interpreter::run`] does the walk and calls the hooks. Values implement [`Meta`], against which host
//! expressions are evaluated. A value is moved into its last use as a tensor, so that an implementation
//! may reuse its storage; where only its metadata is read later, only the metadata is kept.
//!
//! Invariants: the graph is [verified](crate::verify()); each node is called once, in order.

mod demand;
mod types;
mod values;

pub use demand::Demand;
pub use types::{TypeError, TypeInterpreter};

use crate::error::count;
use crate::{Arg, DType, Expr, Graph, Host, HostError, Node, NodeId, NodeKind, Op, TensorType, Value};
use std::fmt;
use values::Values;

/// What host expressions read of a value. `None` means not known.
pub trait Meta: Clone {
    /// The element type.
    fn dtype(&self) -> Option<DType>;
    /// The number of axes.
    fn rank(&self) -> Option<usize>;
    /// A size; the axis is in range.
    fn dim(&self, axis: usize) -> Option<usize>;
}

impl Meta for TensorType {
    fn dtype(&self) -> Option<DType> {
        self.dtype
    }
    fn rank(&self) -> Option<usize> {
        self.shape.as_ref().map(Vec::len)
    }
    fn dim(&self, axis: usize) -> Option<usize> {
        self.shape.as_ref().and_then(|s| s.get(axis)?.known())
    }
}

/// An argument of a call, evaluated.
#[derive(Clone, PartialEq, Debug)]
pub enum EvalArg<V> {
    /// A tensor.
    Value(V),
    /// A host value.
    Host(Host),
    /// A host value that depends on something unknown; see [`Interpreter::unknown`].
    Unknown,
    /// A list.
    List(Vec<EvalArg<V>>),
    /// An absent optional tensor.
    None,
}

/// Why an evaluation stopped outside the operations themselves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EvalError {
    /// Another number of tensors than the graph takes.
    Inputs {
        /// How many the graph takes.
        expected: usize,
        /// How many were given.
        got: usize,
    },
    /// A host expression failed as Rust would, or reads something unknown.
    Host {
        /// The node whose argument it is.
        node: NodeId,
        /// The operation.
        op: Op,
        /// Why.
        error: HostError,
    },
    /// A call gave fewer results than are used.
    Results {
        /// The value that is missing.
        value: Value,
    },
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::Inputs { expected, got } => {
                write!(f, "the graph takes {}, got {got}", count(*expected, "tensor"))
            }
            EvalError::Host { op, error, .. } => match error {
                HostError::Unknown => write!(f, "{op}: an argument is not known"),
                HostError::Failed(message) => write!(f, "{op}: {message}"),
            },
            EvalError::Results { value } => write!(f, "{value} is used, but the operation has fewer results"),
        }
    }
}

impl std::error::Error for EvalError {}

/// The hooks of a walk over a graph.
pub trait Interpreter<V: Meta> {
    /// The error type of the walk.
    type Error: From<EvalError>;

    /// Performs one operation.
    ///
    /// # Errors
    /// Ends the walk.
    fn call(&mut self, id: NodeId, node: &Node, op: Op, args: Vec<EvalArg<V>>)
    -> Result<Vec<V>, Self::Error>;

    /// Takes a tensor parameter.
    ///
    /// # Errors
    /// Ends the walk.
    fn input(&mut self, _id: NodeId, _node: &Node, value: V) -> Result<V, Self::Error> {
        Ok(value)
    }

    /// Takes a host argument that reads something unknown. The default is an error.
    ///
    /// # Errors
    /// Ends the walk.
    fn unknown(&mut self, node: NodeId, op: Op, _expr: &Expr) -> Result<EvalArg<V>, Self::Error> {
        let error = HostError::Unknown;
        Err(EvalError::Host { node, op, error }.into())
    }

    /// Evaluates a graph; `scalars` may be shorter than the function's list, the rest is unknown.
    ///
    /// # Errors
    /// The first error of a hook, or of the walk itself.
    fn run(&mut self, graph: &Graph, inputs: Vec<V>, scalars: &[Host]) -> Result<Vec<V>, Self::Error> {
        if inputs.len() != graph.inputs.len() {
            let (expected, got) = (graph.inputs.len(), inputs.len());
            return Err(EvalError::Inputs { expected, got }.into());
        }
        let mut inputs: Vec<Option<V>> = inputs.into_iter().map(Some).collect();
        let mut values = Values::new(graph, scalars);
        for (id, node) in graph.ids().zip(&graph.nodes) {
            let results = match &node.kind {
                NodeKind::Input(i) => match inputs.get_mut(*i as usize).and_then(Option::take) {
                    Some(v) => vec![self.input(id, node, v)?],
                    None => Vec::new(),
                },
                NodeKind::Call(op, args) => {
                    let mut evaluated = Vec::with_capacity(args.len());
                    for a in args {
                        evaluated.push(evaluate(self, &mut values, (id, *op), a)?);
                    }
                    self.call(id, node, *op, evaluated)?
                }
            };
            values.store(id, results);
        }
        let mut outputs = Vec::with_capacity(graph.outputs.len());
        for &v in &graph.outputs {
            outputs.push(values.take(v)?);
        }
        Ok(outputs)
    }
}

fn evaluate<V: Meta, I: Interpreter<V> + ?Sized>(
    interpreter: &mut I,
    values: &mut Values<'_, V>,
    (node, op): (NodeId, Op),
    arg: &Arg,
) -> Result<EvalArg<V>, I::Error> {
    Ok(match arg {
        Arg::Value(v) => EvalArg::Value(values.take(*v)?),
        Arg::Field(_) | Arg::None => EvalArg::None,
        Arg::Host(e) => {
            let result = e.eval(&*values);
            values.release(e);
            match result {
                Ok(h) => EvalArg::Host(h),
                Err(HostError::Unknown) => interpreter.unknown(node, op, e)?,
                Err(error) => return Err(EvalError::Host { node, op, error }.into()),
            }
        }
        Arg::List(l) => {
            let mut list = Vec::with_capacity(l.len());
            for a in l {
                list.push(evaluate(interpreter, values, (node, op), a)?);
            }
            EvalArg::List(list)
        }
    })
}
