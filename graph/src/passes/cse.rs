//! Common subexpressions: equal calls are made once.
//!
//! Two calls are equal when operation and arguments are, bit for bit: `x * 0.0` is not `x * -0.0`. The text form of a call says
//! exactly that, so it is the key. Locations and names do not count; the first call keeps its own. Random operations are
//! never merged.

use super::rewrite::{Edit, rewrite};
use crate::{GraphModule, Node, NodeId, TensorType, Value};
use std::collections::HashMap;

/// Runs the pass.
pub fn run(module: &mut GraphModule) -> bool {
    let mut calls: HashMap<String, NodeId> = HashMap::new();
    let mut changed = false;
    rewrite(&mut module.graph, |graph, _, node: Node| {
        if node.op().is_none_or(crate::Op::is_random) {
            return Edit::Keep(node);
        }
        // a step inside a composite is not rounded to a half type; another value is
        let round = |t: &TensorType| t.dtype.is_none_or(|d| d.is_half());
        let apart = node.interior && node.types.iter().any(round);
        let next = NodeId(graph.nodes.len() as u32);
        let first = *calls.entry(format!("{apart} {node}")).or_insert(next);
        // lists of unknown length may be recorded with fewer results
        if first == next || graph.node(first).types.len() < node.types.len() {
            return Edit::Keep(node);
        }
        changed = true;
        let results = node.types.len() as u32;
        Edit::Use((0..results).map(|index| Value { node: first, index }).collect())
    });
    changed
}
