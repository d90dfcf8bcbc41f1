//! A miss: a call that no plan fits is bound, and its plan published.

use super::foreign;
use super::function::lock;
use super::guard::GuardChain;
use super::key::Key;
use super::pattern::pattern;
use super::reason::{self, Recompile};
use super::table::{Bound, BoundBlob, Entries, EntryKey, EntryState, Exec, State, Table, made as made_at};
use super::tally::Tally;
use crate::backend::registry::{self, STAX, Slot};
use crate::backend::{Codegen, CompileOptions};
use crate::config::{self, Config};
use crate::device::same_device;
use crate::dispatch::counters;
use crate::ladder::{self, Rung};
use crate::plan::bind::{How, Kept, Kernels, Meta, bind_kept, rebind};
use crate::plan::link::{LinkedBlob, Locations, Strips, link};
use crate::plan::{Plan, StepCounts};
use crate::reentry::{Inside, is_inside};
use crate::{Error, Result, Tensor};
use smallvec::SmallVec;
use std::mem::discriminant;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use tensorplay_graph::{GraphModule, Host};

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

/// How the groups of a function are bound.
pub(crate) fn how(options: &CompileOptions, function: &str) -> Result<How> {
    let on = options.resolved()?;
    let is = |name: &str| on.get(name).copied().unwrap_or(false);
    for name in ["cudagraphs", "max_autotune", "coordinate_descent_tuning"] {
        if is(name) {
            ladder::tell(Rung::Kernels, false, || {
                format!("`{function}`: skipping {name} due to cpu device")
            });
        }
    }
    let emulate = is("emulate_precision_casts");
    let kernels = match kernels()? {
        Kernels::Any if !is("native") => Kernels::Tile,
        forced => forced,
    };
    Ok(How {
        kernels,
        fused: if is("fusion") && !emulate { u32::MAX } else { 0 },
        rounds_each: emulate,
    })
}

/// What a call was bound to.
pub(super) struct Made {
    pub path: usize,
    pub exec: Exec,
    pub linked: LinkedBlob<'static>,
    pub locations: Locations<'static>,
    pub lengths: Vec<u32>,
    pub counts: StepCounts,
    pub codegen: Codegen,
}

/// Links and binds a call for the built-in compiler.
pub(super) fn native(state: &'static State, metas: &[Meta], scalars: &[Host], key: &Key) -> Result<Made> {
    let options = state.function.settings.options(false);
    let how = how(&options, state.function.path())?;
    let made = match state.other_layout(metas, scalars, key, how)? {
        Some(made) => made,
        None => state.anew(metas, scalars, key, how)?,
    };
    if let (true, Codegen::TileVm, Exec::Plan(plan)) = (options.strict_native, made.codegen, &made.exec) {
        return Err(not_native(state, plan));
    }
    Ok(made)
}

/// Plans that are kept for other layouts of their sizes; the oldest goes first.
const KEPT: usize = 4;

/// What a plan leaves to those of other layouts.
#[derive(Debug)]
pub(super) struct Bindings {
    key: Key,
    scalars: SmallVec<[Host; 4]>,
    path: usize,
    linked: LinkedBlob<'static>,
    locations: Locations<'static>,
    strips: Strips,
    lengths: Vec<u32>,
    kept: Kept,
}

impl State {
    /// Binds a call whose sizes were bound before with other strides.
    fn other_layout(&self, metas: &[Meta], scalars: &[Host], key: &Key, how: How) -> Result<Option<Made>> {
        let bindings = lock(&self.kept);
        let types = |b: &Bindings| {
            b.scalars
                .iter()
                .map(discriminant)
                .eq(scalars.iter().map(discriminant))
        };
        let fits = |b: &&Bindings| b.kept.how() == how && types(b) && key.is_layout_of(&b.key);
        let Some(b) = bindings.iter().find(fits) else {
            return Ok(None);
        };
        let plan = rebind(&b.kept, &b.linked, &b.strips, metas)
            .map_err(|e| e.located(|at| b.locations.place(at)))?;
        Ok(plan.map(|plan| b.made(plan)))
    }

