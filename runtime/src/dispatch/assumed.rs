//! `Assumed`: the results that a function marked `#[assume_constant_result]` is assumed to have.
//!
//! Problem: while a compiled function is on the stack, such a function runs once for each place that calls it.
//! Method: the function owns a map from call sites to values; a site is evaluated under a lock of its own.
//! Invariants: no lock of the map or of a value is held while user code runs; a thread that evaluates a site waits for no
//! other site, so evaluations that reach each other cannot lock up: the first value kept is everyone's. `reset` takes the
//! sites away; an evaluation that is under way keeps its value in a site that nobody finds any more.

use super::stack;
use crate::sync::lock;
use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// What `#[assume_constant_result]` can keep.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`#[assume_constant_result]` cannot keep a value of type `{Self}`",
    label = "not `Clone + Send + Sync + 'static`",
    note = "every later call, on any thread, returns a clone of the first result"
)]
pub trait Constant: Clone + Send + Sync + 'static {}

impl<T: Clone + Send + Sync + 'static> Constant for T {}

/// The values of one function.
#[doc(hidden)]
#[derive(Debug)]
pub struct Assumed {
    listed: AtomicBool,
    sites: Mutex<BTreeMap<&'static Location<'static>, Arc<Site>>>,
}

#[derive(Debug, Default)]
struct Site {
    evaluation: Mutex<()>,
    value: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
}

/// Every function that has sites.
static FUNCTIONS: Mutex<Vec<&'static Assumed>> = Mutex::new(Vec::new());

thread_local! {
    static EVALUATING: Cell<bool> = const { Cell::new(false) };
}

struct Restore(bool);

impl Drop for Restore {
    fn drop(&mut self) {
        EVALUATING.set(self.0);
    }
}

impl Assumed {
    /// No values yet.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Assumed {
        Assumed {
            listed: AtomicBool::new(false),
            sites: Mutex::new(BTreeMap::new()),
        }
    }

    fn site(&'static self, at: &'static Location<'static>) -> Arc<Site> {
        let site = lock(&self.sites).entry(at).or_default().clone();
        if !self.listed.swap(true, Relaxed) {
            lock(&FUNCTIONS).push(self);
        }
        site
    }
}

impl Site {
    fn get<T: Constant>(&self) -> Option<T> {
        let value = lock(&self.value).clone()?;
        value.downcast_ref::<T>().cloned()
    }

    /// The value that is kept: `value`, unless another one was there first.
    fn keep<T: Constant>(&self, value: T) -> T {
        let new = Arc::new(value);
        let kept = lock(&self.value).get_or_insert_with(|| new.clone()).clone();
        kept.downcast_ref().unwrap_or(&*new).clone()
    }
}

/// The result of a marked function, whose body is `f`, where it is called at `at`.
#[doc(hidden)]
pub fn assumed<T: Constant, F: FnOnce() -> T>(
    function: &'static Assumed,
    at: &'static Location<'static>,
    f: F,
) -> T {
    if !stack::is_entered() {
        return f();
    }
    let site = function.site(at);
    if let Some(value) = site.get() {
        return value;
    }
    let within = EVALUATING.get();
    let _turn = (!within).then(|| lock(&site.evaluation));
    if let Some(value) = site.get() {
        return value;
    }
    let _restore = Restore(EVALUATING.replace(true));
    site.keep(f())
}

/// Forgets all values.
pub(super) fn forget() {
    let functions = lock(&FUNCTIONS).clone();
    for f in functions {
        // values are dropped after the lock is released
        let _sites = std::mem::take(&mut *lock(&f.sites));
    }
}
