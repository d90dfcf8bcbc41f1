//! The graphs inside a module, which its nodes name by number.

use crate::op::row::ParamKind;
use crate::{Arg, Callee, GraphModule, Host, Node, NodeKind};

impl Node {
    /// Renumbers the regions of a `cond` or `while_loop`.
    pub fn map_regions(&mut self, mut number: impl FnMut(usize) -> usize) {
        if self.region_call().is_none() {
            return;
        }
        let NodeKind::Call(op, args) = &mut self.kind else {
            return;
        };
        for (param, arg) in op.row().params.iter().zip(args) {
            if param.kind == ParamKind::Region
                && let Arg::Host(e) = arg
                && let Some(n) = e.literal().and_then(Host::as_int)
            {
                *arg = Arg::int(number(n as usize) as i64);
            }
        }
    }
}

impl GraphModule {
    /// Takes out the regions that no node names, as those of loops that were unrolled.
    pub fn drop_unused_regions(&mut self) {
        let nodes = &self.graph.nodes;
        let is_body = |n: &Node| n.link().is_some_and(|l| matches!(l.callee, Callee::Body { .. }));
        if self.regions.is_empty() || nodes.iter().any(is_body) {
            return;
        }
        let mut used = vec![false; self.regions.len()];
        for call in nodes.iter().filter_map(Node::region_call) {
            for r in call.regions {
                if let Some(used) = used.get_mut(r) {
                    *used = true;
                }
            }
        }
        let before = |r: usize| used.iter().take(r).filter(|used| **used).count();
        for node in &mut self.graph.nodes {
            node.map_regions(before);
        }
        let mut kept = used.iter();
        self.regions.retain(|_| kept.next().copied().unwrap_or(true));
    }
}

#[cfg(test)]
mod tests {
    use crate::GraphModule;

    #[test]
    fn regions_that_no_node_names_go() {
        let region =
            |n: usize, op: &str| format!("region {n} graph r{n}(x: f32[3]) {{ %1 = {op}(%0) return %1 }}");
        let text = format!(
            "graph f(p: bool[], x: f32[3]) {{ %2 = cond(%0, [%1], 1, 3) return %2 {} {} {} {} }}",
            region(0, "exp"),
            region(1, "neg"),
            region(2, "tan"),
            region(3, "abs")
        );
        let mut m: GraphModule = text.parse().expect("a graph");
        m.drop_unused_regions();
        let printed = m.to_string();
        assert!(printed.contains("cond(%0, [%1], 0, 1)"), "{printed}");
        assert_eq!(
            m.regions.iter().map(|r| &r.name[..]).collect::<Vec<_>>(),
            ["r1", "r3"]
        );
        assert_eq!(crate::verify(&m), Ok(()));
    }
}
