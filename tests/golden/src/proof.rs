//! Proof of what ran: a function's own counts before and after a call, against what its runner demands.

use crate::{Named, Runner};
use tensorplay::DType;
use tensorplay::compiler::Explanation;

/// By how much the counts of a function moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moved {
    /// Calls that ran a plan.
    pub dispatched: u64,
    /// Calls that bound a plan first.
    pub bound: u64,
    /// Calls that returned an error.
    pub errors: u64,
    /// Groups on emitted kernels.
    pub emitted: u64,
    /// Groups on the tile VM.
    pub tile: u64,
    /// Matrix products.
    pub contractions: u64,
    /// Copies.
    pub copies: u64,
    /// Runtime operations.
    pub ops: u64,
    /// Groups that ran node by node, because a bound predicate failed.
    pub splits: u64,
}

/// What happened in a function between two explanations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ran {
    /// The counts.
    pub moved: Moved,
    /// The function's graph breaks.
    pub breaks: Vec<String>,
    /// Groups that do not run on their emitted kernel, with the reason.
    pub fallbacks: Vec<String>,
    /// The path that was bound.
    pub path: usize,
    /// Kernels that the binary has for the path and the dtypes of the call.
    pub kernels: u64,
}

impl Ran {
    /// What happened between two explanations, in a call with inputs of these dtypes.
    pub fn between(before: &Explanation, after: &Explanation, inputs: &[DType]) -> Ran {
        let (b, a) = (&before.calls, &after.calls);
        // each case is called once a process, so that its call binds
        let path = after.entries.iter().find(|e| !before.entries.contains(e));
        let path = path.map_or(0, |e| e.path);
        let loops = after.graphs.get(path).is_some_and(|g| !g.regions.is_empty());
        // the body of a loop takes other tensors than the function, of the same dtypes
        let for_inputs = |of: &[DType]| of == inputs || loops && of.iter().all(|d| inputs.contains(d));
        let moved = Moved {
            dispatched: a.dispatched - b.dispatched,
            bound: a.bound - b.bound,
            errors: a.errors - b.errors,
            emitted: a.steps.emitted - b.steps.emitted,
            tile: a.steps.tile - b.steps.tile,
            contractions: a.steps.contractions - b.steps.contractions,
            copies: a.steps.copies - b.steps.copies,
            ops: a.steps.ops - b.steps.ops,
            splits: a.steps.splits - b.steps.splits,
        };
        Ran {
            moved,
            breaks: after.breaks.iter().map(ToString::to_string).collect(),
            fallbacks: after.fallbacks.iter().map(ToString::to_string).collect(),
            path,
            kernels: after
                .kernels
                .iter()
                .filter(|k| k.path == path && for_inputs(&k.inputs))
                .count() as u64,
        }
    }

    /// Holds a call that gave values against its runner. `listed`: the case may split a group, and must.
    ///
    /// # Errors
    /// Everything that is not as the runner demands.
    pub fn check_values(&self, runner: Runner, named: &Named, listed: bool) -> Result<(), Vec<String>> {
        let mut demands = Demands::default();
        let m = &self.moved;
        if runner == Runner::Eager {
            demands.that(*m == Moved::default(), || {
                format!("an eager call moved counts: {m:?}")
            });
            return demands.finish();
        }
        demands.equal("dispatched calls", m.dispatched, 1);
        demands.equal("calls with an error", m.errors, 0);
        demands.that(self.breaks.is_empty(), || {
            format!("graph breaks: {}", self.breaks.join("; "))
        });
        demands.equal("contractions", m.contractions, named.contractions);
        demands.equal("`op` steps", m.ops, named.ops);
        let copies = named.copies..=named.copies + named.may_copy;
        demands.that(copies.contains(&m.copies), || {
            format!(
                "{} `copy` steps, the schedule names {} to {}",
                m.copies,
                copies.start(),
                copies.end()
            )
        });
        if listed {
            demands.that(m.splits > 0, || {
                "no group was split: remove the case from predicates.txt".into()
            });
            demands.that(self.fallbacks.len() as u64 <= m.splits, || {
                format!("fallbacks beyond the split groups: {}", self.fallbacks.join("; "))
            });
        } else {
            demands.equal("split groups", m.splits, 0);
            demands.that(self.fallbacks.is_empty(), || {
                format!("fallbacks: {}", self.fallbacks.join("; "))
            });
        }
        let whole = named.groups.saturating_sub(m.splits);
        match runner {
            Runner::Compiled => {
                demands.equal(
                    "kernels in the binary for these dtypes",
                    self.kernels,
                    named.kernels,
                );
                demands.equal("groups on emitted kernels", m.emitted, whole);
                demands.that(m.tile == 0 || (listed && m.splits > 0), || {
                    format!("{} groups on the tile VM, expected 0", m.tile)
                });
            }
            _ => {
                demands.equal("groups on emitted kernels", m.emitted, 0);
                if listed {
                    demands.that(m.tile >= named.groups, || {
                        format!(
                            "{} groups on the tile VM, expected at least {}",
                            m.tile, named.groups
                        )
                    });
                } else {
                    demands.equal("groups on the tile VM", m.tile, whole);
                }
            }
        }
        demands.finish()
    }

    /// Holds a call that failed against its runner: the error is one of dispatch.
    ///
    /// # Errors
    /// Everything that is not as the runner demands.
    pub fn check_error(&self, runner: Runner) -> Result<(), Vec<String>> {
        let mut demands = Demands::default();
        let m = &self.moved;
        if runner == Runner::Eager {
            demands.that(*m == Moved::default(), || {
                format!("an eager call moved counts: {m:?}")
            });
        } else {
            demands.equal("calls with an error from dispatch", m.errors, 1);
            demands.that(self.breaks.is_empty(), || {
                format!("graph breaks: {}", self.breaks.join("; "))
            });
        }
        demands.finish()
    }
}

#[derive(Default)]
struct Demands(Vec<String>);

impl Demands {
    fn that(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.0.push(problem());
        }
    }

    fn equal(&mut self, what: &str, got: u64, expected: u64) {
        self.that(got == expected, || format!("{got} {what}, expected {expected}"));
    }

    fn finish(self) -> Result<(), Vec<String>> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }
}
