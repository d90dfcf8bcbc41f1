//! Execution backends of tensorplay (internal; use the `tensorplay` crate).
//!
//! One folder a backend. The kernels of compiled functions are bound and run by `tensorplay-runtime` itself; here is what
//! is known by name.
#![forbid(unsafe_code)]

mod debug;
mod stax;

/// Makes a built-in backend known by name.
macro_rules! built_in {
    ($(#[$doc:meta])* $entry:ident, $name:literal, $tags:expr, $backend:expr) => {
        $(#[$doc])*
        static $entry: tensorplay_runtime::compiler::BackendEntry = tensorplay_runtime::compiler::BackendEntry {
            name: $name,
            tags: $tags,
            capabilities: tensorplay_runtime::compiler::BackendCapabilities::new(),
            make: || Ok(Box::new($backend)),
        };
        tensorplay_runtime::__private::inventory::submit! {
            tensorplay_runtime::__private::BuiltIn(&$entry)
        }
    };
}
pub(crate) use built_in;
