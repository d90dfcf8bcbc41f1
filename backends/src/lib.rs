//! Execution backends of tensorplay (internal; use the `tensorplay` crate).
//!
//! One folder a backend. The built-in compiler, Stax, lives in `tensorplay-stax` and `tensorplay-runtime`;
//! backends that are registered at run time come here with the registry.
#![forbid(unsafe_code)]
