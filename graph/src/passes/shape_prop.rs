//! Infers all types again from those of the inputs: a spec if there is one, else what the input records.
//!
//! Types are replaced, not refined, so that a changed spec reaches every node. Where a rule breaks, or
//! gives fewer results than are recorded, the recorded types stay and the verifier says so.

use crate::verify::infer_node;
use crate::{GraphModule, NodeKind};

/// Runs the pass.
pub fn run(module: &mut GraphModule) -> bool {
    let mut changed = false;
    for id in module.graph.ids() {
        let types = match module.graph.node(id).kind {
            NodeKind::Input(i) => match module.specs.get(i as usize) {
                // a path of special sizes knows more than the spec
                Some(Some(spec)) => match module.graph.node(id).types.as_slice() {
                    [own] => {
                        let mut ty = spec.clone();
                        ty.refine(own);
                        vec![ty]
                    }
                    _ => vec![spec.clone()],
                },
                _ => continue,
            },
            NodeKind::Call(..) => match infer_node(module, id) {
                Ok(types) => types,
                Err(_) => continue,
            },
        };
        let node = &mut module.graph.nodes[id.index()];
        // fewer results than are recorded, and perhaps used, are an error
        if node.types != types && node.types.len() <= types.len() {
            node.types = types;
            changed = true;
        }
    }
    changed
}
