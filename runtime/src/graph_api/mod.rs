//! `tensorplay::graph`: graphs as values, and what runs them on tensors.
//!
//! Problem: users, tests and backends want what a graph means, whatever a compiler makes of it. Method: the walk of the
//! graph crate hands each call to an [`Interpreter`], with numbers evaluated; its default is the eager operation. Invariant:
//! a run is a function of its inputs: new values of variables are outputs, and nothing is assigned.

mod eval;
mod interpreter;
mod program;

pub use eval::Eval;
pub(crate) use interpreter::parted;
pub use interpreter::{Interpreter, Run};
pub use program::Program;
pub use tensorplay_graph::{
    Arg, Builder, Code, Dim, DrawError, Edit, EditError, Env, EvalArg, Expr, Graph, GraphModule, Host,
    HostBinary, HostError, HostType, HostUnary, Location, Node, NodeId, NodeKind, Op, OpError, OpErrorKind,
    ParseError, Proxy, RegionCall, Scalar, ScalarInput, Shape, Symbol, TensorType, TraceError, Tracer,
    TransformError, Transformer, Value, VerifyError, VerifyErrorKind, op, passes, surgery, tracer, verify,
};
