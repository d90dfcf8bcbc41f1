//! The table of a compiled function: what it holds, how a call finds its plan, what goes when it is full.
//!
//! Problem: many threads look up at once, and one of them may bind at any time. Method: the table is an immutable list;
//! who changes it does so under the lock of the entries and publishes another list.
//! Invariants: a look-up writes nothing but counters of its own thread, and a plan's mark of last use when that is out of
//! date; plans that run when they are dropped are freed after the last call of them ends.

use super::foreign::Foreign;
use super::function::{Function, HostArg, lock};
use super::key::{Key, print_of};
use super::published::Published;
use super::reason::Recompile;
use super::shards::Sharded;
use super::source::Compiled;
use super::tally::{Retired, Tally, Totals};
use crate::backend::Codegen;
use crate::dispatch::counters;
use crate::kernels::strip::Strip;
use crate::plan::bind::key_params;
use crate::plan::link::{Callable, Declared, Locations};
use crate::plan::{Plan, Results};
use crate::{Error, Result, Tensor, is_grad_enabled};
use smallvec::SmallVec;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use tensorplay_graph::{GraphModule, Host, Write};
use tensorplay_stax::blob::{Blob, Paths};

/// The mark of what was bound at an epoch.
pub(super) fn made(epoch: u64) -> u64 {
    2 * epoch
}

/// The mark of what was used after the bind of an epoch.
fn used(epoch: u64) -> u64 {
    2 * epoch + 1
}

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
    pub kept: Mutex<Vec<super::miss::Bindings>>,
    /// The function as it was written, for other backends.
    pub source: OnceLock<std::result::Result<super::source::Source, String>>,
}

/// The plans, the newest first, and where to find them by the prints of their keys.
#[derive(Debug, Default)]
pub(super) struct Table {
    plans: Vec<Arc<Bound>>,
    /// An open table of at least twice as many slots, so that some are vacant.
    slots: Box<[Slot]>,
    shift: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    print: u64,
    plan: u32,
}

const VACANT: Slot = Slot {
    print: 0,
    plan: u32::MAX,
};

impl Table {
    fn of(plans: Vec<Arc<Bound>>) -> Table {
        let bits = (2 * plans.len()).max(2).next_power_of_two().ilog2();
        let mut table = Table {
            slots: vec![VACANT; 1 << bits].into(),
            shift: u64::BITS - bits,
            plans,
        };
        for (plan, bound) in (0..).zip(&table.plans) {
            let print = bound.key.print;
            let mut at = table.start(print);
            while table.slots[at].plan != VACANT.plan {
                at = (at + 1) % table.slots.len();
            }
            table.slots[at] = Slot { print, plan };
        }
        table
    }

    /// Whether it holds what another backend made.
    pub(super) fn is_of_backends(&self) -> bool {
        self.plans.iter().any(|b| matches!(b.exec, Exec::Foreign(_)))
    }

