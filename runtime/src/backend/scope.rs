//! `with_backend`: a backend for all calls of a thread.

use super::registry::{self, Slot};
use crate::Result;
use std::cell::Cell;
use std::marker::PhantomData;

thread_local!(static SCOPE: Cell<Option<&'static Slot>> = const { Cell::new(None) });

/// Sets the scope back. It stays on its thread.
#[must_use]
pub(crate) struct Restore(Option<&'static Slot>, PhantomData<*const ()>);

impl Drop for Restore {
    fn drop(&mut self) {
        SCOPE.set(self.0);
    }
}

/// Enters the scope of a backend.
pub(crate) fn within(slot: Option<&'static Slot>) -> Restore {
    Restore(SCOPE.replace(slot), PhantomData)
}

/// Leaves every scope.
pub(crate) fn outside() -> Restore {
    within(None)
}

/// The innermost scope of this thread.
#[inline]
pub(crate) fn current() -> Option<&'static Slot> {
    SCOPE.get()
}

/// Runs `f` with every compiled function that it calls on this thread on that backend, whatever their attributes name;
/// regions with a backend of their own keep it. Scopes nest, and end when `f` panics.
///
/// ```
/// # mod tensorplay { pub use tensorplay_runtime::*; pub mod prelude { pub use tensorplay_runtime::*; } }
/// use tensorplay::{Error, compiler::with_backend};
/// let wrong = with_backend("no such backend", || 1);
/// assert!(matches!(wrong, Err(Error::InvalidBackend { .. })));
/// ```
///
/// # Errors
/// The backend cannot be had; `f` is not called then. See [`lookup_backend`](super::lookup_backend).
pub fn with_backend<R>(name: &str, f: impl FnOnce() -> R) -> Result<R> {
    let slot = registry::slot(name)?;
    slot.backend()?;
    let _restore = within(Some(slot));
    Ok(f())
}
