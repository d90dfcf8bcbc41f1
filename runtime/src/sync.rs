//! Locks whose data is right whatever panicked while they were held.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a panic.
pub(crate) fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}
