//! `Function`: what a compiled function is in the binary, and its table at run time.

use super::broken::BreakRecord;
use super::counters::{self, Sharded};
use super::key::Key;
use super::mode::{self, Mode};
use super::outputs::Outputs;
use crate::device::same_device;
use crate::example::ReuseHash;
use crate::kernels::strip::Strip;
use crate::plan::bind::{Kernels, Meta, bind, key_params};
use crate::plan::link::{Callable, LinkedBlob, link};
use crate::plan::{Plan, Results};
use crate::{DType, Error, Result, Tensor, is_grad_enabled};
use arc_swap::ArcSwap;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use tensorplay_graph::{Dim, GraphModule, Host, Symbol, Write};
use tensorplay_stax::blob::{Blob, Paths};

/// Plans kept by an entry; the least recently used goes first.
const PLANS_PER_ENTRY: usize = 16;

/// A scalar argument.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct HostArg(Host);

macro_rules! host_arg {
    ($($t:ty => |$v:ident| $e:expr;)*) => {$(
        impl From<$t> for HostArg {
            #[inline]
            fn from($v: $t) -> HostArg { HostArg($e) }
        }
        impl From<&$t> for HostArg {
            #[inline]
            fn from(v: &$t) -> HostArg { HostArg::from(*v) }
        }
    )*};
}
host_arg! {
    usize => |v| Host::size(v);
    isize => |v| Host::Int(v as i64);
    i64 => |v| Host::Int(v);
    i32 => |v| Host::Int(i64::from(v));
    i16 => |v| Host::Int(i64::from(v));
    i8 => |v| Host::Int(i64::from(v));
    u32 => |v| Host::Int(i64::from(v));
    u16 => |v| Host::Int(i64::from(v));
    u8 => |v| Host::Int(i64::from(v));
    f32 => |v| Host::Float(f64::from(v));
    f64 => |v| Host::Float(v);
    bool => |v| Host::Bool(v);
    DType => |v| Host::DType(v);
}

impl HostArg {
    /// A value that is one already.
    pub(crate) fn of(value: Host) -> HostArg {
        HostArg(value)
    }
}

/// A compiled function: its place in the source, its blob, its strips, its table.
#[doc(hidden)]
#[derive(Debug)]
pub struct Function {
    path: &'static str,
    file: &'static str,
    line: u32,
    blob: &'static [u8],
    strips: &'static [Strip],
    /// How the functions that it calls are reached.
    callees: &'static [fn() -> &'static Function],
    reuse_limit: Option<usize>,
    reuse_hash: Option<ReuseHash>,
    /// Whether sizes that nothing fixes are symbolic.
    dynamic: bool,
    /// The consts that its graph reads.
    consts: Option<fn() -> Vec<HostArg>>,
    /// For each path, how many results there are where the return type does not say.
    codes: &'static [&'static [u32]],
    /// What the function consists of if capture does not hold it whole.
    pub(super) segments: &'static [&'static Function],
    pub(super) breaks: &'static [BreakRecord],
    pub(super) reached: Once,
    state: OnceLock<std::result::Result<State, String>>,
}

#[derive(Debug)]
pub(super) struct State {
    function: &'static Function,
    /// The paths in source order.
    pub paths: Vec<Blob>,
    pub key_params: Vec<bool>,
    /// The consts that the graphs read; they follow the parameters.
    consts: Vec<Host>,
    pub table: ArcSwap<Vec<Arc<Bound>>>,
    pub entries: Mutex<Vec<EntryState>>,
    /// Grows with every bind; a plan remembers the last one during which it ran.
    epoch: AtomicU64,
    pub errors: Sharded,
    pub binds: Sharded,
    /// What plans that were dropped had done.
    retired: Mutex<Retired>,
}

#[derive(Clone, Debug)]
pub(super) struct EntryState {
    pub path: usize,
    pub pattern: String,
    pub binds: u64,
}

/// Counts summed over plans.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub calls: u64,
    pub counts: crate::plan::StepCounts,
}

/// Tallies of plans that left the table. A call that found its plan before may still count, so a tally is
/// summed up for good only when nobody else holds it.
#[derive(Debug, Default)]
struct Retired {
    totals: Totals,
    tallies: Vec<Arc<Tally>>,
}

