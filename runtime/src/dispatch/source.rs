//! The function as it was written, and what backends made of it.
//!
//! Problem: a backend may take seconds for a graph, may call the function again while it compiles, and may be asked by many
//! threads at once. Method: what it made is kept by backend, key pattern and graph; one thread at a time asks a backend,
//! but for a thread that asks one already.
//! Invariants: of two threads that ask for the same, both run what was made first; what a backend made is dropped when it
//! is unregistered, or, if it was asked meanwhile, when the next one is asked.

use super::asked::{Asked, Executed, error_of};
use super::function::Function;
use super::pipeline::{self, Pipeline};
use super::record;
use super::state::State;
use crate::backend::registry::{self, STAX, Slot};
use crate::backend::{Codegen, CompileOptions};
use crate::dispatch::counters;
use crate::example::Example;
use crate::kernels::strip::Strip;
use crate::ladder::{self, Rung};
use crate::plan::link::{Callable, Declared, Opaque};
use crate::sync::lock;
use crate::{Error, Result, Tensor};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use tensorplay_graph::GraphModule;
use tensorplay_stax::blob::{Blob, Instance};
use tensorplay_stax::schedule::Schedule;

/// A function as it was written.
#[derive(Debug)]
pub(super) struct Source {
    function: &'static Function,
    declared: Declared,
    paths: Vec<Blob>,
    made: Mutex<Vec<Arc<Compiled>>>,
    /// One thread at a time asks each backend, by its number.
    turns: Mutex<BTreeMap<u64, Arc<Mutex<()>>>>,
}

thread_local! {
    /// Whether this thread asks a backend already: its turn is not to wait for another.
    static ASKING: Cell<bool> = const { Cell::new(false) };
}

/// Sets the mark of the thread back.
struct Asking(bool);

impl Drop for Asking {
    fn drop(&mut self) {
        ASKING.set(self.0);
    }
}

/// What backends made, at most; the oldest goes first.
const KEPT: usize = 64;

/// What a backend made for an entry.
pub(super) struct Compiled {
    backend: u64,
    pub name: &'static str,
    pattern: String,
    pub module: Arc<GraphModule>,
    code: Code,
}

