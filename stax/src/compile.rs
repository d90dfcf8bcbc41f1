//! The build-time driver: the captured paths of a function become a blob and Rust strips.
//!
//! A strip is emitted once: kernels of any path, group or dtype whose programs are the same share it.

use crate::blob::{Blob, Instance, Paths};
use crate::contract;
use crate::emit;
use crate::kernel::{MAX_STRIP_OPERANDS, Program, Step};
use crate::lower::{Lowered, lower};
use crate::schedule::Unit;
use crate::typing::{Typing, input_dtypes};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tensorplay_graph::passes::{self, PassError, PassManager};
use tensorplay_graph::{Arg, Callee, DType, GraphModule, Link, TransformError};

/// What the attribute chose.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// The float kinds to emit for inputs whose dtype is open.
    pub dtypes: Vec<DType>,
    /// Whether products and sums may be contracted.
    pub fast_math: bool,
}

impl Default for CompileOptions {
    fn default() -> Self {
        CompileOptions {
            dtypes: vec![DType::F32],
            fast_math: false,
        }
    }
}

/// What the macro emits.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The blob's byte string.
    pub blob: Vec<u8>,
    /// Rust items, one `strip!` a program.
    pub strips: String,
    /// The names of the strips in the order of the table.
    pub names: Vec<String>,
}

