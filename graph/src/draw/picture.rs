//! `Picture`: boxes and arrows, before anybody lays them out.

use super::table::{arguments, one_line};
use crate::{Arg, Graph, GraphModule, NodeId, NodeKind, Value};

/// What a box stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    Input,
    Call,
    Output,
}

#[derive(Debug)]
pub(super) struct Block {
    /// A name that no other box has: `n3`, `r0_n3`, `out0`.
    pub(super) id: String,
    pub(super) lines: Vec<String>,
    pub(super) shape: Shape,
}

#[derive(Debug)]
pub(super) struct Arrow {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Which result, where there are several.
    pub(super) label: String,
    /// Whether only metadata flows, or a region is called.
    pub(super) dashed: bool,
}

/// The boxes of a graph and of the regions in it.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) title: String,
    /// From the first box to the one behind the last; those of regions included.
    pub(super) boxes: std::ops::Range<usize>,
    pub(super) regions: Vec<Cluster>,
}

#[derive(Debug, Default)]
pub(super) struct Picture {
    pub(super) boxes: Vec<Block>,
    pub(super) arrows: Vec<Arrow>,
}

impl Picture {
    pub(super) fn of(module: &GraphModule) -> (Picture, Cluster) {
        let mut picture = Picture::default();
        let top = picture.cluster(module, "", module.name.clone());
        (picture, top)
    }

    fn cluster(&mut self, module: &GraphModule, prefix: &str, title: String) -> Cluster {
        let graph = &module.graph;
        let first = self.boxes.len();
        for id in graph.ids() {
            self.node(module, prefix, id);
        }
        for (id, node) in graph.ids().zip(&graph.nodes) {
            for arg in node.args() {
                self.arrows_of(graph, first, arg, first + id.index());
            }
        }
        for (i, v) in graph.outputs.iter().enumerate() {
            let mut lines = vec![format!("output {i}")];
            lines.extend(module.new_value_of(i).map(|place| format!("into {place}")));
            self.boxes.push(Block {
                id: format!("{prefix}out{i}"),
                lines,
                shape: Shape::Output,
            });
            let to = self.boxes.len() - 1;
            self.arrow(graph, first, *v, to, false);
        }
        let mut starts = Vec::new();
        let regions = module.regions.iter().enumerate().map(|(i, region)| {
            starts.push(self.boxes.len());
            let title = format!("region {i}: {}", one_line(&region.name));
            self.cluster(region, &format!("{prefix}r{i}_"), title)
        });
        let regions: Vec<Cluster> = regions.collect();
        for (id, node) in graph.ids().zip(&graph.nodes) {
            let called = match (node.region_call(), node.link()) {
                (Some(call), _) => call.regions.to_vec(),
                (_, Some(link)) => match link.callee {
                    crate::Callee::Body { regions, .. } => regions,
                    crate::Callee::Function(_) => Vec::new(),
                },
                _ => Vec::new(),
            };
            for r in called {
                if let Some(cluster) = regions.get(r).filter(|c| !c.boxes.is_empty()) {
                    self.arrows.push(Arrow {
                        from: first + id.index(),
                        to: cluster.boxes.start,
                        label: String::new(),
                        dashed: true,
                    });
                }
            }
        }
        Cluster {
            title,
            boxes: first..self.boxes.len(),
            regions,
        }
    }

    fn node(&mut self, module: &GraphModule, prefix: &str, id: NodeId) {
        let node = module.graph.node(id);
        let name = one_line(&node.name);
        let mut lines = vec![match node.kind {
            NodeKind::Input(_) => format!("%{} {name}", id.0).trim_end().to_string(),
            NodeKind::Call(..) => format!("%{} = {}({})", id.0, node.op_name(), arguments(node)),
        }];
        if node.op().is_some() && !name.is_empty() {
            lines.push(name);
        }
        let types = node.types.iter().map(|t| t.display(&module.symbols).to_string());
        lines.push(types.collect::<Vec<_>>().join(", "));
        lines.push(module.shown_place(id));
        lines.retain(|l| !l.is_empty());
        self.boxes.push(Block {
            id: format!("{prefix}n{}", id.0),
            lines,
            shape: match node.kind {
                NodeKind::Input(_) => Shape::Input,
                NodeKind::Call(..) => Shape::Call,
            },
        });
    }

    fn arrows_of(&mut self, graph: &Graph, first: usize, arg: &Arg, to: usize) {
        match arg {
            Arg::Value(v) => self.arrow(graph, first, *v, to, false),
            Arg::Host(e) => {
                let mut read = Vec::new();
                e.values(&mut |v| read.push(v));
                read.dedup();
                read.into_iter()
                    .for_each(|v| self.arrow(graph, first, v, to, true));
            }
            Arg::List(l) => l.iter().for_each(|a| self.arrows_of(graph, first, a, to)),
            Arg::Field(_) | Arg::None => {}
        }
    }

    /// Values that do not exist have no arrow.
    fn arrow(&mut self, graph: &Graph, first: usize, v: Value, to: usize, dashed: bool) {
        if let Some(node) = graph.nodes.get(v.node.index()) {
            self.arrows.push(Arrow {
                from: first + v.node.index(),
                to,
                label: match node.types.len() {
                    0 | 1 => String::new(),
                    _ => format!(".{}", v.index),
                },
                dashed,
            });
        }
    }
}
