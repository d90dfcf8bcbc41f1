//! The state of a compiled function that was reached: its paths, its table, its entries.
//!
//! Problem: many threads look up at once, and one of them may bind at any time. Method: who changes the table does so under
//! the lock of the entries and publishes another one.
//! Invariants: a look-up writes nothing but counters of its own thread, and a plan's mark of last use when that is out of
//! date; plans that run when they are dropped are freed after the last call of them ends.

use super::bound::Bound;
use super::counters;
use super::entries::{Entries, used};
use super::function::{Function, HostArg};
use super::key::fingerprint;
use super::published::Published;
use super::shards::Sharded;
use super::source::Compiled;
use super::table::Table;
use super::tally::{Retired, Totals};
use crate::kernels::strip::Strip;
use crate::plan::bind::key_params;
use crate::plan::link::{Callable, Declared};
use crate::sync::lock;
use crate::{Result, Tensor, is_grad_enabled};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use tensorplay_graph::{GraphModule, Host};
use tensorplay_stax::blob::{Blob, Paths};

/// Plans kept by an entry; the least recently used goes first.
const PLANS_PER_ENTRY: usize = 16;

#[derive(Debug)]
pub(super) struct State {
    pub function: &'static Function,
    /// The paths in source order.
    pub paths: Vec<Blob>,
    pub key_params: Vec<bool>,
    pub declared: Declared,
    pub table: Published,
    pub entries: Mutex<Entries>,
    /// Grows with every bind; a plan remembers the last one after which it ran.
    pub epoch: AtomicU64,
    pub errors: Sharded,
    pub binds: Sharded,
    /// What plans that were dropped had done.
    pub retired: Mutex<Retired>,
    /// What the last plans leave to those of other layouts.
    pub kept: Mutex<Vec<super::native::Bindings>>,
    /// The function as it was written, for other backends.
    pub source: OnceLock<std::result::Result<super::source::Source, String>>,
}

impl State {
    pub(super) fn of(function: &'static Function) -> std::result::Result<State, String> {
        let Paths(paths) = Paths::decode(function.blob).map_err(|e| e.to_string())?;
        for (lowered, first) in paths.iter().flat_map(Blob::kernels) {
            for (k, map) in lowered.kernel.maps().enumerate() {
                let strip = function.strips.get(*first as usize + k);
                if !strip.is_some_and(|s| s.fits(&map.program)) {
                    return Err(format!(
                        "program `{}` has no strip that fits it",
                        map.program.name
                    ));
                }
            }
        }
        let consts = function.consts.map_or_else(Vec::new, |read| read());
        Ok(State {
            function,
            key_params: key_params(&paths),
            paths,
            declared: Declared {
                name: function.path(),
                consts: consts.iter().map(|a| a.0).collect(),
                reuse_limit: function.reuse_limit,
                reuse_hash: function.reuse_hash,
                backend: function.region_backend,
            },
            table: Published::new(Table::default()),
            entries: Mutex::default(),
            epoch: AtomicU64::new(0),
            errors: Sharded::new(),
            binds: Sharded::new(),
            retired: Mutex::default(),
            kept: Mutex::default(),
            source: OnceLock::new(),
        })
    }

