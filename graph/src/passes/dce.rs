//! Dead code: calls that no result depends on go.
//!
//! Inputs stay. Random operations stay, dead or not: each owns a number in the order of the program, and a missing one
//! would change every later draw; a callee may draw some. What may fail on the elements that it meets stays for its error: integer
//! divisions where the divisor may be zero, and whatever takes indices.

use super::rewrite::{Edit, rewrite};
use crate::op::row::{Lowering, ParamKind};
use crate::{Arg, GraphModule, Node, Op};

/// Runs the pass.
pub fn run(module: &mut GraphModule) -> bool {
    let graph = &module.graph;
    let mut live = vec![false; graph.nodes.len()];
    for v in &graph.outputs {
        live[v.node.index()] = true;
    }
    for guard in &graph.guards {
        guard.values(&mut |v| live[v.node.index()] = true);
    }
    for id in graph.ids().rev() {
        let node = graph.node(id);
        let root = node.op().is_none_or(|op| {
            op.is_random() || may_fail(op, node) || matches!(op.row().lowering, Lowering::Link)
        });
        live[id.index()] |= root;
        if live[id.index()] {
            for arg in node.args() {
                arg.values(&mut |v| live[v.node.index()] = true);
            }
        }
    }
    if live.iter().all(|l| *l) {
        return false;
    }
    rewrite(&mut module.graph, |_, id, node| {
        if live[id.index()] {
            Edit::Keep(node)
        } else {
            Edit::Drop
        }
    });
    true
}

/// Whether the call may fail on the elements that it meets.
fn may_fail(op: Op, node: &Node) -> bool {
    if op.row().params.iter().any(|p| p.kind == ParamKind::Index) {
        return true;
    }
    let divides = matches!(op, Op::FloorDiv | Op::Remainder | Op::Fmod);
    let float = node
        .types
        .first()
        .and_then(|t| t.dtype)
        .is_some_and(|d| d.is_float());
    let safe = match node.args().get(1) {
        Some(Arg::Host(e)) => e.literal().and_then(|h| h.as_float()).is_some_and(|v| v != 0.0),
        _ => false,
    };
    divides && !float && !safe
}
