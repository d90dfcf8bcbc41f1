//! Tallies: how often each plan ran, kept after the plan is gone.

use super::shards::Sharded;
use crate::plan::StepCounts;
use std::sync::Arc;

/// How often a plan ran, and what it runs.
#[derive(Debug)]
pub(super) struct Tally {
    pub path: usize,
    pub runs: Sharded,
    pub counts: StepCounts,
}

impl Tally {
    pub(super) fn new(path: usize, counts: StepCounts) -> Arc<Tally> {
        Arc::new(Tally {
            path,
            runs: Sharded::new(),
            counts,
        })
    }
}

/// Counts summed over plans.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub calls: u64,
    pub counts: StepCounts,
    /// Calls by path.
    pub hits: Vec<u64>,
}

impl Totals {
    pub(super) fn add(&mut self, tally: &Tally) {
        let n = tally.runs.get();
        self.calls += n;
        self.counts.add(tally.counts, n);
        if self.hits.len() <= tally.path {
            self.hits.resize(tally.path + 1, 0);
        }
        self.hits[tally.path] += n;
    }
}

/// Tallies of plans that left the table. A call that found its plan before may still count, so a tally is
/// summed up for good only when nobody else holds it.
#[derive(Debug, Default)]
pub(super) struct Retired {
    pub totals: Totals,
    pub tallies: Vec<Arc<Tally>>,
}

impl Retired {
    pub(super) fn take(&mut self, tally: Arc<Tally>) {
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
