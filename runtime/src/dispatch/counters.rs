//! `counters()`: what compiled functions of the process did.

use super::shards::Sharded;

pub(crate) static CAPTURES: Sharded = Sharded::new();
pub(crate) static BINDS: Sharded = Sharded::new();
pub(crate) static HITS: Sharded = Sharded::new();
pub(crate) static MISSES: Sharded = Sharded::new();
pub(crate) static BREAKS: Sharded = Sharded::new();
pub(crate) static FALLBACKS: Sharded = Sharded::new();
pub(crate) static EVICTIONS: Sharded = Sharded::new();
pub(crate) static EMITTED: Sharded = Sharded::new();
pub(crate) static TILE: Sharded = Sharded::new();
pub(crate) static BACKEND_COMPILES: Sharded = Sharded::new();
pub(crate) static BACKEND_CALLS: Sharded = Sharded::new();

/// Process-wide counts of what compiled functions did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Compiled functions, and segments of functions with graph breaks, that were called, linked into a caller or explained.
    pub captures: u64,
    /// Plans bound.
    pub binds: u64,
    /// Calls that found their plan.
    pub hits: u64,
    /// Calls that had to bind.
    pub misses: u64,
    /// Graph breaks of the functions that were called at least once.
    pub breaks: u64,
    /// Groups bound to run otherwise than on their emitted kernel.
    pub fallbacks: u64,
    /// Plans dropped to make room, by themselves or with their entry.
    pub evictions: u64,
    /// Runs of emitted kernels.
    pub kernels_emitted: u64,
    /// Runs of kernels on the tile VM inside compiled functions.
    pub kernels_tile: u64,
    /// Graphs that were given to a backend other than the built-in compiler.
    pub backend_compiles: u64,
    /// Calls that ran on such a backend.
    pub backend_calls: u64,
}

/// The counts so far.
pub fn counters() -> Counters {
    Counters {
        captures: CAPTURES.get(),
        binds: BINDS.get(),
        hits: HITS.get(),
        misses: MISSES.get(),
        breaks: BREAKS.get(),
        fallbacks: FALLBACKS.get(),
        evictions: EVICTIONS.get(),
        kernels_emitted: EMITTED.get(),
        kernels_tile: TILE.get(),
        backend_compiles: BACKEND_COMPILES.get(),
        backend_calls: BACKEND_CALLS.get(),
    }
}
