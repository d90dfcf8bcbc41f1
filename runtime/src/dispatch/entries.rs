//! The entries of a compiled function: which kinds of calls were bound, and when each was used last.

use super::bound::Bound;
use super::reason::{self, Recompile};
use crate::backend::Codegen;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The mark of what was bound at an epoch.
pub(super) fn made(epoch: u64) -> u64 {
    2 * epoch
}

/// The mark of what was used after the bind of an epoch.
pub(super) fn used(epoch: u64) -> u64 {
    2 * epoch + 1
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

    /// Forgets all of them; numbers go on.
    pub(super) fn clear(&mut self) {
        *self = Entries {
            next: self.next,
            ..Entries::default()
        };
    }

    /// Keeps the reasons of a recompilation; the oldest go first.
    pub(super) fn note(&mut self, recompile: Recompile) {
        if self.recompiles.len() >= reason::KEPT {
            self.recompiles.remove(0);
        }
        self.recompiles.push(recompile);
    }
}