/// Why a graph cannot be compiled.
#[derive(Clone, PartialEq, Debug)]
pub enum CompileError {
    /// A pass broke the graph: a bug of tensorplay.
    Pass(PassError),
    /// A composite operation needs a value that is not known when the graph is built.
    Expand(TransformError),
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Pass(e) => write!(f, "{e}; this is a bug, please report it"),
            CompileError::Expand(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for CompileError {}

/// The module with composites expanded and cleaned up, as the schedule sees it.
///
/// # Errors
/// A composite that cannot be expanded yet.
pub fn expand(source: &GraphModule) -> Result<GraphModule, CompileError> {
    let mut module = source.clone();
    // guards are asked of the graph as written
    module.graph.guards.clear();
    decompose(&mut module)?;
    PassManager::standard()
        .run(&mut module)
        .map_err(CompileError::Pass)?;
    Ok(module)
}

fn decompose(module: &mut GraphModule) -> Result<(), CompileError> {
    passes::decompose::try_run(module).map_err(CompileError::Expand)?;
    module.regions.iter_mut().try_for_each(decompose)
}

/// Builds the blob without choosing what to emit: for graphs that are made at run time.
///
/// # Errors
/// See [`CompileError`].
pub fn analyse(source: &GraphModule) -> Result<Blob, CompileError> {
    prepare(source).map(|(blob, _)| blob)
}

/// The blob, and the source graph that it holds.
fn prepare(source: &GraphModule) -> Result<(Blob, GraphModule), CompileError> {
    let mut source = source.clone();
    PassManager::source()
        .run(&mut source)
        .map_err(CompileError::Pass)?;
    let module = expand(&source)?;
    Ok((Blob::new(module, &source), source))
}

/// A name for a unit in the user's words: the operations of the source graph that it covers.
fn title(source: &GraphModule, module: &GraphModule, unit: &Unit) -> Option<String> {
    let mut places: Vec<u32> = Vec::new();
    for m in &unit.members {
        let at = module.graph.node(m.node).location;
        if !places.contains(&at) {
            places.push(at);
        }
    }
    if places
        .iter()
        .any(|&at| module.locations.get(at as usize).is_none_or(|l| l.line == 0))
    {
        return None;
    }
    let ops: Vec<&str> = places
        .iter()
        .filter_map(|at| {
            source
                .nodes()
                .iter()
                .rev()
                .find(|n| n.location == *at && n.op().is_some())
        })
        .map(|n| n.op_name())
        .take(4)
        .collect();
    (!ops.is_empty()).then(|| ops.join("_"))
}

/// Compiles the captured paths of a function.
///
/// # Errors
/// See [`CompileError`].
pub fn compile(paths: &[GraphModule], options: &CompileOptions) -> Result<Compiled, CompileError> {
    let mut emitted = Emitted {
        kind: DType::F32,
        fast_math: options.fast_math,
        strips: String::new(),
        names: Vec::new(),
        taken: BTreeMap::new(),
        same: BTreeMap::new(),
    };
    let mut blobs = Vec::with_capacity(paths.len());
    for source in paths {
        let (mut blob, source) = prepare(source)?;
        let open = input_dtypes(&blob.module);
        let kinds: Vec<DType> = if open.iter().all(Option::is_some) {
            options.dtypes.iter().copied().take(1).collect()
        } else {
            options.dtypes.clone()
        };
        for kind in kinds {
            let inputs: Vec<DType> = open.iter().map(|d| d.unwrap_or(kind)).collect();
            emitted.kind = kind;
            emitted.instance(&mut blob, &source, inputs);
        }
        blobs.push(blob);
    }
    Ok(Compiled {
        blob: Paths(blobs).encode(),
        strips: emitted.strips,
        names: emitted.names,
    })
}

/// What was emitted so far.
struct Emitted {
    /// What an input is whose dtype is open.
    kind: DType,
    fast_math: bool,
    strips: String,
    names: Vec<String>,
    taken: BTreeMap<String, u32>,
    /// The first strip of each sequence of programs, which are the same but for their names.
    same: BTreeMap<Vec<u8>, u32>,
}

impl Emitted {
    /// The kernels of a graph and of its regions for one choice of input dtypes.
    fn instance(&mut self, blob: &mut Blob, source: &GraphModule, inputs: Vec<DType>) {
        if blob.instances.iter().any(|i| i.inputs == inputs) {
            return;
        }
        // a kind that breaks a dtype rule (a bitwise op on floats) has no kernels; the call reports it
        let Ok(typing) = Typing::infer(&blob.module, &inputs, &[]) else {
            return;
        };
        let units = &blob.schedule.units;
        let kernels = units
            .iter()
            .map(|unit| self.kernel(&blob.module, source, &typing, unit))
            .collect();
        blob.instances.push(Instance { inputs, kernels });
        for node in blob.module.graph.nodes.iter() {
            if let Some(link) = node.link()
                && let Callee::Body { regions, .. } = &link.callee
            {
                for &r in regions {
                    self.body(blob.regions.get_mut(r), source.regions.get(r), &link, &typing);
                }
            }
            let Some(call) = node.region_call() else { continue };
            for r in call.regions {
                let inputs = call.inputs.iter().map(|v| typing.dtype(*v)).collect();
                if let (Some(region), Some(source)) = (blob.regions.get_mut(r), source.regions.get(r)) {
                    self.instance(region, source, inputs);
                }
            }
        }
    }

    /// The kernels of a path through a loop's body.
    fn body(
        &mut self,
        blob: Option<&mut Blob>,
        source: Option<&GraphModule>,
        link: &Link<'_>,
        typing: &Typing,
    ) {
        let (Some(blob), Some(source)) = (blob, source) else {
            return;
        };
        let mut inputs: Vec<DType> = input_dtypes(&blob.module)
            .into_iter()
            .map(|d| d.unwrap_or(self.kind))
            .collect();
        for (of, arg) in inputs.iter_mut().zip(link.carry.iter().chain(link.tensors)) {
            if let Arg::Value(v) = arg {
                *of = typing.dtype(*v);
            }
        }
        self.instance(blob, source, inputs);
    }

    /// The kernel of a unit that is one, with the number of its first strip.
    fn kernel(
        &mut self,
        module: &GraphModule,
        source: &GraphModule,
        typing: &Typing,
        unit: &Unit,
    ) -> Option<(Arc<Lowered>, u32)> {
        if !unit.kind.is_kernel() {
            return None;
        }
        // a unit that is none at all is found again when it is bound, and runs node by node there
        let mut lowered = lower(module, typing, unit, &|_| false).ok()?;
        if let Some(name) = title(source, module, unit) {
            lowered.kernel.name = name;
        }
        let wide = |m: &crate::kernel::Map| m.program.operands() > MAX_STRIP_OPERANDS;
        if lowered.kernel.maps().any(wide) {
            return None;
        }
        if self.fast_math {
            for step in &mut lowered.kernel.steps {
                if let Step::Map(map) = step {
                    contract::run(&mut map.program);
                }
            }
        }
        let base = lowered.kernel.name.clone();
        let programs: Vec<Program> = lowered.kernel.maps().map(|m| m.program.nameless()).collect();
        // the encoder fails on sequences of unknown length and on full buffers only; neither occurs here
        let key = postcard::to_stdvec(&programs).ok()?;
        let next = self.names.len() as u32;
        let first = *self.same.entry(key).or_insert(next);
        if first != next {
            let mut names = self.names[first as usize..].iter();
            for step in &mut lowered.kernel.steps {
                if let (Step::Map(map), Some(name)) = (step, names.next()) {
                    map.program.name.clone_from(name);
                }
            }
            return Some((Arc::new(lowered), first));
        }
        for step in &mut lowered.kernel.steps {
            let Step::Map(map) = step else { continue };
            let n = self.taken.entry(base.clone()).or_insert(0);
            *n += 1;
            map.program.name = if *n == 1 {
                base.clone()
            } else {
                format!("{base}_{n}")
            };
            self.strips
                .push_str(&emit::rust::strip(&map.program, &lowered.kernel.source));
            self.names.push(map.program.name.clone());
        }
        Some((Arc::new(lowered), first))
    }
}
