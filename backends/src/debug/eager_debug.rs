//! `eager_debug`: node by node, with the node that fails, and a check of what operations do to memory.
//!
//! An operation that is no view must not give memory of its operands as a result of its own, and none may write into its
//! operands: compiled code plans memory by these rules.

use super::{DEBUG, warn_of_options};
use crate::built_in;
use std::hash::{DefaultHasher, Hasher};
use tensorplay_runtime::compiler::{Backend, Codegen, CompileOptions, Example, Executable};
use tensorplay_runtime::graph_api::op::row::Lowering;
use tensorplay_runtime::graph_api::{Eval, GraphModule, Interpreter, Node, Op};
use tensorplay_runtime::{Error, Result, Tensor};

struct EagerDebug;

struct NodeByNode(GraphModule);

impl Backend for EagerDebug {
    fn compile(
        &self,
        graph: &GraphModule,
        _: &[Example],
        options: &CompileOptions,
    ) -> Result<Box<dyn Executable>> {
        warn_of_options("eager_debug", options);
        Ok(Box::new(NodeByNode(graph.clone())))
    }
}

impl Executable for NodeByNode {
    fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        Checker { graph: &self.0 }.run(&self.0, inputs)
    }

    fn codegen(&self) -> Codegen {
        Codegen::Eager
    }
}

struct Checker<'a> {
    graph: &'a GraphModule,
}

impl Interpreter for Checker<'_> {
    fn call_op(&mut self, node: &Node, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let before: Vec<u64> = inputs.iter().map(fingerprint).collect();
        let checked = node.eval(inputs).and_then(|outputs| {
            if inputs.iter().map(fingerprint).ne(before) {
                return Err(Error::msg(
                    "it wrote into an operand, which its row does not declare",
                ));
            }
            if !may_alias(node) && outputs.iter().any(|y| inputs.iter().any(|x| share(x, y))) {
                return Err(Error::msg(
                    "its result is memory of an operand, which its row does not declare",
                ));
            }
            Ok(outputs)
        });
        checked.map_err(|e| Error::Node {
            node: self.graph.describe(node),
            source: Box::new(e),
        })
    }
}

/// Whether a result may be an operand's memory: views, conversions that find nothing to convert, and what drops nothing.
fn may_alias(node: &Node) -> bool {
    node.op().is_none_or(|op| {
        matches!(op.row().lowering, Lowering::View)
            || matches!(op, Op::ToDtype | Op::Contiguous | Op::Detach | Op::Dropout)
    })
}

fn share(a: &Tensor, b: &Tensor) -> bool {
    a.elem_count() > 0 && a.value().storage().id() == b.value().storage().id()
}

/// What tells whether a value was changed.
fn fingerprint(t: &Tensor) -> u64 {
    let mut hasher = DefaultHasher::new();
    // what cannot be read cannot be compared either
    hasher.write(&t.to_bytes().unwrap_or_default());
    hasher.finish()
}

built_in!(
    /// The graph node by node, with checks.
    EAGER_DEBUG, "eager_debug", DEBUG, EagerDebug
);
