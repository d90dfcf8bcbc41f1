//! `Function`: what a compiled function is in the binary, and how its body calls it.

use super::bound::Bound;
use super::broken::BreakRecord;
use super::counters;
use super::mode::{self, Mode};
use super::outputs::Outputs;
use super::settings::{Named, Setting, Settings};
use super::state::State;
use crate::backend::registry::{self, Remembered, Slot};
use crate::backend::{BackendEntry, CompileOptions};
use crate::example::ReuseHash;
use crate::kernels::strip::Strip;
use crate::plan::Results;
use crate::sync::lock;
use crate::{DType, Error, Result, Tensor};
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, Once, OnceLock};
use tensorplay_graph::{Host, Mode as OptionsMode};

/// A scalar argument.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct HostArg(pub(super) Host);

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

    /// The values of arguments.
    #[inline]
    pub(super) fn values(args: &[HostArg]) -> &[Host] {
        // SAFETY: an argument is a value in memory, as `repr(transparent)` says.
        unsafe { std::slice::from_raw_parts(args.as_ptr().cast(), args.len()) }
    }
}

/// A compiled function: its place in the source, its blob, its strips, its table.
#[doc(hidden)]
#[derive(Debug)]
pub struct Function {
    path: &'static str,
    file: &'static str,
    line: u32,
    pub(super) blob: &'static [u8],
    pub(super) strips: &'static [Strip],
    /// How the functions that it calls are reached.
    pub(super) callees: &'static [fn() -> &'static Function],
    pub(super) reuse_limit: Option<usize>,
    pub(super) reuse_hash: Option<ReuseHash>,
    /// The backend of a region, wherever it is called.
    pub(super) region_backend: Option<&'static str>,
    pub(super) settings: Settings,
    /// The backend that these two name.
    named: Remembered,
    /// The consts that its graph reads.
    pub(super) consts: Option<fn() -> Vec<HostArg>>,
    /// For each path, how many results there are where the return type does not say.
    codes: &'static [&'static [u32]],
    /// What the function consists of if capture does not hold it whole.
    pub(super) segments: &'static [&'static Function],
    pub(super) breaks: &'static [BreakRecord],
    pub(super) reached: Once,
    pub(super) state: OnceLock<std::result::Result<State, String>>,
}

/// Every compiled function that was reached so far.
static FUNCTIONS: Mutex<Vec<&'static Function>> = Mutex::new(Vec::new());

/// Empties the tables of all compiled functions, forgets the results that are assumed to be constant, and resets every
/// backend that was made; counters stay.
pub fn reset() {
    super::assumed::forget();
    let functions = lock(&FUNCTIONS).clone();
    functions.iter().for_each(|f| f.clear());
    registry::reset();
}

/// Unregisters a backend. Code that it compiled is not run again, and is freed when the last call of it ends. A name that
/// nobody registered, and one that is built in, is left alone. If it is the default backend, `"stax"` is the default again.
/// A function whose attribute has the path of an entry, `backend = ENTRY`, registers it again at its next call.
pub fn unregister_backend(name: &str) {
    if let Some(id) = registry::unregister(name) {
        let functions = lock(&FUNCTIONS).clone();
        functions.iter().for_each(|f| f.forget(id));
    }
}

/// What ran, and its results: what is returned, then what is left in `&mut` parameters. In a probe nothing ran.
pub(super) struct Done {
    path: usize,
    /// Kept where the results are told apart by it.
    bound: Option<Arc<Bound>>,
    results: Results,
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
            region_backend: None,
            settings: Settings::new(),
            named: Remembered::new(),
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

    /// `dynamic = ..`: whether one entry serves all sizes, but for 0 and 1.
    #[must_use]
    pub const fn dynamic(mut self, on: bool) -> Function {
        self.settings.dynamic = Some(on);
        self
    }

    /// `name = ".."`.
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> Function {
        self.settings.name = Some(name);
        self
    }

    /// `backend = ".."`.
    #[must_use]
    pub const fn on(mut self, backend: &'static str) -> Function {
        self.settings.backend = Some(Named::Name(backend));
        self
    }

