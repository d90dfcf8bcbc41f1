//! The rewriter: a structural copy of a graph in which nodes are replaced or left out.

use crate::{Graph, Node, NodeId, Value};

/// From the values of an old graph to those of a new one.
#[derive(Clone, Debug)]
pub(crate) struct ValueMap {
    /// Where the results of each node start; one entry more than nodes.
    base: Vec<usize>,
    to: Vec<Value>,
}

/// Stands for a value that was left out; it may not be used.
const GONE: Value = Value {
    node: NodeId(u32::MAX),
    index: 0,
};

impl ValueMap {
    pub(crate) fn new(old: &Graph) -> ValueMap {
        let mut base = vec![0];
        let mut end = 0;
        for node in &old.nodes {
            end += node.types.len();
            base.push(end);
        }
        ValueMap {
            base,
            to: vec![GONE; end],
        }
    }

    pub(crate) fn set(&mut self, id: NodeId, values: impl IntoIterator<Item = Value>) {
        let slots = &mut self.to[self.base[id.index()]..self.base[id.index() + 1]];
        for (slot, v) in slots.iter_mut().zip(values) {
            *slot = v;
        }
    }

    pub(crate) fn set_one(&mut self, old: Value, new: Value) {
        self.to[self.base[old.node.index()] + old.index as usize] = new;
    }

    pub(crate) fn get(&self, v: Value) -> Value {
        let at = self.base[v.node.index()] + v.index as usize;
        self.to[at]
    }

    pub(crate) fn map_guards(&self, graph: &mut Graph) {
        for guard in &mut graph.guards {
            guard.map_values(&mut |v| self.get(v));
        }
    }

    pub(crate) fn map_args(&self, node: &mut Node) {
        for arg in node.args_mut() {
            arg.map_values(&mut |v| self.get(v));
        }
    }
}

/// What becomes of a node.
pub(crate) enum Edit {
    /// It is copied, perhaps changed, with as many results.
    Keep(Node),
    /// These values of the new graph stand for its results.
    Use(Vec<Value>),
    /// It goes; nothing uses it.
    Drop,
}

/// Copies `graph` node by node. `f` gets the new graph so far, the old id, and the node with its arguments renamed.
pub(crate) fn rewrite(graph: &mut Graph, mut f: impl FnMut(&Graph, NodeId, Node) -> Edit) {
    let old = std::mem::take(graph);
    let mut map = ValueMap::new(&old);
    for (id, mut node) in old.ids().zip(old.nodes) {
        map.map_args(&mut node);
        let interior = node.interior;
        match f(graph, id, node) {
            Edit::Keep(node) => {
                let results = node.types.len() as u32;
                let node = graph.push(node);
                map.set(id, (0..results).map(|index| Value { node, index }));
            }
            Edit::Use(values) => {
                if !interior {
                    values.iter().for_each(|v| graph.expose(*v));
                }
                map.set(id, values)
            }
            Edit::Drop => {}
        }
    }
    graph.inputs = old.inputs.iter().map(|&i| map.get(i.into()).node).collect();
    graph.outputs = old.outputs.iter().map(|&v| map.get(v)).collect();
    graph.guards = old.guards;
    map.map_guards(graph);
}
