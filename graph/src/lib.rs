//! Graphs, the op table, and the shape and dtype rules of tensorplay.
#![forbid(unsafe_code)]

mod builder;
mod compile_options;
mod distance;
mod draw;
mod dtype;
mod error;
mod graph;
mod host;
mod inputs;
mod interpreter;
pub mod op;
pub mod passes;
mod regions;
mod scalar;
mod structure;
pub mod surgery;
pub mod text;
pub mod tracer;
mod transformer;
mod types;
pub mod verify;

pub use builder::{Builder, TypeEnv, arg_type};
pub use compile_options::{COMPILE_OPTIONS, CompileOption, Mode, UnknownMode, compile_option};
pub use distance::distance;
pub use draw::DrawError;
pub use dtype::DType;
pub use error::{Code, OpError, OpErrorKind};
pub use graph::{
    Arg, Callee, Graph, GraphModule, Link, Location, Node, NodeId, NodeKind, RegionCall, ScalarInput, Value,
};
pub use host::{Env, Expr, Host, HostBinary, HostError, HostType, HostUnary};
pub use interpreter::{Demand, EvalArg, EvalError, Interpreter, Meta, TypeError, TypeInterpreter};
pub use op::Op;
pub use scalar::Scalar;
pub use structure::{Aggregate, FieldPath, OPEN_LIST, Schema, Step, Tree, Write};
pub use surgery::{Edit, EditError};
pub use text::ParseError;
pub use tracer::{Proxy, TraceError, Tracer};
pub use transformer::{TransformError, Transformer, copy_call};
pub use types::{Dim, Shape, Symbol, TensorType, display_shape};
pub use verify::{VerifyError, VerifyErrorKind, contradict, verify};
