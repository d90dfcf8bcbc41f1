//! Limits of entries: whether a function may have another one, and which go for it.

use super::entries::{Entries, EntryKey, EntryState};
use super::state::State;
use crate::backend::registry;
use crate::config::Config;
use crate::{Error, Result};

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
pub(super) fn make_room(
    state: &State,
    entries: &mut Entries,
    new: &EntryKey<'_>,
    config: &Config,
) -> Result<Vec<u64>> {
    check_limits(state, entries, new, config)?;
    let mut evicted = Vec::new();
    if entries.find(new).is_some() {
        return Ok(evicted);
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

/// How many entries a function has had, if they are many and that was not told yet.
pub(super) fn too_many(entries: &mut Entries, config: &Config) -> Option<usize> {
    if entries.told || entries.made <= config.accumulated_recompile_limit.max(1) {
        return None;
    }
    entries.told = true;
    Some(entries.made)
}
