//! A call of a compiled function, with its graph.

use super::{Culprit, reproducer};
use crate::backend::registry::{STAX, Slot};
use crate::dispatch::record::Noted;
use crate::dispatch::{Function, written};
use crate::graph_api::Run;
use crate::random::{self, RandomKey};
use crate::{Result, Tensor};
use tensorplay_graph::{Graph, GraphModule, Op, Value};

/// A call to look into.
pub(super) struct Call<'a> {
    pub noted: &'a Noted,
    pub backend: Option<&'static Slot>,
    /// The graph as it was written, for these inputs.
    pub graph: GraphModule,
    pub inputs: Vec<Tensor>,
    start: RandomKey,
}

/// Where a call goes wrong.
pub(super) struct Found {
    pub pass: Option<&'static str>,
    pub group: Option<String>,
    pub op: Op,
    /// Index of the place in the graph as it was written.
    pub location: u32,
    /// What the value is bound to.
    pub name: String,
}

impl<'a> Call<'a> {
    pub(super) fn of(noted: &'a Noted) -> Result<Call<'a>> {
        let (graph, inputs) = match &noted.graph {
            Some((graph, inputs)) => (GraphModule::clone(graph), inputs.clone()),
            None => written(noted.function, &noted.tensors, &noted.scalars)?,
        };
        Ok(Call {
            backend: noted.backend,
            noted,
            graph,
            inputs,
            start: random::state(),
        })
    }

    /// Runs something with the random numbers that every other run draws.
    pub(super) fn alike<R>(&self, run: impl FnOnce() -> R) -> R {
        random::drawing_from(self.start, run)
    }

    /// What the graph means.
    pub(super) fn reference(&self) -> Result<Vec<Tensor>> {
        self.alike(|| self.graph.run(&self.inputs))
    }

    pub(super) fn function(&self) -> &'static Function {
        self.noted.function
    }

    pub(super) fn culprit(&self, found: Found) -> Culprit {
        let function = self.function();
        let place = self.graph.locations.get(found.location as usize);
        let (file, line) = match place.filter(|l| l.line > 0) {
            Some(l) => (self.graph.file_of(l), l.line),
            None => (function.file(), function.line()),
        };
        let name = match found.name.is_empty() {
            true => String::new(),
            false => format!(" (`{}`)", found.name),
        };
        let mut culprit = Culprit {
            backend: self.backend.map_or(STAX, |s| s.name()).into(),
            function: function.path().into(),
            pass: found.pass.map(Into::into),
            group: found.group,
            op: found.op.name().into(),
            node: format!("`{}`{name}", found.op.name()),
            file: file.into(),
            line,
            reproducer: None,
        };
        culprit
            .node
            .push_str(&format!(" at {}:{}", culprit.file, culprit.line));
        culprit.reproducer = reproducer::write(&culprit, &self.graph, &self.inputs);
        culprit
    }
}

/// The graph up to other results, and without what only its own were for.
pub(super) fn giving(graph: &GraphModule, outputs: Vec<Value>) -> GraphModule {
    let mut part = graph.clone();
    let inputs = part.graph.inputs.iter().map(|id| id.index());
    let last = inputs.chain(outputs.iter().map(|v| v.node.index())).max();
    part.graph.nodes.truncate(last.map_or(0, |last| last + 1));
    part.graph.guards.clear();
    part.graph.outputs = outputs;
    part.updates.clear();
    part.writes.clear();
    part.output_specs.clear();
    tensorplay_graph::passes::dce::run(&mut part);
    part.drop_unused_regions();
    part
}

/// All results of the calls of a graph, node by node.
pub(super) fn results(graph: &Graph) -> impl Iterator<Item = (usize, Vec<Value>)> + use<'_> {
    let calls = graph.ids().zip(&graph.nodes).filter(|(_, n)| n.op().is_some());
    calls.map(|(node, n)| {
        let all = (0..n.types.len() as u32).map(|index| Value { node, index });
        (node.index(), all.collect())
    })
}