    /// Links and binds a call from the start.
    fn anew(&'static self, metas: &[Meta], scalars: &[Host], key: &Key, how: How) -> Result<Made> {
        let linked = link(self, metas, scalars, STAX)?;
        let bound = bind_kept(
            &linked.blob,
            &linked.strips,
            metas,
            &key.scalars,
            Some(scalars),
            how,
        );
        let (plan, kept) = bound.map_err(|e| e.located(|at| linked.locations.place(at)))?;
        for entry in &linked.entries {
            entry.callable.note_entry(entry.path, &entry.pattern);
        }
        ladder::tell(Rung::Graphs, false, || {
            let graph = self.paths[linked.path].source().map(|m| m.to_string());
            format!("`{}`:\n{}", self.function.path(), graph.unwrap_or_default())
        });
        let c = plan.counts;
        ladder::tell(Rung::Kernels, false, || {
            format!(
                "`{}`: {} emitted kernels, {} on the tile VM, {} products, {} copies, {} other operations",
                self.function.path(),
                c.emitted,
                c.tile,
                c.contractions,
                c.copies,
                c.ops
            )
        });
        counters::FALLBACKS.add(plan.fallbacks.len() as u64);
        for f in &plan.fallbacks {
            ladder::tell(Rung::Kernels, false, || {
                format!(
                    "`{}`: group `{}` falls back: {}",
                    self.function.path(),
                    f.group,
                    f.reason
                )
            });
        }
        let bindings = Bindings {
            key: key.clone(),
            scalars: scalars.into(),
            path: linked.path,
            linked: linked.blob,
            locations: linked.locations,
            strips: linked.strips,
            lengths: linked.lengths,
            kept,
        };
        let made = bindings.made(plan);
        let mut all = lock(&self.kept);
        if all.len() >= KEPT {
            all.remove(0);
        }
        all.push(bindings);
        Ok(made)
    }
}

impl Bindings {
    fn made(&self, plan: Plan) -> Made {
        Made {
            path: self.path,
            linked: self.linked.clone(),
            locations: self.locations.clone(),
            lengths: self.lengths.clone(),
            counts: plan.counts,
            codegen: match plan.counts.tile + plan.counts.splits {
                0 => Codegen::StaxNative,
                _ => Codegen::TileVm,
            },
            exec: Exec::Plan(plan),
        }
    }
}

fn not_native(state: &State, plan: &Plan) -> Error {
    let reason = match plan.fallbacks.first() {
        Some(f) => format!("group {f}"),
        None => "TENSORPLAY_KERNELS or options(native = false) keeps it on the tile VM".into(),
    };
    Error::NotNative {
        function: state.function.path().into(),
        reason,
    }
}

/// Finds the plan of a call that missed, or makes it.
#[cold]
pub(super) fn bind(
    state: &'static State,
    backend: Option<&'static Slot>,
    instance: u64,
    tensors: &[&Tensor],
    scalars: &[Host],
) -> Result<Arc<Bound>> {
    let of = (backend.map_or(0, |b| b.id), instance);
    // code of a backend may call the function again: it runs outside the lock
    let compiled = match backend {
        Some(slot) => Some(foreign::prepare(state, slot, tensors, scalars, of)?),
        None => None,
    };
    // what runs under the lock, such as a `reuse_hash_fn`, would wait for it
    if is_inside(state) {
        let function = state.function.path();
        let e = Error::msg(format!("`{function}` is called while a call of it is bound"));
        return Err(e.with_help("a `reuse_hash_fn` must not call the function that it is asked for"));
    }
    let _binding = Inside::of(state);
    // declared first, dropped when no lock is held
    let _old;
    let mut entries = lock(&state.entries);
    let table = state.table.load();
    if let Some(bound) = state.find(&table, tensors, scalars, of) {
        counters::HITS.add(1);
        return Ok(bound.clone());
    }
    counters::MISSES.add(1);
    let bound;
    (bound, _old) = publish(state, &mut entries, backend, compiled, tensors, scalars, of)?;
    Ok(bound)
}

fn publish(
    state: &'static State,
    entries: &mut Entries,
    backend: Option<&'static Slot>,
    compiled: Option<Made>,
    tensors: &[&Tensor],
    scalars: &[Host],
    of: (u64, u64),
) -> Result<(Arc<Bound>, Arc<Table>)> {
    let config = config::checked()?;
    ladder::check()?;
    let settings = &state.function.settings;
    let dynamic = settings.is_dynamic(&config);
    let key = Key::of(tensors, scalars, &state.key_params, of);
    let made = match compiled {
        Some(made) => made,
        None => {
            same_device("call", tensors)?;
            let metas: SmallVec<[Meta; 6]> = tensors.iter().map(|t| Meta::of(t)).collect();
            native(state, &metas, scalars, &key)?
        }
    };
    let pattern = pattern(&made.linked.module, &key, dynamic);
    let entry = EntryKey {
        path: made.path,
        pattern: &pattern,
        backend: backend.map_or((0, STAX), |b| (b.id, b.name())),
        instance: of.1,
    };
    let mut evicted = entries.drop_backends(&registry::gone(&entries.backends()));
    evicted.extend(make_room(state, entries, &entry, &config)?);
    if entries.find(&entry).is_none() {
        tell(state, entries, &made.linked.module, &key, &entry, &config);
    }
    counters::BINDS.add(1);
    state.binds.add(1);
    let epoch = state.epoch.fetch_add(1, Relaxed) + 1;
    let entry = entries.enter(&entry, made.codegen, epoch);
    let blob = match made.linked {
        LinkedBlob::Spliced(b) if b.module.updates.len() + b.module.writes.len() > 0 => BoundBlob::Linked(b),
        _ => BoundBlob::Own(&state.paths[made.path]),
    };
    let bound = Arc::new(Bound {
        key,
        path: made.path,
        exec: made.exec,
        blob,
        locations: made.locations,
        lengths: made.lengths,
        entry,
        tally: Tally::new(made.path, made.counts),
        seen: AtomicU64::new(made_at(epoch)),
    });
    let old = state.put(bound.clone(), &evicted);
    Ok((bound, old))
}