    /// `backend = path`: the entry of a backend, which is registered at the first call if it was not.
    #[must_use]
    pub const fn on_entry(mut self, backend: &'static BackendEntry) -> Function {
        self.settings.backend = Some(Named::Entry(backend));
        self
    }

    /// `mode = ".."`.
    #[must_use]
    pub const fn in_mode(mut self, mode: OptionsMode) -> Function {
        self.settings.mode = Some(mode);
        self
    }

    /// `options(..)`.
    #[must_use]
    pub const fn with_options(mut self, options: &'static [(&'static str, Setting)]) -> Function {
        self.settings.options = options;
        self
    }

    /// `recompile_limit = ..`; `fails`: beside `fullgraph`, one entry more is an error.
    #[must_use]
    pub const fn recompile_limit(mut self, limit: usize, fails: bool) -> Function {
        self.settings.recompile_limit = Some(limit);
        self.settings.fails_at_limit = fails;
        self
    }

    /// `isolate_recompiles`: the last number of every call is the address of its instance.
    #[must_use]
    pub const fn isolated(mut self) -> Function {
        self.settings.isolated = true;
        self
    }

    /// `strict_native`.
    #[must_use]
    pub const fn strict_native(mut self) -> Function {
        self.settings.strict_native = true;
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

    /// `options = PATH` of a region: the backend that compiles it wherever it is called.
    #[must_use]
    pub const fn compiled_with(mut self, options: &'static NestedCompileRegionOptions) -> Function {
        assert!(
            options.bw_compiler.is_none(),
            "bw_compiler is not available yet: leave it `None`"
        );
        self.region_backend = options.fw_compiler;
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
            let state = State::of(self)?;
            counters::CAPTURES.add(1);
            Ok(state)
        });
        state
            .as_ref()
            .map_err(|m| Error::GraphCapture(format!("`{}`: {m}", self.path)))
    }

    /// The function that it calls by that number.
    pub(super) fn callee(&self, number: usize) -> Result<&'static Function> {
        let reach = self.callees.get(number).ok_or_else(|| {
            let path = self.path;
            Error::msg(format!(
                "`{path}` has no callee {number}; this is a bug, please report it"
            ))
        });
        Ok(reach?())
    }

    /// Runs the compiled form of a function that returns one tensor; `None` where the plain body should run instead.
    // these three are not inlined: what they hide would be built again in every user's function
    #[track_caller]
    #[inline(never)]
    pub fn tensor(&'static self, tensors: &[&Tensor], scalars: &[HostArg]) -> Option<Tensor> {
        match self.results(tensors, scalars)? {
            Ok(mut done) => done.results.pop(),
            Err(e) => e.raise(),
        }
    }

    /// The same for a function that returns one tensor or an error.
    #[inline(never)]
    pub fn try_tensor(&'static self, tensors: &[&Tensor], scalars: &[HostArg]) -> Option<Result<Tensor>> {
        match self.results(tensors, scalars)? {
            Ok(mut done) => done.results.pop().map(Ok),
            Err(e) => Some(Err(e)),
        }
    }

    /// The same for any other results.
    #[inline(never)]
    pub fn call(&'static self, tensors: &[&Tensor], scalars: &[HostArg]) -> Option<Result<Outputs>> {
        let done = match self.results(tensors, scalars)? {
            Ok(done) => done,
            Err(e) => return Some(Err(e)),
        };
        let codes = self.codes.get(done.path).copied().unwrap_or_default();
        Some(Ok(Outputs::new(done.results, codes, done.bound)))
    }

    #[inline]
    fn results(&'static self, tensors: &[&Tensor], scalars: &[HostArg]) -> Option<Result<Done>> {
        match mode::current() {
            Mode::Run => Some(self.run(tensors, scalars)),
            Mode::Record => {
                let call = || self.run(tensors, scalars);
                Some(super::record::noted(self, tensors, scalars, call))
            }
            Mode::Disabled => None,
            Mode::Probe => Some(Ok(Done {
                path: 0,
                bound: None,
                results: self.fabricate(),
            })),
        }
    }

    fn fabricate(&'static self) -> Results {
        mode::record(self);
        let first = self.state().ok().and_then(|s| s.paths.first());
        let n = first.map_or(1, |b| b.module.returned());
        (0..n).map(|_| Tensor::from_slice::<f32>(&[], 0)).collect()
    }

    /// The backend that a call runs on; `None` is the built-in compiler.
    #[inline]
    pub(crate) fn backend(&self) -> Result<Option<&'static Slot>> {
        if self.settings.backend.is_none()
            && self.region_backend.is_none()
            && crate::backend::scope().is_none()
            && registry::default_slot().is_none()
        {
            return Ok(None);
        }
        self.other_backend()
    }

    fn other_backend(&self) -> Result<Option<&'static Slot>> {
        if let Some(own) = self.region_backend {
            let slot = self.named.get(|| registry::slot(own))?;
            return Ok(Some(slot).filter(|s| s.id != 0));
        }
        let slot = match (crate::backend::scope(), self.settings.backend) {
            (Some(slot), _) if slot.is_live() => Some(slot),
            // it was unregistered inside its scope
            (Some(slot), _) => Some(registry::slot(slot.name())?),
            (None, Some(named)) => Some(self.named.get(|| named.slot())?),
            (None, None) => registry::default_slot(),
        };
        Ok(slot.filter(|s| s.id != 0))
    }

    #[inline]
    fn run(&'static self, tensors: &[&Tensor], scalars: &[HostArg]) -> Result<Done> {
        let state = self.state()?;
        self.run_in(state, tensors, scalars)
            .inspect_err(|_| state.errors.add(1))
    }

    fn run_in(&self, state: &'static State, tensors: &[&Tensor], scalars: &[HostArg]) -> Result<Done> {
        let backend = self.backend()?;
        let mut space = SmallVec::new();
        let (scalars, instance) = state.scalars(scalars, &mut space);
        let id = backend.map_or(0, |b| b.id);
        let table = state.table.load();
        let missed;
        let bound = match state.find(&table, tensors, scalars, (id, instance)) {
            Some(bound) => {
                counters::HITS.add(1);
                bound
            }
            None => {
                missed = super::miss::bind(state, backend, instance, tensors, scalars)?;
                &missed
            }
        };
        let results = bound.run(tensors, scalars)?;
        Ok(Done {
            path: bound.path,
            bound: bound.tells_results_apart().then(|| bound.clone()),
            results,
        })
    }

    /// The guard check and plan look-up of a call, without running it.
    #[doc(hidden)]
    pub fn look_up(&'static self, tensors: &[&Tensor], scalars: &[HostArg]) -> bool {
        let found = || {
            let state = self.state().ok()?;
            let id = self.backend().ok()?.map_or(0, |b| b.id);
            let mut space = SmallVec::new();
            let (scalars, instance) = state.scalars(scalars, &mut space);
            let table = state.table.load();
            state
                .find(&table, tensors, scalars, (id, instance))
                .map(|_| counters::HITS.add(1))
        };
        found().is_some()
    }

    /// What the attribute asks of a backend.
    pub(crate) fn compile_options(&self) -> CompileOptions {
        self.settings.options(self.settings.dynamic == Some(true))
    }

    /// Forgets all plans and entries.
    fn clear(&self) {
        if let Some(Ok(state)) = self.state.get() {
            state.clear();
        }
    }

    /// Forgets those of a backend.
    fn forget(&self, backend: u64) {
        if let Some(Ok(state)) = self.state.get() {
            state.forget(backend);
        }
    }
}

/// The backends of a region, for what runs forward and for its gradient.
#[derive(Clone, Copy, Debug, Default)]
pub struct NestedCompileRegionOptions {
    /// The backend that compiles the region, by name; `None` leaves it to the caller's.
    pub fw_compiler: Option<&'static str>,
    /// The same for its gradient, which is not available yet: a region that names one does not compile.
    pub bw_compiler: Option<&'static str>,
}