    /// The numbers of a call (parameters, consts, parts of aggregates), in `space` if they do not lie together, and its
    /// instance.
    #[inline(always)]
    pub(super) fn scalars<'a>(
        &self,
        given: &'a [HostArg],
        space: &'a mut SmallVec<[Host; 4]>,
    ) -> (&'a [Host], u64) {
        let (given, instance) = match (self.function.settings.isolated, given.split_last()) {
            (true, Some((last, rest))) => (rest, last.0.as_int().unwrap_or(0) as u64),
            _ => (given, 0),
        };
        let given = HostArg::values(given);
        let consts = &self.declared.consts;
        if consts.is_empty() {
            return (given, instance);
        }
        let params = self.key_params.len() - consts.len();
        let (params, parts) = given.split_at(params.min(given.len()));
        for part in [params, consts, parts] {
            space.extend_from_slice(part);
        }
        (space, instance)
    }

    /// The plan of a call on a backend, for an instance.
    #[inline(always)]
    pub(super) fn find<'t>(
        &self,
        table: &'t Table,
        tensors: &[&Tensor],
        scalars: &[Host],
        of: (u64, u64),
    ) -> Option<&'t Arc<Bound>> {
        let grad = is_grad_enabled();
        let bound = table.find(fingerprint(tensors, of), |key| {
            key.fits(tensors, scalars, grad, of)
        })?;
        let now = used(self.epoch.load(Relaxed));
        if bound.seen.load(Relaxed) != now {
            bound.seen.store(now, Relaxed);
        }
        Some(bound)
    }

    /// Publishes a plan. Others of its entry, or other entries, make room for it. The table that was is dropped when no lock
    /// is held: what a backend made may call the function again.
    #[must_use]
    pub(super) fn put(&self, bound: Arc<Bound>, evicted: &[u64]) -> Arc<Table> {
        let old = self.table.load_full();
        let entry = bound.entry;
        let mut plans: Vec<Arc<Bound>> = Vec::with_capacity(old.len() + 1);
        plans.push(bound);
        for plan in old.iter() {
            if evicted.contains(&plan.entry) {
                self.retire(plan);
            } else {
                plans.push(plan.clone());
            }
        }
        if plans.iter().filter(|p| p.entry == entry).count() > PLANS_PER_ENTRY {
            let coldest = plans
                .iter()
                .enumerate()
                .skip(1)
                .filter(|(_, p)| p.entry == entry)
                .min_by_key(|(i, p)| (p.seen.load(Relaxed), std::cmp::Reverse(*i)))
                .map(|(i, _)| i);
            if let Some(i) = coldest {
                let plan = plans.remove(i);
                self.retire(&plan);
            }
        }
        self.table.store(Table::of(plans));
        old
    }

    fn retire(&self, plan: &Bound) {
        counters::EVICTIONS.add(1);
        lock(&self.retired).take(plan.tally.clone());
    }

    /// Forgets all plans and entries.
    pub(super) fn clear(&self) {
        // declared first, dropped when no lock is held
        let (_made, _table);
        let mut entries = lock(&self.entries);
        let mut retired = lock(&self.retired);
        lock(&self.kept).clear();
        _made = self.take_made(|_| true);
        let table = self.table.load_full();
        table.iter().for_each(|b| retired.take(b.tally.clone()));
        self.table.store(Table::default());
        _table = table;
        entries.clear();
    }

    /// Forgets the plans and entries of a backend.
    pub(super) fn forget(&self, backend: u64) {
        let (_made, _table);
        let mut entries = lock(&self.entries);
        _made = self.take_made(|of| of == backend);
        let dropped = entries.drop_backends(&[backend]);
        let table = self.table.load_full();
        let (gone, stay): (Vec<_>, Vec<_>) = table.iter().cloned().partition(|b| dropped.contains(&b.entry));
        if !gone.is_empty() {
            gone.iter().for_each(|b| self.retire(b));
            self.table.store(Table::of(stay));
        }
        _table = (table, gone);
    }

    /// What backends made for the function as it was written.
    fn take_made(&self, of: impl Fn(u64) -> bool) -> Vec<Arc<Compiled>> {
        match self.source.get() {
            Some(Ok(source)) => source.take(of),
            _ => Vec::new(),
        }
    }

    pub(super) fn totals(&self) -> Totals {
        // the table first: a plan that retires meanwhile is then counted once, not missed
        let table = self.table.load_full();
        let retired = lock(&self.retired);
        let mut totals = retired.totals.clone();
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
}

impl Callable for State {
    fn declared(&self) -> &Declared {
        &self.declared
    }
    fn paths(&self) -> &[Blob] {
        &self.paths
    }
    fn strips(&self) -> &'static [Strip] {
        self.function.strips
    }
    fn callee(&self, number: usize) -> Result<&'static dyn Callable> {
        Ok(self.function.callee(number)?.state()?)
    }
    fn note_entry(&self, path: usize, pattern: &str) {
        super::miss::note_callee(self, path, pattern);
    }
    fn as_written(&self) -> Result<&'static dyn Callable> {
        Ok(self.function.state()?.source()?)
    }
    fn run_on_own(&self, graph: &Arc<GraphModule>, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        self.as_written()?.run_on_own(graph, inputs)
    }
}
