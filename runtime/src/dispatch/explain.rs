//! `explain!`: what a compiled function is, and where its calls went.

use super::Function;
use super::guard::GuardChain;
use super::reason::Recompile;
use crate::Result;
use crate::backend::Codegen;
use crate::backend::registry::STAX;
use crate::plan::{Fallback, StepCounts};
use crate::sync::lock;
use std::fmt;
use tensorplay_graph::{DType, GraphModule};
use tensorplay_stax::blob::{Blob, Instance};
use tensorplay_stax::emit;

/// A key pattern for which plans were bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The path, by its number among the graphs.
    pub path: usize,
    /// The pattern: `x: f32[B, 64]`.
    pub pattern: String,
    /// The backend that it runs on.
    pub backend: String,
    /// What kind of code it runs.
    pub codegen: Codegen,
    /// Plans bound for it since the start or the last reset.
    pub binds: u64,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pattern, backend, codegen) = (&self.pattern, &self.backend, self.codegen);
        match backend == STAX {
            true => write!(f, "{pattern} ({codegen}, {} bound)", self.binds),
            false => write!(f, "{pattern} (on {backend}: {codegen}, {} bound)", self.binds),
        }
    }
}

/// An emitted kernel. Kernels that compute the same share their code in the binary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// The path whose graph it is a group of.
    pub path: usize,
    /// Its name.
    pub name: String,
    /// `file:line: source`.
    pub source: String,
    /// The dtypes of the function's tensor inputs for which it was emitted.
    pub inputs: Vec<DType>,
    /// The kernel IR.
    pub ir: String,
    /// The emitted Rust.
    pub rust: String,
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.rust)
    }
}

/// A place where capture stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Break {
    /// The source file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The construct that capture does not hold.
    pub reason: String,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.reason)
    }
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.group, self.reason)
    }
}

/// What the calls of one function did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Calls {
    /// Calls that began to run a plan; in a function with graph breaks, those of its segments.
    pub dispatched: u64,
    /// Calls that bound a plan first.
    pub bound: u64,
    /// Calls that returned an error.
    pub errors: u64,
    /// What the plans ran.
    pub steps: StepCounts,
}

/// Everything about a compiled function.
#[derive(Clone, PartialEq, Debug)]
pub struct Explanation {
    /// The function's path.
    pub path: String,
    /// The source file.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// The captured graphs, one a path; of a function with graph breaks, those of all segments.
    pub graphs: Vec<GraphModule>,
    /// The guards, one chain a path.
    pub guards: Vec<GuardChain>,
    /// Key patterns for which plans exist.
    pub entries: Vec<Entry>,
    /// Emitted kernels.
    pub kernels: Vec<Kernel>,
    /// Graph breaks.
    pub breaks: Vec<Break>,
    /// Groups of the present plans that run otherwise than on an emitted kernel.
    pub fallbacks: Vec<Fallback>,
    /// Why entries beyond the first were needed, the last ones.
    pub recompiles: Vec<Recompile>,
    /// What the calls did.
    pub calls: Calls,
    /// Bytes of arena that the largest present plan uses.
    pub memory: usize,
}

/// The explanation behind `explain!`.
#[doc(hidden)]
#[track_caller]
pub fn explain(f: &'static Function) -> Explanation {
    match try_explain(f) {
        Ok(e) => e,
        Err(e) => e.raise(),
    }
}

/// The emitted instances of a function and of the graphs inside it.
fn instances(blob: &Blob) -> Vec<&Instance> {
    let inside = blob.regions.iter().flat_map(instances);
    blob.instances.iter().chain(inside).collect()
}

fn try_explain(f: &'static Function) -> Result<Explanation> {
    let parts = f.segments.iter().map(|s| try_explain_graphs(s));
    let mut parts = parts.collect::<Result<Vec<_>>>()?.into_iter();
    let whole = match parts.next() {
        Some(first) => first,
        None if f.breaks.is_empty() => return try_explain_graphs(f),
        None => Explanation::empty(),
    };
    let mut whole = parts.fold(whole, Explanation::join);
    (whole.path, whole.file, whole.line) = (f.path().into(), f.file().into(), f.line());
    whole.breaks = f
        .breaks
        .iter()
        .map(|b| Break {
            file: f.file().into(),
            line: b.line,
            reason: b.reason.into(),
        })
        .collect();
    Ok(whole)
}