impl Retired {
    fn take(&mut self, tally: Arc<Tally>) {
        if self.tallies.len() >= 64 {
            let totals = &mut self.totals;
            self.tallies.retain(|t| {
                let last = Arc::strong_count(t) == 1;
                if last {
                    totals.add(t);
                }
                !last
            });
        }
        self.tallies.push(tally);
    }
}

/// How often a plan ran, and what it runs.
#[derive(Debug)]
pub(super) struct Tally {
    runs: Sharded,
    counts: crate::plan::StepCounts,
}

impl Totals {
    fn add(&mut self, tally: &Tally) {
        let n = tally.runs.get();
        self.calls += n;
        self.counts.add(tally.counts, n);
    }
}

/// A plan in the table.
#[derive(Debug)]
pub(super) struct Bound {
    pub key: Key,
    pub path: usize,
    pub plan: Plan,
    /// The path, with its callees in it if it gives variables or `&mut` parameters new values.
    blob: BoundBlob,
    /// How many tensors each result of the path is, if some are lists.
    pub lengths: Vec<u32>,
    pub entry: usize,
    tally: Arc<Tally>,
    seen: AtomicU64,
}

#[derive(Debug)]
enum BoundBlob {
    Own(&'static Blob),
    Linked(Arc<Blob>),
}

impl Bound {
    fn module(&self) -> &GraphModule {
        match &self.blob {
            BoundBlob::Own(blob) => &blob.module,
            BoundBlob::Linked(blob) => &blob.module,
        }
    }

    /// The places that it leaves new values in, in the order of the inputs.
    pub fn writes(&self) -> &[Write] {
        &self.module().writes
    }
}

/// What ran, and its results: what is returned, then what is left in `&mut` parameters. In a probe nothing ran.
type Done = (Option<Arc<Bound>>, Results);

/// The kernels that `TENSORPLAY_KERNELS` forces.
fn kernels() -> Result<Kernels> {
    const VARIABLE: &str = "TENSORPLAY_KERNELS";
    static KERNELS: OnceLock<std::result::Result<Kernels, String>> = OnceLock::new();
    let kernels = KERNELS.get_or_init(|| {
        let value = std::env::var_os(VARIABLE).unwrap_or_default();
        match value.to_str().map(str::trim) {
            Some("emitted") => Ok(Kernels::Emitted),
            Some("tile") => Ok(Kernels::Tile),
            Some("") => Ok(Kernels::Any),
            _ => Err(value.to_string_lossy().into_owned()),
        }
    });
    kernels.clone().map_err(|value| Error::Environment {
        variable: VARIABLE,
        value,
        expected: "emitted or tile",
    })
}

/// Every compiled function that was reached so far.
static FUNCTIONS: Mutex<Vec<&'static Function>> = Mutex::new(Vec::new());

/// Empties the tables of all compiled functions, and forgets the results that are assumed to be constant; counters stay.
pub fn reset() {
    super::assumed::forget();
    let functions = lock(&FUNCTIONS).clone();
    functions.iter().for_each(|f| f.clear());
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Function {
    /// The record that `#[compile]` emits.
    pub const fn new(
        path: &'static str,
        file: &'static str,
        line: u32,
        blob: &'static [u8],
        strips: &'static [Strip],
    ) -> Function {
        Function {
            path,
            file,
            line,
            blob,
            strips,
            callees: &[],
            reuse_limit: None,
            reuse_hash: None,
            dynamic: false,
            consts: None,
            codes: &[],
            segments: &[],
            breaks: &[],
            reached: Once::new(),
            state: OnceLock::new(),
        }
    }

    /// With the functions that its graph calls.
    #[must_use]
    pub const fn calling(mut self, callees: &'static [fn() -> &'static Function]) -> Function {
        self.callees = callees;
        self
    }

    /// With the consts that its graph reads, behind its parameters.
    #[must_use]
    pub const fn reading(mut self, consts: fn() -> Vec<HostArg>) -> Function {
        self.consts = Some(consts);
        self
    }

    /// One entry serves all sizes, but for 0 and 1.
    #[must_use]
    pub const fn dynamic(mut self) -> Function {
        self.dynamic = true;
        self
    }

    /// A region: one plan may hold it for so many kinds of arguments.
    #[must_use]
    pub const fn region(mut self, max_reuse_entries: usize) -> Function {
        self.reuse_limit = Some(max_reuse_entries);
        self
    }

    /// What tells these kinds apart.
    #[must_use]
    pub const fn hashed_by(mut self, hash: ReuseHash) -> Function {
        self.reuse_hash = Some(hash);
        self
    }

    /// With how many results each path has, where the return type does not say.
    #[must_use]
    pub const fn with_codes(mut self, codes: &'static [&'static [u32]]) -> Function {
        self.codes = codes;
        self
    }

