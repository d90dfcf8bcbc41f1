//! The blob: what a compiled function carries in the binary, as one byte string.
//!
//! It holds, for every path, the graph, its schedule, and the kernel IR of every instance that was emitted, so that the
//! run time never schedules the same function again: unit `u` is the same group in the emitted Rust,
//! in the tile VM and in `explain!`.

use crate::kernel::{Program, Step};
use crate::lower::Lowered;
use crate::schedule::{Schedule, schedule};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tensorplay_graph::op::row::Lowering;
use tensorplay_graph::{DType, Graph, GraphModule, NodeId, NodeKind, Op};

const MAGIC: &[u8; 4] = b"TPB\x06";

/// The kernels of a function for one choice of input dtypes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Instance {
    /// The dtype of every tensor input.
    pub inputs: Vec<DType>,
    /// For every unit of the schedule that is a kernel: its kernel and the number of its first strip.
    pub kernels: Vec<Option<(Arc<Lowered>, u32)>>,
}

/// A compiled function: its paths in source order, of which a call takes the first whose guards hold.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Paths(pub Vec<Blob>);

impl Paths {
    /// The byte string. Names and places that only printing needs stay in the source graphs alone.
    pub fn encode(mut self) -> Vec<u8> {
        self.0.iter_mut().for_each(Blob::strip_names);
        [MAGIC.as_slice(), &encode(&self)].concat()
    }

    /// Reads a byte string back.
    ///
    /// # Errors
    /// The bytes are of another version, or damaged.
    pub fn decode(bytes: &[u8]) -> Result<Paths, BlobError> {
        let body = bytes
            .strip_prefix(MAGIC)
            .ok_or_else(|| BlobError("unknown version".into()))?;
        postcard::from_bytes(body).map_err(|e| BlobError(e.to_string()))
    }
}

/// Everything about one path of a compiled function but its strips.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Blob {
    /// The captured graph, composites expanded.
    pub module: GraphModule,
    /// The operations that the user wrote: their rules are checked before those of their expansions.
    pub written: Graph,
    /// The graph as the user wrote it, encoded: a first call does not need it.
    source: Vec<u8>,
    /// Its units.
    pub schedule: Schedule,
    /// The emitted instances.
    pub instances: Vec<Instance>,
    /// The regions of the module, by number.
    pub regions: Vec<Blob>,
}

/// Why a byte string is not a blob of this version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobError(String);

impl std::fmt::Display for BlobError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "a compiled function holds data of another tensorplay version: {}",
            self.0
        )
    }
}

impl std::error::Error for BlobError {}

impl Blob {
    /// A blob without instances, of an expanded module.
    pub fn new(module: GraphModule, source: &GraphModule) -> Blob {
        Blob {
            written: bare(source.graph.clone()),
            source: encode(source),
            schedule: schedule(&module.graph),
            instances: Vec::new(),
            regions: module
                .regions
                .iter()
                .zip(&source.regions)
                .map(|(module, source)| Blob::new(module.clone(), source))
                .collect(),
            module,
        }
    }

    /// A blob that is put together at run time out of others.
    pub fn linked(
        module: GraphModule,
        written: Graph,
        schedule: Schedule,
        instance: Instance,
        regions: Vec<Blob>,
    ) -> Blob {
        Blob {
            module,
            written,
            source: Vec::new(),
            schedule,
            instances: vec![instance],
            regions,
        }
    }

    /// The kernels of all instances, those of regions too, each with the number of its first strip.
    pub fn kernels(&self) -> Vec<&(Arc<Lowered>, u32)> {
        let own = self.instances.iter().flat_map(|i| i.kernels.iter().flatten());
        own.chain(self.regions.iter().flat_map(Blob::kernels)).collect()
    }

    /// The graph as the user wrote it, for printing and for other backends.
    ///
    /// # Errors
    /// The bytes are damaged.
    pub fn source(&self) -> Result<GraphModule, BlobError> {
        postcard::from_bytes(&self.source).map_err(|e| BlobError(e.to_string()))
    }

    /// The operation that errors of a call of `own` in the expanded graph name: the composite that it is a part of.
    pub fn written_op(&self, id: NodeId, own: Op) -> Op {
        let node = self.module.graph.node(id);
        let mut composites = Vec::new();
        for n in self.written.nodes.iter().filter(|n| n.location == node.location) {
            match n.op() {
                Some(op) if op == own => return own,
                Some(op) if matches!(op.row().lowering, Lowering::Composite(_)) => composites.push(op),
                _ => {}
            }
        }
        // a graph without places does not tell composites apart
        match composites.as_slice() {
            [op, rest @ ..] if rest.iter().all(|r| r == op) => *op,
            _ => own,
        }
    }

    fn strip_names(&mut self) {
        fn module(m: &mut GraphModule) {
            m.locations.clear();
            m.graph = bare(std::mem::take(&mut m.graph));
            m.regions.iter_mut().for_each(module);
        }
        module(&mut self.module);
        self.regions.iter_mut().for_each(Blob::strip_names);
    }
}

/// Without names and types, which binding finds out itself.
fn bare(mut graph: Graph) -> Graph {
    for node in &mut graph.nodes {
        if matches!(node.kind, NodeKind::Call(..)) {
            node.name.clear();
            node.types.iter_mut().for_each(|t| t.shape = None);
        }
    }
    graph
}

fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    // the encoder fails on sequences of unknown length and on full buffers only; neither occurs here
    postcard::to_stdvec(value).unwrap_or_default()
}

impl Instance {
    /// The programs of the instance's strips in order.
    pub fn programs(&self) -> impl Iterator<Item = (&Program, &str)> {
        self.kernels.iter().flatten().flat_map(|(l, _)| {
            l.kernel.steps.iter().filter_map(|s| match s {
                Step::Map(m) => Some((&m.program, l.kernel.source.as_str())),
                Step::Reduce(_) => None,
            })
        })
    }
}
