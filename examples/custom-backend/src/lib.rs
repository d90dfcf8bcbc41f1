//! A backend in a crate of its own: it compiles a graph to a list of closures over tensors.
//!
//! Programs find it in two ways. [`CLOSURES`] is there to be registered by hand, `closures_submitted` is known to every
//! program that links this crate. Both are made by the same function; `README.md` goes through it step by step.
#![deny(warnings)]

mod compile;
mod operand;

pub use compile::Closures;

use tensorplay::compiler::{Backend, BackendCapabilities, BackendEntry};
use tensorplay::{Result, submit_backend};

/// What the backend says about itself: it needs nothing, and is written for the contract of this version.
const CAPABILITIES: BackendCapabilities = BackendCapabilities::new()
    .contract_version(1)
    .min_core_version("0.1.0");

/// To be registered with [`register_backend`](tensorplay::compiler::register_backend).
pub static CLOSURES: BackendEntry = BackendEntry {
    name: "closures",
    tags: &[],
    capabilities: CAPABILITIES,
    make,
};

submit_backend!(BackendEntry {
    name: "closures_submitted",
    tags: &["experimental"],
    capabilities: CAPABILITIES,
    make,
});

/// Called once, at the first look-up of the name.
fn make() -> Result<Box<dyn Backend>> {
    Ok(Box::new(Closures))
}