    /// The record of a function with graph breaks: its segments dispatch for themselves.
    pub const fn segmented(
        path: &'static str,
        file: &'static str,
        line: u32,
        segments: &'static [&'static Function],
        breaks: &'static [BreakRecord],
    ) -> Function {
        let mut f = Function::new(path, file, line, &[], &[]);
        f.segments = segments;
        f.breaks = breaks;
        f
    }

    /// The function's path.
    pub fn path(&self) -> &'static str {
        self.path
    }

    /// The source file.
    pub fn file(&self) -> &'static str {
        self.file
    }

    /// The line of the function.
    pub fn line(&self) -> u32 {
        self.line
    }

    pub(super) fn state(&'static self) -> Result<&'static State> {
        let state = self.state.get_or_init(|| {
            lock(&FUNCTIONS).push(self);
            let Paths(paths) = Paths::decode(self.blob).map_err(|e| e.to_string())?;
            for (lowered, first) in paths.iter().flat_map(Blob::kernels) {
                for (k, map) in lowered.kernel.maps().enumerate() {
                    let strip = self.strips.get(*first as usize + k);
                    if !strip.is_some_and(|s| s.fits(&map.program)) {
                        return Err(format!(
                            "program `{}` has no strip that fits it",
                            map.program.name
                        ));
                    }
                }
            }
            counters::CAPTURES.add(1);
            let key_params = key_params(&paths);
            let consts = self
                .consts
                .map_or_else(Vec::new, |read| read().iter().map(|a| a.0).collect());
            Ok(State {
                function: self,
                paths,
                key_params,
                consts,
                table: ArcSwap::from_pointee(Vec::new()),
                entries: Mutex::new(Vec::new()),
                epoch: AtomicU64::new(0),
                errors: Sharded::new(),
                binds: Sharded::new(),
                retired: Mutex::new(Retired::default()),
            })
        });
        state
            .as_ref()
            .map_err(|m| Error::GraphCapture(format!("`{}`: {m}", self.path)))
    }

    /// Runs the compiled form of a function that returns one tensor; `None` where the plain body should run instead.
    // these three are not inlined: what they hide would be built again in every user's function
    #[track_caller]
    #[inline(never)]
    pub fn tensor(&'static self, tensors: &[&Tensor], scalars: &[HostArg]) -> Option<Tensor> {
        match self.results(tensors, scalars)? {
            Ok((_, mut r)) => r.pop(),
            Err(e) => e.raise(),
        }
    }

    /// The same for a function that returns one tensor or an error.
    #[inline(never)]
    pub fn try_tensor(&'static self, tensors: &[&Tensor], scalars: &[HostArg]) -> Option<Result<Tensor>> {
        match self.results(tensors, scalars)? {
            Ok((_, mut r)) => r.pop().map(Ok),
            Err(e) => Some(Err(e)),
        }
    }

    /// The same for any other results.
    #[inline(never)]
    pub fn call(&'static self, tensors: &[&Tensor], scalars: &[HostArg]) -> Option<Result<Outputs>> {
        let (bound, results) = match self.results(tensors, scalars)? {
            Ok(done) => done,
            Err(e) => return Some(Err(e)),
        };
        let path = bound.as_ref().map_or(0, |b| b.path);
        let codes = self.codes.get(path).copied().unwrap_or_default();
        Some(Ok(Outputs::new(results, codes, bound)))
    }

    #[inline]
    fn results(&'static self, tensors: &[&Tensor], scalars: &[HostArg]) -> Option<Result<Done>> {
        match mode::current() {
            Mode::Run => Some(self.run(tensors, scalars)),
            Mode::Disabled => None,
            Mode::Probe => Some(Ok((None, self.fabricate()))),
        }
    }

    fn fabricate(&'static self) -> Results {
        mode::record(self);
        let first = self.state().ok().and_then(|s| s.paths.first());
        let n = first.map_or(1, |b| b.module.returned());
        (0..n).map(|_| Tensor::from_slice::<f32>(&[], 0)).collect()
    }

    fn run(&'static self, tensors: &[&Tensor], scalars: &[HostArg]) -> Result<Done> {
        let state = self.state()?;
        let scalars = state.scalars(scalars);
        let bound = match state.find(tensors, &scalars) {
            Some(bound) => {
                counters::HITS.add(1);
                bound
            }
            None => self.bind(state, tensors, &scalars)?,
        };
        bound.tally.runs.add(1);
        let c = &bound.plan.counts;
        counters::EMITTED.add(c.emitted);
        if c.tile > 0 {
            counters::TILE.add(c.tile);
        }
        let module = bound.module();
        let results = if !bound.plan.reuses.is_empty() {
            // SAFETY: a path assigns nothing but `&mut` parameters of the function that calls this.
            unsafe { bound.plan.run_lent(tensors, &scalars) }
        } else if module.updates.is_empty() {
            bound.plan.run(tensors, &scalars)
        } else {
            run_updating(module, &bound.plan, tensors, &scalars)
        };
        let results = results.inspect_err(|_| state.errors.add(1))?;
        Ok((Some(bound), results))
    }

    /// The guard check and plan look-up of a call, without running it.
    #[doc(hidden)]
    pub fn look_up(&'static self, tensors: &[&Tensor], scalars: &[HostArg]) -> bool {
        self.state()
            .is_ok_and(|s| s.find(tensors, &s.scalars(scalars)).is_some())
    }

    #[cold]
    fn bind(
        &'static self,
        state: &'static State,
        tensors: &[&Tensor],
        scalars: &[Host],
    ) -> Result<Arc<Bound>> {
        let mut entries = lock(&state.entries);
        if let Some(bound) = state.find(tensors, scalars) {
            counters::HITS.add(1);
            return Ok(bound);
        }
        counters::MISSES.add(1);
        let key = Key::of(tensors, scalars, &state.key_params);
        let metas: SmallVec<[Meta; 6]> = tensors.iter().map(|t| Meta::of(t)).collect();
        let bound = same_device("call", tensors).and_then(|()| {
            let linked = link(state, &metas, scalars)?;
            let plan = bind(
                &linked.blob,
                &linked.strips,
                &metas,
                &key.scalars,
                Some(scalars),
                kernels()?,
            )?;
            Ok((linked, plan))
        });
        let (linked, plan) = bound.inspect_err(|_| state.errors.add(1))?;
        for entry in &linked.entries {
            entry.callable.note_entry(entry.path, &entry.pattern);
        }
        let path = linked.path;
        let blob = match &linked.blob {
            LinkedBlob::Spliced(b) if b.module.updates.len() + b.module.writes.len() > 0 => {
                BoundBlob::Linked(b.clone())
            }
            _ => BoundBlob::Own(&state.paths[path]),
        };
        counters::BINDS.add(1);
        state.binds.add(1);
        counters::FALLBACKS.add(plan.fallbacks.len() as u64);
        for f in &plan.fallbacks {
            log::debug!("{}: group `{}` falls back: {}", self.path, f.group, f.reason);
        }
        let pattern = pattern(&linked.blob.module, &key, self.dynamic);
        let entry = enter(&mut entries, path, &pattern);
        let epoch = state.epoch.fetch_add(1, Relaxed) + 1;
        let tally = Arc::new(Tally {
            runs: Sharded::new(),
            counts: plan.counts,
        });
        let bound = Arc::new(Bound {
            key,
            path,
            plan,
            blob,
            lengths: linked.lengths,
            entry,
            tally,
            seen: AtomicU64::new(epoch),
        });
        let old = state.table.load();
        let mut plans: Vec<Arc<Bound>> = Vec::with_capacity(old.len() + 1);
        plans.push(bound.clone());
        plans.extend(old.iter().cloned());
        if plans.iter().filter(|p| p.entry == entry).count() > PLANS_PER_ENTRY {
            let coldest = plans
                .iter()
                .enumerate()
                .skip(1)
                .filter(|(_, p)| p.entry == entry)
                .min_by_key(|(i, p)| (p.seen.load(Relaxed), std::cmp::Reverse(*i)))
                .map(|(i, _)| i);
            if let Some(i) = coldest {
                counters::EVICTIONS.add(1);
                lock(&state.retired).take(plans.remove(i).tally.clone());
            }
        }
        state.table.store(Arc::new(plans));
        Ok(bound)
    }

    /// Forgets all plans and entries.
    fn clear(&self) {
        if let Some(Ok(state)) = self.state.get() {
            let mut entries = lock(&state.entries);
            let mut retired = lock(&state.retired);
            state
                .table
                .load()
                .iter()
                .for_each(|b| retired.take(b.tally.clone()));
            state.table.store(Arc::new(Vec::new()));
            entries.clear();
        }
    }
}

