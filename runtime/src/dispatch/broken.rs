//! Functions with graph breaks: segments that dispatch for themselves, with plain Rust between them.
//!
//! Problem: such a function has no graph of its own, runs code of the user's, and `explain!` has to find it all the
//! same. Method: its record lists its segments and breaks, and its body begins with [`Function::enter`]. Invariant:
//! while `explain!` looks for a function, nothing of its body runs.

use super::Function;
use super::counters;
use super::explain::{Calls, Entry, Explanation, Kernel};
use super::mode::{self, Mode};
use super::stack::{self, Entered};
use crate::ladder::{self, Rung};
use std::panic::resume_unwind;

/// A place where capture stopped, in the binary.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct BreakRecord {
    /// The line.
    pub line: u32,
    /// The construct that capture does not hold.
    pub reason: &'static str,
}

/// What leaves a function that is only looked for.
pub(super) struct Left;

/// Leaves a function that is only looked for, and whose result cannot be made up.
#[doc(hidden)]
#[cold]
pub fn leave() -> ! {
    // no panic: nothing is printed, and `probe` takes it
    resume_unwind(Box::new(Left))
}

impl Function {
    /// What the body of a function with breaks does first: it is on the stack until the guard is dropped. `None` if it is
    /// only looked for, and is to return at once.
    #[inline]
    pub fn enter(&'static self) -> Option<Entered> {
        match mode::current() {
            Mode::Run | Mode::Record => {
                self.reach();
                Some(stack::enter())
            }
            Mode::Disabled => Some(stack::stay()),
            Mode::Probe => {
                mode::record(self);
                None
            }
        }
    }

    #[inline]
    fn reach(&'static self) {
        if !self.reached.is_completed() {
            self.reached.call_once(|| {
                counters::BREAKS.add(self.breaks.len() as u64);
                for b in self.breaks {
                    let (file, line) = (self.file(), b.line);
                    ladder::tell(Rung::Breaks, false, || {
                        format!("`{}` breaks at {file}:{line}: {}", self.path(), b.reason)
                    });
                }
            });
        }
    }

    /// Segment `n`.
    pub fn segment(&'static self, n: usize) -> &'static Function {
        self.segments[n]
    }
}

impl Explanation {
    /// Of a function without graphs.
    pub(super) fn empty() -> Explanation {
        Explanation {
            path: String::new(),
            file: String::new(),
            line: 0,
            graphs: Vec::new(),
            guards: Vec::new(),
            entries: Vec::new(),
            kernels: Vec::new(),
            breaks: Vec::new(),
            fallbacks: Vec::new(),
            recompiles: Vec::new(),
            calls: Calls::default(),
            memory: 0,
        }
    }

    /// Two segments of one function as one.
    pub(super) fn join(mut self, other: Explanation) -> Explanation {
        let first = self.graphs.len();
        self.graphs.extend(other.graphs);
        self.guards.extend(other.guards);
        let entries = other.entries.into_iter();
        self.entries.extend(entries.map(|e| Entry {
            path: e.path + first,
            ..e
        }));
        self.recompiles.extend(other.recompiles);
        let kernels = other.kernels.into_iter();
        self.kernels.extend(kernels.map(|k| Kernel {
            path: k.path + first,
            ..k
        }));
        for f in other.fallbacks {
            if !self.fallbacks.contains(&f) {
                self.fallbacks.push(f);
            }
        }
        let (mine, other_calls) = (&mut self.calls, other.calls);
        mine.dispatched += other_calls.dispatched;
        mine.bound += other_calls.bound;
        mine.errors += other_calls.errors;
        mine.steps.add(other_calls.steps, 1);
        self.memory = self.memory.max(other.memory);
        self
    }
}