    #[inline(always)]
    fn start(&self, print: u64) -> usize {
        (print.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// The first plan of a print that fits.
    #[inline(always)]
    fn find(&self, print: u64, fits: impl Fn(&Key) -> bool) -> Option<&Arc<Bound>> {
        let mut at = self.start(print);
        loop {
            let slot = self.slots.get(at)?;
            if slot.print == print
                && let Some(bound) = self.plans.get(slot.plan as usize)
                && fits(&bound.key)
            {
                return Some(bound);
            }
            if slot.plan == VACANT.plan {
                return None;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}

impl Deref for Table {
    type Target = [Arc<Bound>];
    fn deref(&self) -> &[Arc<Bound>] {
        &self.plans
    }
}

#[derive(Debug, Default)]
pub(super) struct Entries {
    pub live: Vec<EntryState>,
    /// The number of the next entry.
    next: u64,
    /// Entries since the start or the last reset.
    pub made: usize,
    /// Whether it was told that they are many.
    pub told: bool,
    pub recompiles: Vec<Recompile>,
}

#[derive(Clone, Debug)]
pub(super) struct EntryState {
    /// Never used again.
    pub id: u64,
    pub path: usize,
    pub pattern: String,
    /// The backend's number and name.
    pub backend: (u64, &'static str),
    pub instance: u64,
    pub codegen: Codegen,
    pub binds: u64,
    /// The mark of its last bind.
    stamp: u64,
}

/// What an entry stands for.
pub(super) struct EntryKey<'a> {
    pub path: usize,
    pub pattern: &'a str,
    pub backend: (u64, &'static str),
    pub instance: u64,
}

impl EntryState {
    fn is(&self, key: &EntryKey<'_>) -> bool {
        self.path == key.path
            && self.backend.0 == key.backend.0
            && self.instance == key.instance
            && self.pattern == key.pattern
    }
}

impl Entries {
    /// The entry, if it is there.
    pub(super) fn find(&self, key: &EntryKey<'_>) -> Option<&EntryState> {
        self.live.iter().find(|e| e.is(key))
    }

    /// The entries that count against the limit of a new one.
    pub(super) fn of(&self, instance: u64) -> impl Iterator<Item = &EntryState> {
        self.live.iter().filter(move |e| e.instance == instance)
    }

    /// The entry, made if it is not there, with one bind more.
    pub(super) fn enter(&mut self, key: &EntryKey<'_>, codegen: Codegen, epoch: u64) -> u64 {
        let at = self.live.iter().position(|e| e.is(key)).unwrap_or_else(|| {
            self.next += 1;
            self.made += 1;
            self.live.push(EntryState {
                id: self.next,
                path: key.path,
                pattern: key.pattern.to_string(),
                backend: key.backend,
                instance: key.instance,
                codegen,
                binds: 0,
                stamp: made(epoch),
            });
            self.live.len() - 1
        });
        let entry = &mut self.live[at];
        // some plans of an entry may be better off than others: it is what the worst of them is
        if !codegen.is_native() {
            entry.codegen = codegen;
        }
        entry.binds += 1;
        entry.stamp = made(epoch);
        entry.id
    }

    /// The entry which was used least lately, of that instance or of all.
    pub(super) fn coldest(&self, instance: Option<u64>, table: &[Arc<Bound>]) -> Option<u64> {
        let used = |e: &EntryState| {
            let plans = table.iter().filter(|b| b.entry == e.id);
            plans.map(|b| b.seen.load(Relaxed)).fold(e.stamp, u64::max)
        };
        let of = |e: &&EntryState| instance.is_none_or(|i| e.instance == i);
        self.live
            .iter()
            .filter(of)
            .min_by_key(|e| (used(e), e.id))
            .map(|e| e.id)
    }

    /// The oldest entry that only plans of callers hold.
    pub(super) fn coldest_without_plans(&self, table: &[Arc<Bound>]) -> Option<u64> {
        let without = |e: &&EntryState| !table.iter().any(|b| b.entry == e.id);
        self.live
            .iter()
            .filter(without)
            .min_by_key(|e| (e.stamp, e.id))
            .map(|e| e.id)
    }

    /// The numbers of other backends.
    pub(super) fn backends(&self) -> Vec<u64> {
        self.live
            .iter()
            .map(|e| e.backend.0)
            .filter(|id| *id != 0)
            .collect()
    }

    /// Drops the entries of backends; which ones.
    pub(super) fn drop_backends(&mut self, backends: &[u64]) -> Vec<u64> {
        let of = self.live.iter().filter(|e| backends.contains(&e.backend.0));
        let dropped = of.map(|e| e.id).collect();
        self.live.retain(|e| !backends.contains(&e.backend.0));
        dropped
    }

    pub(super) fn drop_entry(&mut self, id: u64) {
        self.live.retain(|e| e.id != id);
    }
}

/// What a call of an entry runs.
#[derive(Debug)]
pub(super) enum Exec {
    Plan(Plan),
    Foreign(Foreign),
}

/// A plan in the table.
#[derive(Debug)]
pub(super) struct Bound {
    pub key: Key,
    pub path: usize,
    pub exec: Exec,
    /// The path, with its callees in it if it gives variables or `&mut` parameters new values.
    pub blob: BoundBlob,
    /// Those of the graph that was bound.
    pub locations: Locations<'static>,
    /// How many tensors each result of the path is, if some are lists.
    pub lengths: Vec<u32>,
    pub entry: u64,
    pub tally: Arc<Tally>,
    /// The mark of its last use.
    pub seen: AtomicU64,
}

#[derive(Debug)]
pub(super) enum BoundBlob {
    Own(&'static Blob),
    Linked(Arc<Blob>),
}

impl Bound {
    fn module(&self) -> &GraphModule {
        match (&self.exec, &self.blob) {
            (Exec::Foreign(f), _) => f.module(),
            (_, BoundBlob::Own(blob)) => &blob.module,
            (_, BoundBlob::Linked(blob)) => &blob.module,
        }
    }

    /// The plan, if the built-in compiler made it.
    pub(super) fn plan(&self) -> Option<&Plan> {
        match &self.exec {
            Exec::Plan(plan) => Some(plan),
            Exec::Foreign(_) => None,
        }
    }

    /// The places that it leaves new values in, in the order of the inputs.
    pub fn writes(&self) -> &[Write] {
        &self.module().writes
    }

    /// Whether one must know what ran to tell its results apart.
    pub(super) fn tells_results_apart(&self) -> bool {
        !self.lengths.is_empty() || !self.writes().is_empty()
    }

    #[inline]
    pub(super) fn run(&self, tensors: &[&Tensor], scalars: &[Host]) -> Result<Results> {
        self.tally.runs.add(1);
        let plan = match &self.exec {
            Exec::Plan(plan) => plan,
            Exec::Foreign(foreign) => return foreign.run(tensors, scalars),
        };
        let c = &plan.counts;
        counters::EMITTED.add(c.emitted);
        if c.tile > 0 {
            counters::TILE.add(c.tile);
        }
        let module = self.module();
        if !plan.reuses.is_empty() {
            // SAFETY: a path assigns nothing but `&mut` parameters of the function that calls this.
            unsafe { plan.run_lent(tensors, scalars) }
        } else if module.updates.is_empty() {
            plan.run(tensors, scalars)
        } else {
            check_variables(module, tensors)?;
            plan.run(tensors, scalars)
                .and_then(|results| publish(module, tensors, results))
        }
        .map_err(|e| self.located(e))
    }

    #[cold]
    fn located(&self, e: Error) -> Error {
        e.located(|at| self.locations.place(at))
    }
}

/// Whether the inputs that get new values can be given them.
fn check_variables(module: &GraphModule, tensors: &[&Tensor]) -> Result<()> {
    module.updates.iter().try_for_each(|&i| {
        let name = &module.graph.node(module.graph.inputs[i as usize]).name;
        check_variable(name, tensors[i as usize])
    })
}

pub(super) fn check_variable(name: &str, t: &Tensor) -> Result<()> {
    if t.is_variable() {
        return Ok(());
    }
    let message = format!("`{name}` is not a variable, so it cannot be updated");
    Err(Error::value("call", message).with_help("make it one with variable()"))
}

/// Gives variables their new values, which stand behind what is returned; what is left is the function's own.
#[cold]
fn publish(module: &GraphModule, tensors: &[&Tensor], mut results: Results) -> Result<Results> {
    let returned = module.returned();
    for (&i, new) in module.updates.iter().zip(&results[returned..]) {
        tensors[i as usize].try_assign(new)?;
    }
    results.drain(returned..returned + module.updates.len());
    Ok(results)
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
        let bound = table.find(print_of(tensors, of), |key| key.fits(tensors, scalars, grad, of))?;
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
        let next = entries.next;
        *entries = Entries {
            next,
            ..Entries::default()
        };
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
