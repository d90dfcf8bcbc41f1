//! Graphs, the op table, and the shape and dtype rules of tensorplay.
#![forbid(unsafe_code)]

mod builder;
mod dtype;
mod error;
mod graph;
mod host;
pub mod op;
mod scalar;
mod types;

pub use builder::{Builder, TypeEnv, arg_type};
pub use dtype::DType;
pub use error::{Code, OpError, OpErrorKind};
pub use graph::{Arg, Graph, GraphModule, Location, Node, NodeId, NodeKind, ScalarInput, Value};
pub use host::{Env, Expr, Host, HostBinary, HostError, HostType, HostUnary};
pub use op::Op;
pub use scalar::Scalar;
pub use types::{Dim, Shape, Symbol, TensorType, display_shape};
