//! Counters that many threads bump without sharing a cache line.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

const SHARDS: usize = 8;

#[repr(align(64))]
#[derive(Debug)]
struct Line(AtomicU64);

/// A counter spread over cache lines; a thread keeps to one of them.
#[derive(Debug)]
pub(crate) struct Sharded([Line; SHARDS]);

fn shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static MINE: usize = NEXT.fetch_add(1, Relaxed) % SHARDS);
    MINE.try_with(|m| *m).unwrap_or(0)
}

impl Sharded {
    pub(crate) const fn new() -> Sharded {
        Sharded([const { Line(AtomicU64::new(0)) }; SHARDS])
    }

    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0[shard()].0.fetch_add(n, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.iter().map(|l| l.0.load(Relaxed)).sum()
    }
}

pub(crate) static CAPTURES: Sharded = Sharded::new();
pub(crate) static BINDS: Sharded = Sharded::new();
pub(crate) static HITS: Sharded = Sharded::new();
pub(crate) static MISSES: Sharded = Sharded::new();
pub(crate) static BREAKS: Sharded = Sharded::new();
pub(crate) static FALLBACKS: Sharded = Sharded::new();
pub(crate) static EVICTIONS: Sharded = Sharded::new();
pub(crate) static EMITTED: Sharded = Sharded::new();
pub(crate) static TILE: Sharded = Sharded::new();

/// Process-wide counts of what compiled functions did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Compiled functions, and segments of functions with graph breaks, that were called at least once.
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
    /// Plans dropped to make room.
    pub evictions: u64,
    /// Runs of emitted kernels.
    pub kernels_emitted: u64,
    /// Runs of kernels on the tile VM inside compiled functions.
    pub kernels_tile: u64,
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
    }
}
