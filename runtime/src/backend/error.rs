//! Errors and panics of backends, as the caller of a compiled function sees them.

use super::scope;
use crate::error::panic_message;
use crate::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A backend's error with the names of backend and function, and the node if the error has one.
pub(crate) fn failed(backend: &str, function: &str, error: Error) -> Error {
    match error {
        Error::BackendCompilerFailed { node, source, .. } => Error::BackendCompilerFailed {
            backend: backend.into(),
            function: function.into(),
            node,
            source,
        },
        error => {
            let node = match &error {
                Error::Node { node, .. } => Some(node.clone()),
                _ => None,
            };
            Error::BackendCompilerFailed {
                backend: backend.into(),
                function: function.into(),
                node,
                source: Box::new(error),
            }
        }
    }
}

/// Runs code of a backend: outside the scope of [`with_backend`](super::with_backend), its panics caught.
pub(crate) fn guarded<R>(f: impl FnOnce() -> Result<R>) -> Result<R> {
    let _outside = scope::outside();
    // what a backend leaves half-done is its own
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => result,
        Err(panic) => Err(Error::msg(format!("panicked: {}", panic_message(&*panic)))),
    }
}