/// Runs a plan some of whose results are new values of variables, and publishes these if all of it succeeds.
#[cold]
pub(crate) fn run_updating(
    module: &GraphModule,
    plan: &Plan,
    tensors: &[&Tensor],
    scalars: &[Host],
) -> Result<Results> {
    for &i in &module.updates {
        if !tensors[i as usize].is_variable() {
            let name = &module.graph.node(module.graph.inputs[i as usize]).name;
            let message = format!("`{name}` is not a variable, so it cannot be updated");
            return Err(Error::value("call", message).with_help("make it one with variable()"));
        }
    }
    let mut results = plan.run(tensors, scalars)?;
    let returned = module.returned();
    for (&i, new) in module.updates.iter().zip(&results[returned..]) {
        tensors[i as usize].try_assign(new)?;
    }
    results.drain(returned..returned + module.updates.len());
    Ok(results)
}

/// The entry of that pattern, with one bind more.
fn enter(entries: &mut Vec<EntryState>, path: usize, pattern: &str) -> usize {
    let known = entries
        .iter()
        .position(|e| e.path == path && e.pattern == pattern);
    let entry = known.unwrap_or_else(|| {
        entries.push(EntryState {
            path,
            pattern: pattern.to_string(),
            binds: 0,
        });
        entries.len() - 1
    });
    entries[entry].binds += 1;
    entry
}

