//! What compiled functions do on this thread: run, step aside, or name themselves.

use super::Function;
use super::broken::Left;
use crate::{Dim, Tensor};
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Run,
    /// The same, and calls are noted.
    Record,
    /// Plain bodies run, as if nothing were compiled.
    Disabled,
    /// Calls record which function they reached and return empty tensors.
    Probe,
}

thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode::Run) };
    static FOUND: Cell<Option<&'static Function>> = const { Cell::new(None) };
}

/// Sets the mode back. It stays on its thread.
#[derive(Debug)]
struct Restore(Mode, PhantomData<*const ()>);

impl Drop for Restore {
    fn drop(&mut self) {
        MODE.set(self.0);
    }
}

pub(super) fn with<R>(mode: Mode, f: impl FnOnce() -> R) -> R {
    let _restore = set(mode);
    f()
}

fn set(mode: Mode) -> Restore {
    Restore(MODE.replace(mode), PhantomData)
}

#[inline]
pub(super) fn current() -> Mode {
    MODE.get()
}

pub(super) fn record(f: &'static Function) {
    FOUND.with(|found| {
        if found.get().is_none() {
            found.set(Some(f));
        }
    });
}

/// Runs `f` with every compiled function on this thread replaced by its plain body.
///
/// ```
/// # mod tensorplay { pub use tensorplay_runtime::*; pub mod prelude { pub use tensorplay_runtime::*; } }
/// use tensorplay::{compiler::disable_capture, prelude::*};
/// let y = disable_capture(|| Tensor::from_slice(&[1.0f32, 4.0], 2).sqrt());
/// assert_eq!(y.to_vec::<f32>(), [1.0, 2.0]);
/// ```
pub fn disable_capture<R>(f: impl FnOnce() -> R) -> R {
    with(Mode::Disabled, f)
}

/// The body of a function marked `#[disable]`, until it is dropped.
#[doc(hidden)]
#[must_use]
#[derive(Debug)]
pub struct Disabled(#[allow(dead_code)] Restore);

/// Replaces every compiled function on this thread by its plain body.
#[doc(hidden)]
pub fn disabled() -> Disabled {
    Disabled(set(Mode::Disabled))
}

/// Whether the code is being captured: always false where it runs as plain Rust.
pub fn is_compiling() -> bool {
    false
}

/// Whether the code is being exported: always false where it runs as plain Rust.
pub fn is_exporting() -> bool {
    false
}

/// In captured code, makes the size of `x` at `dim` a number in the key of a `dynamic` function. Elsewhere it does nothing,
/// whatever `dim` is: a `dim` that `x` does not have is no error.
///
/// ```
/// # mod tensorplay { pub use tensorplay_runtime::*; pub mod prelude { pub use tensorplay_runtime::*; } }
/// use tensorplay::{compiler::mark_static, prelude::*};
/// mark_static(&Tensor::from_slice(&[1.0f32, 4.0], 2), -1);
/// ```
pub fn mark_static(x: &Tensor, dim: impl Dim) {
    let _ = (x, dim);
}

/// The compiled function that `call` reaches first. Bodies do not run.
#[doc(hidden)]
pub fn probe<R>(call: impl FnOnce() -> R) -> &'static Function {
    FOUND.set(None);
    // a function whose result cannot be made up leaves by a silent unwind
    let left = with(Mode::Probe, || catch_unwind(AssertUnwindSafe(call)));
    if let Err(payload) = left
        && !payload.is::<Left>()
    {
        resume_unwind(payload);
    }
    match FOUND.take() {
        Some(f) => f,
        None => crate::Error::GraphCapture("the path does not name a compiled function".into()).raise(),
    }
}
