//! `Transformer`: rebuilds a graph call by call, with inferred types.
//!
//! Problem: rewrites that change types or structure (casting a model, instrumenting it, expanding operations)
//! need every later type inferred again.
//!
//! Method: the new graph grows in a [`Builder`]; each call of the old graph is handed over with its
//! arguments renamed, and answers with the values that stand for its results.

use crate::op::row::Results;
use crate::passes::ValueMap;
use crate::{Arg, Builder, Graph, GraphModule, Node, NodeId, NodeKind, Op, OpError, Value};
use std::fmt;

/// A rule that broke while a node was rebuilt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransformError {
    /// The node of the old graph.
    pub node: NodeId,
    /// The broken rule.
    pub error: OpError,
}

impl fmt::Display for TransformError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}: {}", self.node.0, self.error)
    }
}

impl std::error::Error for TransformError {}

/// Hooks of a rebuild; the defaults copy.
pub trait Transformer {
    /// Rebuilds one call: adds nodes to `b` and returns one value a result.
    ///
    /// # Errors
    /// A broken shape or dtype rule.
    fn call(&mut self, b: &mut Builder, node: &Node, op: Op, args: Vec<Arg>) -> Result<Vec<Value>, OpError> {
        copy_call(b, node, op, args)
    }

    /// The whole graph rebuilt. Inputs keep their recorded types; locations and names are kept.
    ///
    /// # Errors
    /// The first broken rule.
    fn transform(&mut self, module: &GraphModule) -> Result<GraphModule, TransformError> {
        let mut b = Builder {
            module: GraphModule {
                graph: Graph::default(),
                ..module.clone()
            },
            location: 0,
            expand: false,
        };
        let mut map = ValueMap::new(&module.graph);
        for (id, node) in module.graph.ids().zip(module.nodes()) {
            b.location = node.location;
            let mark = b.module.graph.nodes.len();
            match &node.kind {
                NodeKind::Input(_) => {
                    let new = b.module.graph.push(node.clone());
                    map.set(id, [Value::from(new)]);
                }
                NodeKind::Call(op, args) => {
                    let mut args = args.clone();
                    args.iter_mut().for_each(|a| a.map_values(&mut |v| map.get(v)));
                    let values = self
                        .call(&mut b, node, *op, args)
                        .map_err(|error| TransformError { node: id, error })?;
                    name_last(&mut b.module.graph, mark, &values, &node.name);
                    map.set(id, values);
                }
            }
        }
        b.module.graph.inputs = module
            .graph
            .inputs
            .iter()
            .map(|&i| map.get(i.into()).node)
            .collect();
        b.module.graph.outputs = module.graph.outputs.iter().map(|&v| map.get(v)).collect();
        b.module.graph.guards.clone_from(&module.graph.guards);
        map.map_guards(&mut b.module.graph);
        Ok(b.module)
    }
}

/// Adds the call again, with inferred types.
///
/// # Errors
/// A broken shape or dtype rule.
pub fn copy_call(b: &mut Builder, node: &Node, op: Op, args: Vec<Arg>) -> Result<Vec<Value>, OpError> {
    match op.row().results {
        Results::One => Ok(vec![b.call(op, args)?]),
        Results::Indexed | Results::List => b.call_list(op, args, node.types.len()),
        Results::Regions => b.call_regions(op, args, node.types.clone()),
    }
}

/// Gives the node of the first value the name, if it is among the new ones and has none.
pub(crate) fn name_last(graph: &mut Graph, mark: usize, values: &[Value], name: &str) {
    if let Some(v) = values.first()
        && v.node.index() >= mark
        && graph.node(v.node).name.is_empty()
    {
        graph.nodes[v.node.index()].name = name.to_string();
    }
}