fn try_explain_graphs(f: &'static Function) -> Result<Explanation> {
    let state = f.state()?;
    let sources = state.paths.iter().map(Blob::source);
    let graphs: Vec<GraphModule> = sources
        .collect::<std::result::Result<_, _>>()
        .map_err(|e| crate::Error::GraphCapture(e.to_string()))?;
    let mut kernels = Vec::new();
    let paths = state.paths.iter().enumerate();
    for (path, instance) in paths.flat_map(|(i, b)| instances(b).into_iter().map(move |k| (i, k))) {
        for (lowered, _) in instance.kernels.iter().flatten() {
            let k = &lowered.kernel;
            kernels.push(Kernel {
                path,
                name: k.name.clone(),
                source: k.source.clone(),
                inputs: instance.inputs.clone(),
                ir: emit::tile::kernel(k),
                rust: k
                    .maps()
                    .map(|m| emit::rust::strip(&m.program, &k.source))
                    .collect(),
            });
        }
    }
    let table = state.table.load();
    let plans = || table.iter().filter_map(|b| b.plan());
    let mut fallbacks: Vec<Fallback> = Vec::new();
    for f in plans().flat_map(|p| &p.fallbacks) {
        if !fallbacks.contains(f) {
            fallbacks.push(f.clone());
        }
    }
    // what other backends compile when it runs first is known by now
    let ran = |entry: u64| {
        let plans = table.iter().filter(|b| b.entry == entry);
        Codegen::of_all(plans.filter_map(|b| b.codegen()))
    };
    let totals = state.totals();
    let (entries, recompiles) = {
        let entries = lock(&state.entries);
        (entries.live.clone(), entries.recompiles.clone())
    };
    Ok(Explanation {
        path: f.path().into(),
        file: f.file().into(),
        line: f.line(),
        guards: graphs
            .iter()
            .enumerate()
            .map(|(i, g)| {
                let hits = totals.hits.get(i).copied().unwrap_or(0);
                GuardChain::of(g, &state.key_params).with_hits(hits)
            })
            .collect(),
        graphs,
        entries: entries
            .into_iter()
            .map(|e| Entry {
                path: e.path,
                pattern: e.pattern,
                backend: e.backend.1.into(),
                codegen: ran(e.id).unwrap_or(e.codegen),
                binds: e.binds,
            })
            .collect(),
        kernels,
        breaks: Vec::new(),
        fallbacks,
        recompiles,
        calls: Calls {
            dispatched: totals.calls,
            bound: state.binds.get(),
            errors: state.errors.get(),
            steps: totals.counts,
        },
        memory: plans().map(|p| p.arena).max().unwrap_or(0),
    })
}

/// The graphs of a function: derefs to the first.
#[derive(Clone, PartialEq, Debug)]
pub struct Graphs(Vec<GraphModule>);

impl Graphs {
    /// How many paths the function has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none; never true.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The graphs in source order.
    pub fn iter(&self) -> std::slice::Iter<'_, GraphModule> {
        self.0.iter()
    }
}

impl fmt::Display for Graphs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|g| write!(f, "{g}"))
    }
}

impl std::ops::Deref for Graphs {
    type Target = GraphModule;
    fn deref(&self) -> &GraphModule {
        &self.0[0]
    }
}

impl std::ops::Index<usize> for Graphs {
    type Output = GraphModule;
    fn index(&self, i: usize) -> &GraphModule {
        &self.0[i]
    }
}

/// The graphs behind `graph!`.
#[doc(hidden)]
#[track_caller]
pub fn graphs(f: &'static Function) -> Graphs {
    let graphs = explain(f).graphs;
    if graphs.is_empty() {
        let message = format!(
            "`{}` has no graph: all of it is plain Rust, between its breaks",
            f.path()
        );
        crate::Error::GraphCapture(message).raise();
    }
    Graphs(graphs)
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} at {}:{}", self.path, self.file, self.line)?;
        for (i, g) in self.graphs.iter().enumerate() {
            writeln!(f, "\ngraph {i}:\n{g}")?;
        }
        writeln!(f, "kernels:")?;
        for k in &self.kernels {
            let dtypes: Vec<&str> = k.inputs.iter().map(|d| d.name()).collect();
            writeln!(f, "  {} for ({}) from {}", k.name, dtypes.join(", "), k.source)?;
        }
        writeln!(f, "guards:")?;
        for g in &self.guards {
            let text = g.to_string();
            writeln!(f, "  {}", if text.is_empty() { "none" } else { &text })?;
        }
        writeln!(f, "entries:")?;
        for e in &self.entries {
            writeln!(f, "  {e}")?;
        }
        if !self.recompiles.is_empty() {
            writeln!(f, "recompiles:")?;
            self.recompiles.iter().try_for_each(|r| writeln!(f, "  {r}"))?;
        }
        if !self.breaks.is_empty() {
            writeln!(f, "breaks:")?;
            self.breaks.iter().try_for_each(|b| writeln!(f, "  {b}"))?;
        }
        if !self.fallbacks.is_empty() {
            writeln!(f, "fallbacks:")?;
            self.fallbacks.iter().try_for_each(|b| writeln!(f, "  {b}"))?;
        }
        let c = &self.calls;
        let s = &c.steps;
        writeln!(
            f,
            "calls: {} dispatched, {} of them bound first, {} errors; ran {} emitted kernels, {} on the tile VM, {} products, {} copies, {} ops",
            c.dispatched, c.bound, c.errors, s.emitted, s.tile, s.contractions, s.copies, s.ops
        )?;
        write!(f, "memory: {} bytes of arena", self.memory)
    }
}