/// What a backend made of a graph, or of its parts between calls that run elsewhere.
enum Code {
    Whole(Executed),
    Cut(Pipeline),
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` compiled by `{}`", self.pattern, self.name)
    }
}

impl State {
    /// The function as it was written.
    pub(super) fn source(&'static self) -> Result<&'static Source> {
        let source = self.source.get_or_init(|| {
            let paths = self.paths.iter().map(|b| b.source().map(|m| blob(&m)));
            Ok(Source {
                function: self.function,
                declared: self.declared.clone(),
                paths: paths
                    .collect::<std::result::Result<_, _>>()
                    .map_err(|e| e.to_string())?,
                made: Mutex::default(),
                turns: Mutex::default(),
            })
        });
        source.as_ref().map_err(|m| Error::GraphCapture(m.clone()))
    }
}

/// A graph in the form that linking takes, without kernels.
fn blob(source: &GraphModule) -> Blob {
    let instance = Instance {
        inputs: Vec::new(),
        kernels: Vec::new(),
    };
    Blob::linked(
        source.clone(),
        source.graph.clone(),
        Schedule::default(),
        instance,
        source.regions.iter().map(|r| inside(r, source)).collect(),
    )
}

/// A graph inside another, which shares the places of that.
fn inside(region: &GraphModule, around: &GraphModule) -> Blob {
    let mut region = region.clone();
    if region.locations.is_empty() {
        region.locations.clone_from(&around.locations);
    }
    blob(&region)
}

impl Source {
    /// What a backend made of a graph for an entry, now or before.
    pub(super) fn compiled(
        &self,
        state: &State,
        slot: &'static Slot,
        pattern: String,
        module: &Arc<GraphModule>,
        (examples, calls): (&[Example], &[Arc<Opaque>]),
        options: &CompileOptions,
    ) -> Result<Arc<Compiled>> {
        let is_of = |c: &Compiled| Arc::ptr_eq(&c.module, module) || c.module == *module;
        let is = |c: &Compiled| c.backend == slot.id && c.pattern == pattern && is_of(c);
        let known = || lock(&self.made).iter().find(|c| is(c)).cloned();
        if let Some(known) = known() {
            return Ok(known);
        }
        // declared first, dropped when no lock is held: what a backend made may call the function again
        let mut dropped: Vec<Arc<Compiled>> = Vec::new();
        let turn = lock(&self.turns).entry(slot.id).or_default().clone();
        let _turn = (!ASKING.get()).then(|| lock(&turn));
        if let Some(known) = known() {
            return Ok(known);
        }
        let _asking = Asking(ASKING.replace(true));
        let code = compile(state, slot, &pattern, module, (examples, calls), options)?;
        let compiled = Arc::new(Compiled {
            backend: slot.id,
            name: slot.name(),
            pattern: pattern.clone(),
            module: module.clone(),
            code,
        });
        let mut made = lock(&self.made);
        // a thread that did not wait may have been faster: everyone runs what was made first
        if let Some(first) = made.iter().find(|c| is(c)) {
            return Ok(first.clone());
        }
        // what backends made that are gone
        let others: Vec<u64> = made.iter().map(|c| c.backend).collect();
        let gone = registry::gone(&others);
        dropped.extend(made.extract_if(.., |c| gone.contains(&c.backend)));
        if made.len() >= KEPT {
            dropped.push(made.remove(0));
        }
        made.push(compiled.clone());
        Ok(compiled)
    }

    /// Takes away what backends made, by their numbers; the caller drops it when it holds no lock.
    pub(super) fn take(&self, of: impl Fn(u64) -> bool) -> Vec<Arc<Compiled>> {
        lock(&self.made).extract_if(.., |c| of(c.backend)).collect()
    }
}

impl Compiled {
    /// Runs it. A result is a value of its own, also where the backend has it in a variable.
    pub(super) fn run(&self, function: &Function, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        counters::BACKEND_CALLS.add(1);
        let results = match &self.code {
            Code::Whole(code) => code
                .run(inputs)
                .map_err(|e| error_of(self.name, function.path(), e))?,
            Code::Cut(pipeline) => pipeline.run(inputs)?,
        };
        Ok(results.iter().map(Tensor::snapshot).collect())
    }

    /// What runs, as far as it was compiled.
    pub(super) fn codegen(&self) -> Codegen {
        match &self.code {
            Code::Whole(code) => code.codegen,
            Code::Cut(pipeline) => pipeline.codegen(),
        }
    }
}

impl Callable for Source {
    fn declared(&self) -> &Declared {
        &self.declared
    }
    fn paths(&self) -> &[Blob] {
        &self.paths
    }
    fn strips(&self) -> &'static [Strip] {
        &[]
    }
    fn callee(&self, number: usize) -> Result<&'static dyn Callable> {
        Ok(self.function.callee(number)?.state()?.source()?)
    }
    fn note_entry(&self, _: usize, _: &str) {}
    fn as_written(&self) -> Result<&'static dyn Callable> {
        Ok(self.function.state()?.source()?)
    }
    fn run_on_own(&self, graph: &Arc<GraphModule>, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let slot = registry::slot(self.function.region_backend.unwrap_or(STAX))?;
        record::note_region(self.function, slot, graph, inputs);
        let examples: Vec<Example> = inputs.iter().map(Example::of).collect();
        let pattern = format!("{examples:?}");
        let state = self.function.state()?;
        let compiled = self.compiled(
            state,
            slot,
            pattern,
            graph,
            (&examples, &[]),
            &self.function.compile_options(),
        )?;
        compiled.run(self.function, inputs)
    }
}

fn compile(
    state: &State,
    slot: &'static Slot,
    pattern: &str,
    module: &GraphModule,
    (examples, calls): (&[Example], &[Arc<Opaque>]),
    options: &CompileOptions,
) -> Result<Code> {
    let function = state.function.path();
    if cfg!(debug_assertions) {
        tensorplay_graph::verify(module).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            Error::GraphCapture(format!(
                "`{function}`: {}; this is a bug, please report it",
                errors.join("; ")
            ))
        })?;
    }
    ladder::tell(Rung::Graphs, false, || {
        format!("`{function}` for backend `{}`, {pattern}:\n{module}", slot.name())
    });
    let asked = Asked {
        slot,
        function,
        options: options.clone(),
    };
    match pipeline::is_cut(module) {
        false => asked.compile(module, examples).map(Code::Whole),
        true => Pipeline::new(module, calls, asked).map(Code::Cut),
    }
}
