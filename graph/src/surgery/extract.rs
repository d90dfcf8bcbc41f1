//! The part of a graph between some values and others.

use super::EditError;
use crate::passes::ValueMap;
use crate::{Graph, GraphModule, Node, NodeKind, TensorType, Value, VerifyErrorKind, verify};

impl GraphModule {
    /// The graph that computes the `wanted` values from the `given` ones. The given values become its inputs, whether
    /// they are inputs here or not; what lies before them is left out. Guards that read what is left out go. What the
    /// function writes to its parameters is not part of it.
    ///
    /// ```
    /// use tensorplay_graph::{GraphModule, NodeId};
    /// let m: GraphModule =
    ///     "graph f(x: f32[2, 3]) { %1 = exp(%0) %2 = neg(%1) %3 = sum_all(%2) return %3 }".parse()?;
    /// let part = m.extract(&[NodeId(1).into()], &[NodeId(2).into()])?;
    /// assert_eq!(part.to_string(), "graph f(\"\": f32[2, 3]) {\n  %1 = neg(%0) : f32[2, 3]\n  return %1\n}\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A value that is not there, a list among the given values, or an input that the wanted values depend on and that
    /// is not given.
    pub fn extract(&self, given: &[Value], wanted: &[Value]) -> Result<GraphModule, EditError> {
        verify(self).map_err(EditError::Invalid)?;
        let graph = &self.graph;
        for &v in given.iter().chain(wanted) {
            let node = graph
                .nodes
                .get(v.node.index())
                .ok_or(EditError::Unknown(v.node))?;
            let results = node.types.len();
            if v.index as usize >= results {
                return Err(VerifyErrorKind::ResultIndex { value: v, results }.into());
            }
        }
        if let Some(list) = given.iter().find(|v| graph.is_list(**v)) {
            return Err(EditError::List(*list));
        }
        let mut new = GraphModule {
            graph: Graph::default(),
            fields: Vec::new(),
            specs: Vec::new(),
            updates: Vec::new(),
            writes: Vec::new(),
            statics: Vec::new(),
            output_specs: Vec::new(),
            ..self.clone()
        };
        let mut map = ValueMap::new(graph);
        // what is known of each value: its place in the new graph
        let mut there: Vec<Vec<bool>> = graph.nodes.iter().map(|n| vec![false; n.types.len()]).collect();
        for &v in given {
            let input = self.add_given(&mut new, v);
            if !std::mem::replace(&mut there[v.node.index()][v.index as usize], true) {
                map.set_one(v, input);
            }
        }
        let needed = self.needed(&there, wanted)?;
        for (id, node) in graph.ids().zip(&graph.nodes) {
            if !needed[id.index()] {
                continue;
            }
            let mut node = node.clone();
            map.map_args(&mut node);
            let results = node.types.len() as u32;
            let new_id = new.graph.push(node);
            for index in 0..results {
                if !std::mem::replace(&mut there[id.index()][index as usize], true) {
                    let (from, to) = (Value { node: id, index }, Value { node: new_id, index });
                    map.set_one(from, to);
                }
            }
        }
        for &v in wanted {
            let v = map.get(v);
            new.graph.expose(v);
            new.graph.outputs.push(v);
        }
        for guard in &graph.guards {
            let mut inside = true;
            guard.values(&mut |v| inside &= there[v.node.index()][v.index as usize]);
            if inside {
                let mut guard = guard.clone();
                guard.map_values(&mut |v| map.get(v));
                new.graph.guards.push(guard);
            }
        }
        verify(&new).map_err(EditError::Invalid)?;
        Ok(new)
    }

    /// Adds the input that stands for a given value.
    fn add_given(&self, new: &mut GraphModule, v: Value) -> Value {
        let index = new.graph.inputs.len() as u32;
        let old = self.graph.node(v.node);
        let ty = self.graph.ty(v).clone();
        let spec = match old.kind {
            NodeKind::Input(i) => {
                let statics = self.statics.iter().filter(|(input, _)| *input == i);
                new.statics.extend(statics.map(|(_, dim)| (index, *dim)));
                self.specs.get(i as usize).cloned().flatten()
            }
            NodeKind::Call(..) => Some(ty.clone()).filter(|t| *t != TensorType::default()),
        };
        let id = new.graph.push(Node {
            kind: NodeKind::Input(index),
            types: vec![ty],
            interior: false,
            ..old.clone()
        });
        new.graph.inputs.push(id);
        new.specs.push(spec);
        id.into()
    }

    /// The nodes that the wanted values need beside those that are there.
    fn needed(&self, there: &[Vec<bool>], wanted: &[Value]) -> Result<Vec<bool>, EditError> {
        let mut needed = vec![false; self.graph.nodes.len()];
        let mut stack: Vec<Value> = wanted.to_vec();
        while let Some(v) = stack.pop() {
            if there[v.node.index()][v.index as usize] || std::mem::replace(&mut needed[v.node.index()], true)
            {
                continue;
            }
            let node = self.graph.node(v.node);
            if matches!(node.kind, NodeKind::Input(_)) {
                let (input, name) = (v.node, node.name.clone());
                return Err(EditError::Missing { input, name });
            }
            node.args().iter().for_each(|a| a.values(&mut |v| stack.push(v)));
        }
        Ok(needed)
    }
}