impl Callable for State {
    fn name(&self) -> &str {
        self.function.path
    }
    fn paths(&self) -> &[Blob] {
        &self.paths
    }
    fn strips(&self) -> &'static [Strip] {
        self.function.strips
    }
    fn callee(&self, number: usize) -> Result<&'static dyn Callable> {
        match self.function.callees.get(number) {
            Some(reach) => Ok(reach().state()?),
            None => Err(Error::msg(format!(
                "`{}` has no callee {number}; this is a bug, please report it",
                self.function.path
            ))),
        }
    }
    fn note_entry(&self, path: usize, pattern: &str) {
        enter(&mut lock(&self.entries), path, pattern);
    }
    fn consts(&self) -> &[Host] {
        &self.consts
    }
    fn reuse_limit(&self) -> Option<usize> {
        self.function.reuse_limit
    }
    fn reuse_hash(&self) -> Option<ReuseHash> {
        self.function.reuse_hash
    }
}

impl State {
    /// The numbers of a call: parameters, consts, parts of aggregates.
    #[inline]
    fn scalars(&self, given: &[HostArg]) -> SmallVec<[Host; 4]> {
        let mut scalars: SmallVec<[Host; 4]> = given.iter().map(|a| a.0).collect();
        if !self.consts.is_empty() {
            let params = self.key_params.len() - self.consts.len();
            scalars.insert_many(params.min(given.len()), self.consts.iter().copied());
        }
        scalars
    }

