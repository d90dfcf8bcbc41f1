//! Expands composite operations by the rule that their row names.
//!
//! Every node of an expansion has the composite's location; the one that stands for its result has the composite's
//! name, and its recorded type where that knows more. Expansion is complete: rules are
//! applied inside expansions too. An error inside an expansion is one of the composite. Steps whose results
//! are lane values are marked as interior; what a product reads or makes is not.

use super::rewrite::ValueMap;
use crate::op::row::Lowering;
use crate::transformer::{TransformError, name_last};
use crate::{Builder, Graph, GraphModule, NodeKind, Value};

/// Runs the pass. A composite whose rule needs a value that only a call tells (`norm` with a computed `p`) stays.
pub fn run(module: &mut GraphModule) -> bool {
    expand(module).0
}

/// Like [`run`], for a compiler that must expand all.
///
/// # Errors
/// The first composite that stays, and why. The others are expanded.
pub fn try_run(module: &mut GraphModule) -> Result<bool, TransformError> {
    match expand(module) {
        (changed, None) => Ok(changed),
        (_, Some(e)) => Err(e),
    }
}

fn expand(module: &mut GraphModule) -> (bool, Option<TransformError>) {
    let old: Graph = std::mem::take(&mut module.graph);
    let mut b = Builder {
        module: std::mem::take(module),
        location: 0,
        expand: true,
    };
    let mut map = ValueMap::new(&old);
    let (mut changed, mut first_error) = (false, None);
    for (id, mut node) in old.ids().zip(old.nodes) {
        map.map_args(&mut node);
        b.location = node.location;
        if let NodeKind::Call(op, args) = &node.kind
            && let Lowering::Composite(rule) = op.row().lowering
        {
            let mark = b.module.graph.nodes.len();
            match rule(&mut b, *op, args) {
                Ok(v) => {
                    changed = true;
                    enclose(&mut b.module.graph, mark, v);
                    name_last(&mut b.module.graph, mark, &[v], &node.name);
                    if let Some(ty) = node.types.first() {
                        let results = &mut b.module.graph.nodes[v.node.index()].types;
                        results[v.index as usize].refine(ty);
                    }
                    map.set(id, [v]);
                    continue;
                }
                Err(error) => {
                    let error = error.within(*op);
                    b.module.graph.nodes.truncate(mark);
                    first_error = first_error.or(Some(TransformError { node: id, error }));
                }
            }
        }
        let results = node.types.len() as u32;
        let node = b.module.graph.push(node);
        map.set(id, (0..results).map(|index| Value { node, index }));
    }
    b.module.graph.inputs = old.inputs.iter().map(|&i| map.get(i.into()).node).collect();
    b.module.graph.outputs = old.outputs.iter().map(|&v| map.get(v)).collect();
    b.module.graph.guards = old.guards;
    map.map_guards(&mut b.module.graph);
    *module = b.module;
    (changed, first_error)
}

/// Marks the nodes from `mark` on as interior to the composite whose result is `v`.
fn enclose(graph: &mut Graph, mark: usize, v: Value) {
    let mut outside = vec![v];
    for node in &mut graph.nodes[mark..] {
        match node.op().map(|op| op.row().lowering) {
            Some(Lowering::Lane(_) | Lowering::Reduce(_) | Lowering::Copy | Lowering::Op) => {
                node.interior = true
            }
            Some(Lowering::Contract) => node
                .args()
                .iter()
                .for_each(|a| a.tensors(&mut |v| outside.push(v))),
            _ => {}
        }
    }
    outside.into_iter().for_each(|v| graph.expose(v));
}
