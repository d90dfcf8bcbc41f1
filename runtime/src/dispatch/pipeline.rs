//! `Pipeline`: a graph some of whose calls have a backend of their own, on another backend.
//!
//! The graph is cut at these calls: what lies between two of them is a graph of its own, which the backend compiles when it
//! runs first, with the metadata of the tensors that reach it. Of two threads that run it first, both run what was made
//! first.

use super::asked::{Asked, Executed, error_of};
use crate::backend::Codegen;
use crate::example::Example;
use crate::plan::link::Opaque;
use crate::{Error, Result, Tensor};
use std::sync::{Arc, OnceLock};
use tensorplay_graph::{Graph, GraphModule, Node, NodeId, NodeKind, Value};

pub(super) struct Pipeline {
    asked: Asked,
    stages: Vec<Stage>,
    inputs: Vec<Value>,
    outputs: Vec<Value>,
}

/// A step: what it reads, what it gives.
struct Stage {
    run: StageRun,
    inputs: Vec<Value>,
    outputs: Vec<Value>,
}

enum StageRun {
    Graph(Box<GraphModule>, OnceLock<Executed>),
    Call(Arc<Opaque>),
}

/// Whether a graph has calls that run elsewhere.
pub(super) fn is_cut(module: &GraphModule) -> bool {
    module.nodes().iter().any(|n| n.link().is_some())
}

impl Pipeline {
    /// Cuts a graph at its calls, which are numbered as in `calls`.
    pub(super) fn new(module: &GraphModule, calls: &[Arc<Opaque>], asked: Asked) -> Result<Pipeline> {
        let graph = &module.graph;
        let mut stages = Vec::new();
        let mut between: Vec<NodeId> = Vec::new();
        for id in graph.ids() {
            let node = graph.node(id);
            let Some(link) = node.link() else {
                if node.op().is_some() {
                    between.push(id);
                }
                continue;
            };
            let Some(call) = calls.get(link.site) else {
                return Err(Error::msg(
                    "a call was not linked; this is a bug, please report it",
                ));
            };
            stages.extend(cut(module, &std::mem::take(&mut between)));
            let mut inputs = Vec::new();
            node.args()
                .iter()
                .for_each(|a| a.tensors(&mut |v| inputs.push(v)));
            stages.push(Stage {
                run: StageRun::Call(call.clone()),
                inputs,
                outputs: results(id, node),
            });
        }
        stages.extend(cut(module, &between));
        Ok(Pipeline {
            asked,
            stages,
            inputs: graph.inputs.iter().map(|&i| i.into()).collect(),
            outputs: graph.outputs.clone(),
        })
    }
}

fn results(node: NodeId, n: &Node) -> Vec<Value> {
    (0..n.types.len() as u32)
        .map(|index| Value { node, index })
        .collect()
}

/// The graph of the nodes between two calls. It gives what anything else of the whole graph reads.
fn cut(module: &GraphModule, nodes: &[NodeId]) -> Option<Stage> {
    let graph = &module.graph;
    let inside = |v: Value| nodes.binary_search(&v.node).is_ok();
    let mut inputs: Vec<Value> = Vec::new();
    for id in nodes {
        let see = &mut |v: Value| {
            if !inside(v) && !inputs.contains(&v) {
                inputs.push(v);
            }
        };
        graph.node(*id).args().iter().for_each(|a| a.values(see));
    }
    let mut outputs: Vec<Value> = Vec::new();
    let mut read = |v: Value| {
        if inside(v) && !outputs.contains(&v) {
            outputs.push(v);
        }
    };
    for (id, node) in graph.ids().zip(&graph.nodes) {
        if nodes.binary_search(&id).is_err() {
            node.args().iter().for_each(|a| a.values(&mut read));
        }
    }
    graph.outputs.iter().for_each(|v| read(*v));
    if outputs.is_empty() {
        return None;
    }
    let mut part = GraphModule {
        graph: Graph::default(),
        updates: Vec::new(),
        writes: Vec::new(),
        statics: Vec::new(),
        output_specs: Vec::new(),
        specs: vec![None; inputs.len()],
        callees: Vec::new(),
        ..module.clone()
    };
    let mut map: Vec<(Value, Value)> = Vec::new();
    for (i, v) in inputs.iter().enumerate() {
        let of = graph.node(v.node);
        let id = part.graph.push(Node {
            kind: NodeKind::Input(i as u32),
            name: of.name.clone(),
            location: of.location,
            types: vec![graph.ty(*v).clone()],
            interior: false,
        });
        part.graph.inputs.push(id);
        map.push((*v, id.into()));
    }
    let moved = |map: &[(Value, Value)], v: Value| {
        let found = map.iter().find(|(old, _)| *old == v);
        found.map_or(v, |(_, new)| *new)
    };
    for id in nodes {
        let mut node = graph.node(*id).clone();
        for a in node.args_mut() {
            a.map_values(&mut |v| moved(&map, v));
        }
        let old = results(*id, &node);
        let node = part.graph.push(node);
        map.extend(old.into_iter().map(|v| (v, Value { node, index: v.index })));
    }
    part.graph.outputs = outputs.iter().map(|v| moved(&map, *v)).collect();
    Some(Stage {
        run: StageRun::Graph(Box::new(part), OnceLock::new()),
        inputs,
        outputs,
    })
}

impl Pipeline {
    /// # Errors
    /// Those of the backend and of the calls, each with its own names.
    pub(super) fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let (tensors, numbers) = inputs.split_at(self.inputs.len().min(inputs.len()));
        let mut values: Vec<(Value, Tensor)> =
            self.inputs.iter().copied().zip(tensors.iter().cloned()).collect();
        let get = |values: &[(Value, Tensor)], wanted: &[Value]| -> Result<Vec<Tensor>> {
            let one = |v: &Value| {
                let found = values.iter().find(|(of, _)| of == v);
                let found = found.map(|(_, t)| t.clone());
                found.ok_or_else(|| Error::msg(format!("{v} has no value; this is a bug, please report it")))
            };
            wanted.iter().map(one).collect()
        };
        for stage in &self.stages {
            let mut given = get(&values, &stage.inputs)?;
            let results = match &stage.run {
                StageRun::Call(call) => call.run(&given)?,
                StageRun::Graph(graph, compiled) => {
                    given.extend(numbers.iter().cloned());
                    let code = match compiled.get() {
                        Some(code) => code,
                        None => {
                            let examples: Vec<Example> = given.iter().map(Example::of).collect();
                            let made = self.asked.compile(graph, &examples)?;
                            compiled.get_or_init(|| made)
                        }
                    };
                    code.run(&given).map_err(|e| self.error(e))?
                }
            };
            if results.len() != stage.outputs.len() {
                return Err(self.error(Error::msg(format!(
                    "it gave {} tensors, the graph has {} outputs",
                    results.len(),
                    stage.outputs.len()
                ))));
            }
            values.extend(stage.outputs.iter().copied().zip(results));
        }
        get(&values, &self.outputs)
    }

    fn error(&self, e: Error) -> Error {
        error_of(self.asked.slot.name(), self.asked.function, e)
    }

    /// That of its stages, as far as they are compiled: of several, one that is not native.
    pub(super) fn codegen(&self) -> Codegen {
        let of = |s: &Stage| match &s.run {
            StageRun::Graph(_, compiled) => compiled.get().map(|code| code.codegen),
            StageRun::Call(_) => None,
        };
        Codegen::of_all(self.stages.iter().filter_map(of)).unwrap_or(Codegen::Custom)
    }
}