    #[inline]
    fn find(&self, tensors: &[&Tensor], scalars: &[Host]) -> Option<Arc<Bound>> {
        let grad = is_grad_enabled();
        let table = self.table.load();
        let bound = table.iter().find(|b| b.key.fits(tensors, scalars, grad))?;
        let epoch = self.epoch.load(Relaxed);
        if bound.seen.load(Relaxed) != epoch {
            bound.seen.store(epoch, Relaxed);
        }
        Some(bound.clone())
    }

    pub(super) fn totals(&self) -> Totals {
        // the table first: a plan that retires meanwhile is then counted once, not missed
        let table = self.table.load_full();
        let retired = lock(&self.retired);
        let mut totals = retired.totals;
        let live = table.iter().map(|b| &b.tally);
        for t in live.chain(
            retired
                .tallies
                .iter()
                .filter(|t| !table.iter().any(|b| Arc::ptr_eq(&b.tally, t))),
        ) {
            totals.add(t);
        }
        totals
    }

    pub(super) fn entries(&self) -> Vec<EntryState> {
        lock(&self.entries).clone()
    }
}

/// The key pattern of an entry: `x: f32[B, 64]`, with classes 0, 1 and symbol for named dims, and for all where the call
/// is `dynamic`.
fn pattern(module: &GraphModule, key: &Key, dynamic: bool) -> String {
    let mut parts = Vec::new();
    for (i, t) in key.tensors.iter().enumerate() {
        let name = &module.graph.node(module.graph.inputs[i]).name;
        let spec = module
            .specs
            .get(i)
            .and_then(Option::as_ref)
            .and_then(|s| s.shape.as_ref());
        let dims: Vec<String> = t
            .shape
            .iter()
            .enumerate()
            .map(|(d, &n)| match spec.and_then(|s| s.get(d)) {
                _ if is_static(module, i, d, t.shape.len()) => n.to_string(),
                Some(Dim::Symbol(s)) if n > 1 => symbol(&module.symbols, *s),
                Some(Dim::Known(_)) => n.to_string(),
                _ if dynamic && n > 1 => "_".into(),
                _ => n.to_string(),
            })
            .collect();
        let layout = layout_class(&t.shape, &t.strides);
        let grad = if t.requires_grad { " requires_grad" } else { "" };
        parts.push(format!("{name}: {}[{}]{layout}{grad}", t.dtype, dims.join(", ")));
    }
    let own = module.scalars.iter().filter(|s| s.source.is_none());
    let (of_own, of_fields) = key.scalars.split_at(own.clone().count().min(key.scalars.len()));
    if !of_fields.is_empty() {
        let values = of_fields.iter().flatten();
        let shown: Vec<String> = values
            .map(|v| tensorplay_graph::Expr::Literal(*v).to_string())
            .collect();
        parts.push(format!("fields == ({})", shown.join(", ")));
    }
    for (s, v) in own.zip(of_own) {
        if let Some(v) = v {
            parts.push(format!("{} == {}", s.name, tensorplay_graph::Expr::Literal(*v)));
        }
    }
    if !key.grad {
        parts.push("no_grad".into());
    }
    parts.join(", ")
}

/// Whether `mark_static` names a dim.
fn is_static(module: &GraphModule, input: usize, dim: usize, rank: usize) -> bool {
    module.statics.iter().any(|&(i, d)| {
        let d = if d < 0 { d + rank as i64 } else { d };
        i as usize == input && d == dim as i64
    })
}

fn symbol(symbols: &[Symbol], i: u32) -> String {
    symbols
        .get(i as usize)
        .map_or_else(|| "_".into(), |s| s.name.clone())
}

/// Contiguous, dense permuted, inner-strided or broadcast.
fn layout_class(shape: &[usize], strides: &[usize]) -> &'static str {
    let Ok(l) = crate::layout::Layout::new(shape.into(), strides.into(), 0) else {
        return "";
    };
    if l.is_contiguous() {
        ""
    } else if shape.iter().zip(strides).any(|(&n, &s)| n > 1 && s == 0) {
        " broadcast"
    } else if l.is_dense() {
        " permuted"
    } else {
        " strided"
    }
}