/// Whether the limits allow an entry.
pub(super) fn check_limits(
    state: &State,
    entries: &Entries,
    new: &EntryKey<'_>,
    config: &Config,
) -> Result<()> {
    if entries.find(new).is_some() {
        return Ok(());
    }
    let settings = &state.function.settings;
    let refused = |limit: usize| {
        Err(Error::RecompileLimit {
            function: state.function.path().into(),
            limit,
        })
    };
    let all = config.accumulated_recompile_limit;
    if config.fail_on_recompile_limit_hit && entries.made >= all.max(1) {
        return refused(all);
    }
    let limit = settings.limit(config);
    let fails = config.fail_on_recompile_limit_hit || settings.fails_at_limit;
    let gone = registry::gone(&entries.backends());
    let stay = |e: &&EntryState| !gone.contains(&e.backend.0);
    if fails && entries.of(new.instance).filter(stay).count() >= limit {
        return refused(limit);
    }
    Ok(())
}

/// Entries of all instances of a function with `isolate_recompiles`: nothing tells which of them are gone.
const OF_ALL_INSTANCES: usize = 256;

/// Sees to it that an entry fits the limits; the entries that go for it.
fn make_room(state: &State, entries: &mut Entries, new: &EntryKey<'_>, config: &Config) -> Result<Vec<u64>> {
    check_limits(state, entries, new, config)?;
    let mut evicted = Vec::new();
    if entries.find(new).is_some() {
        return Ok(evicted);
    }
    if entries.made >= config.accumulated_recompile_limit.max(1) && !entries.told {
        entries.told = true;
        log::warn!(
            "`{}` has had {} entries: mark the dimension that changes as dynamic, or name it in a spec",
            state.function.path(),
            entries.made
        );
    }
    let limit = state.function.settings.limit(config);
    let table = state.table.load();
    loop {
        let among = match entries.of(new.instance).count() >= limit {
            true => Some(new.instance),
            false if entries.live.len() >= OF_ALL_INSTANCES.max(limit) => None,
            false => return Ok(evicted),
        };
        let Some(id) = entries.coldest(among, &table) else {
            return Ok(evicted);
        };
        entries.drop_entry(id);
        evicted.push(id);
    }
}

/// Tells of an entry that is new, and why it is needed.
fn tell(
    state: &State,
    entries: &mut Entries,
    module: &GraphModule,
    key: &Key,
    new: &EntryKey<'_>,
    config: &Config,
) {
    let function = state.function.path();
    let guards = |path: usize| state.guards(path);
    ladder::tell(Rung::Guards, false, || {
        let source = guards(new.path).source();
        let and = if source.is_empty() {
            String::new()
        } else {
            format!(", where {source}")
        };
        format!("`{function}`: an entry for {}{and}", new.pattern)
    });
    let table = state.table.load();
    let Some(reasons) = reason::reasons(module, key, new.path, &table, guards) else {
        return;
    };
    let recompile = Recompile {
        function: function.into(),
        reasons,
    };
    ladder::tell(Rung::Recompiles, config.verbose, || recompile.to_string());
    if entries.recompiles.len() >= reason::KEPT {
        entries.recompiles.remove(0);
    }
    entries.recompiles.push(recompile);
}

impl State {
    /// The guards of a path.
    pub(super) fn guards(&self, path: usize) -> GuardChain {
        match self.paths.get(path).map(|b| b.source()) {
            Some(Ok(source)) => GuardChain::of(&source, &self.key_params),
            _ => GuardChain::default(),
        }
    }
}

/// Notes that a plan of a caller holds a path of this function. Such entries have no plans of their own.
pub(super) fn note_callee(state: &State, path: usize, pattern: &str) {
    let mut entries = lock(&state.entries);
    let key = EntryKey {
        path,
        pattern,
        backend: (0, STAX),
        instance: 0,
    };
    let limit = state.function.settings.limit(&config::config());
    if entries.find(&key).is_none() && entries.of(0).count() >= limit {
        let table = state.table.load();
        if let Some(id) = entries.coldest_without_plans(&table) {
            entries.drop_entry(id);
        }
    }
    let epoch = state.epoch.fetch_add(1, Relaxed) + 1;
    entries.enter(&key, Codegen::StaxNative, epoch);
}
