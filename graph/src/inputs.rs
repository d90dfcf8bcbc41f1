//! Tensor parameters that nothing reads.

use crate::{Graph, GraphModule, NodeId, NodeKind, Value, Write};

impl GraphModule {
    /// Takes out the tensor parameters behind the first `own` that nothing reads; the numbers of those that are left.
    pub fn drop_unread_inputs(&mut self, own: usize) -> Vec<u32> {
        let graph = &self.graph;
        let mut read = vec![false; graph.nodes.len()];
        let mut see = |v: Value| read[v.node.index()] = true;
        for node in &graph.nodes {
            node.args().iter().for_each(|a| a.values(&mut see));
        }
        graph.guards.iter().for_each(|g| g.values(&mut see));
        graph.outputs.iter().for_each(|v| see(*v));
        let written = self.writes.iter().filter_map(|w| match w {
            Write::Input(i) => Some(*i),
            Write::Elements(..) => None,
        });
        for i in self.updates.iter().copied().chain(written) {
            see(graph.inputs[i as usize].into());
        }
        let kept: Vec<u32> = (0..graph.inputs.len() as u32)
            .filter(|&i| (i as usize) < own || read[graph.inputs[i as usize].index()])
            .collect();
        let place = |i: u32| kept.binary_search(&i).unwrap_or(0) as u32;
        let map = without_inputs(&mut self.graph, &kept);
        let inputs = std::mem::take(&mut self.graph.inputs);
        self.graph.inputs = kept.iter().map(|&i| map[inputs[i as usize].index()]).collect();
        self.specs = kept
            .iter()
            .map(|&i| self.specs.get(i as usize).cloned().flatten())
            .collect();
        self.updates.iter_mut().for_each(|i| *i = place(*i));
        for w in &mut self.writes {
            if let Write::Input(i) = w {
                *i = place(*i);
            }
        }
        self.statics.retain(|(i, _)| kept.binary_search(i).is_ok());
        self.statics.iter_mut().for_each(|(i, _)| *i = place(*i));
        kept
    }
}

/// Takes out the nodes of the other inputs, and numbers the rest anew; the new number of each node.
fn without_inputs(graph: &mut Graph, kept: &[u32]) -> Vec<NodeId> {
    let mut map: Vec<NodeId> = Vec::with_capacity(graph.nodes.len());
    let mut nodes = Vec::with_capacity(graph.nodes.len());
    for mut node in std::mem::take(&mut graph.nodes) {
        map.push(NodeId(nodes.len() as u32));
        match &mut node.kind {
            NodeKind::Input(i) => match kept.binary_search(i) {
                Ok(at) => *i = at as u32,
                Err(_) => continue,
            },
            NodeKind::Call(_, args) => args
                .iter_mut()
                .for_each(|a| a.map_values(&mut |v| moved(&map, v))),
        }
        nodes.push(node);
    }
    graph.nodes = nodes;
    graph.outputs.iter_mut().for_each(|v| *v = moved(&map, *v));
    graph
        .guards
        .iter_mut()
        .for_each(|g| g.map_values(&mut |v| moved(&map, v)));
    map
}

fn moved(map: &[NodeId], v: Value) -> Value {
    Value {
        node: map[v.node.index()],
        index: v.index,
    }
}

#[cfg(test)]
mod tests {
    use crate::GraphModule;

    #[test]
    fn what_is_read_stays() {
        let text =
            "graph f(x: _[..], y: _[..], z: _[..], w: _[..]) { %4 = relu(%1) %5 = add(%4, %3) return %5 }";
        let mut m: GraphModule = text.parse().expect("it parses");
        assert_eq!(m.drop_unread_inputs(1), [0, 1, 3]);
        crate::verify(&m).expect("it verifies");
        let names: Vec<&str> = m
            .graph
            .inputs
            .iter()
            .map(|i| m.graph.node(*i).name.as_str())
            .collect();
        assert_eq!(names, ["x", "y", "w"]);
        assert_eq!(m.drop_unread_inputs(0), [1, 2]);
    }
}
