//! A miss: a call that no plan fits is bound, and its plan published.
//!
//! Problem: binding runs a user's code (a backend, a `reuse_hash_fn`, a logger), which may call the function again, while
//! other threads bind the same call. Method: a plan is made without the lock of the entries, and published under it unless
//! another thread was faster; what is told is told afterwards.
//! Invariant: of threads that miss at once, all run the plan that was published first.

use super::bound::{Bound, BoundBlob};
use super::entries::{EntryKey, made as made_at};
use super::guard::GuardChain;
use super::limits::{make_room, too_many};
use super::native::{self, Fresh, Made};
use super::reason::{self, Recompile};
use super::state::State;
use super::table::Table;
use super::tally::Tally;
use super::{counters, foreign};
use crate::backend::Codegen;
use crate::backend::registry::{self, STAX, Slot};
use crate::config::{self, Config};
use crate::ladder::{self, Rung};
use crate::plan::Plan;
use crate::plan::link::LinkedBlob;
use crate::sync::lock;
use crate::{Result, Tensor};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tensorplay_graph::Host;

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
    let made = config::checked().and_then(|config| {
        ladder::check()?;
        let made = match backend {
            Some(slot) => foreign::prepare(state, slot, tensors, scalars, of, &config)?,
            None => {
                let dynamic = state.function.settings.is_dynamic(&config);
                native::prepare(state, tensors, scalars, of, dynamic)?
            }
        };
        Ok((made, config))
    });
    let (mut made, config) = made.inspect_err(|_| counters::MISSES.add(1))?;
    let fresh = made.fresh.take();
    let told = Told {
        linked: made.linked.clone(),
        pattern: made.pattern.clone(),
        fresh,
    };
    match publish(state, backend, made, &config, tensors, scalars)? {
        Published::Before(bound) => Ok(bound),
        Published::Now { bound, old, entry } => {
            told.tell(state, &bound, entry.map(|many| (&*old, many)), &config);
            Ok(bound)
        }
    }
}

/// Which plan a call runs.
enum Published {
    /// Another thread's.
    Before(Arc<Bound>),
    Now {
        bound: Arc<Bound>,
        /// The table that was replaced. It is dropped when no lock is held: what a backend made may call the function again.
        old: Arc<Table>,
        /// If the entry is new: how many there were, if they are many.
        entry: Option<Option<usize>>,
    },
}

fn publish(
    state: &'static State,
    backend: Option<&'static Slot>,
    made: Made,
    config: &Config,
    tensors: &[&Tensor],
    scalars: &[Host],
) -> Result<Published> {
    let of = made.key.of;
    let mut entries = lock(&state.entries);
    if let Some(bound) = state.find(&state.table.load(), tensors, scalars, of) {
        counters::HITS.add(1);
        return Ok(Published::Before(bound.clone()));
    }
    counters::MISSES.add(1);
    let entry = EntryKey {
        path: made.path,
        pattern: &made.pattern,
        backend: backend.map_or((0, STAX), |b| (b.id, b.name())),
        instance: of.1,
    };
    let gone = registry::gone(&entries.backends());
    let mut evicted = entries.drop_backends(&gone);
    evicted.extend(make_room(state, &mut entries, &entry, config)?);
    let is_new = entries.find(&entry).is_none();
    counters::BINDS.add(1);
    state.binds.add(1);
    let epoch = state.epoch.fetch_add(1, Relaxed) + 1;
    let entry = entries.enter(&entry, made.codegen, epoch);
    let many = too_many(&mut entries, config);
    let blob = match made.linked {
        LinkedBlob::Spliced(b) if b.module.updates.len() + b.module.writes.len() > 0 => BoundBlob::Linked(b),
        _ => BoundBlob::Own(&state.paths[made.path]),
    };
    let bound = Arc::new(Bound {
        key: made.key,
        path: made.path,
        exec: made.exec,
        blob,
        locations: made.locations,
        lengths: made.lengths,
        entry,
        tally: Tally::new(made.path, made.counts),
        seen: AtomicU64::new(made_at(epoch)),
    });
    Ok(Published::Now {
        old: state.put(bound.clone(), &evicted),
        bound,
        entry: is_new.then_some(many),
    })
}

/// What a bind tells of when its plan is published.
struct Told {
    linked: LinkedBlob<'static>,
    pattern: String,
    fresh: Option<Fresh>,
}

impl Told {
    /// `entry`: the table before, and how many entries there are if they are many, where this one is new.
    fn tell(
        self,
        state: &'static State,
        bound: &Bound,
        entry: Option<(&Table, Option<usize>)>,
        config: &Config,
    ) {
        if let (Some(fresh), Some(plan)) = (self.fresh, bound.plan()) {
            for callee in &fresh.callees {
                callee.callable.note_entry(callee.path, &callee.pattern);
            }
            fresh.bindings.keep(state);
            plan_made(state, bound.path, plan);
        }
        let Some((table, many)) = entry else { return };
        let function = state.function.path();
        if let Some(n) = many {
            crate::ladder::warn(format!(
                "`{function}` has had {n} entries: mark the dimension that changes as dynamic, or name it in a spec"
            ));
        }
        let guards = |path: usize| state.guards(path);
        ladder::tell(Rung::Guards, false, || {
            let source = guards(bound.path).source();
            let and = if source.is_empty() {
                String::new()
            } else {
                format!(", where {source}")
            };
            format!("`{function}`: an entry for {}{and}", self.pattern)
        });
        let at = (bound.path, state.function.settings.is_dynamic(config));
        let Some(reasons) = reason::reasons(&self.linked.module, &bound.key, at, table, guards) else {
            return;
        };
        let recompile = Recompile {
            function: function.into(),
            reasons,
        };
        ladder::tell(Rung::Recompiles, config.verbose, || recompile.to_string());
        lock(&state.entries).note(recompile);
    }
}

/// Tells of a plan of the built-in compiler.
fn plan_made(state: &State, path: usize, plan: &Plan) {
    let function = state.function.path();
    ladder::tell(Rung::Graphs, false, || {
        let graph = state.paths[path].source().map(|m| m.to_string());
        format!("`{function}`:\n{}", graph.unwrap_or_default())
    });
    let c = plan.counts;
    ladder::tell(Rung::Kernels, false, || {
        format!(
            "`{function}`: {} emitted kernels, {} on the tile VM, {} products, {} copies, {} other operations",
            c.emitted, c.tile, c.contractions, c.copies, c.ops
        )
    });
    counters::FALLBACKS.add(plan.fallbacks.len() as u64);
    for f in &plan.fallbacks {
        ladder::tell(Rung::Kernels, false, || {
            format!("`{function}`: group `{}` falls back: {}", f.group, f.reason)
        });
    }
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
