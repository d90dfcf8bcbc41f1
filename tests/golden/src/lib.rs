//! The golden runners: PyTorch's values through eager code, emitted kernels and the tile VM, and proof of what ran.
//!
//! Problem: a right value proves nothing about the kernel that was meant to compute it; a compiled function
//! that quietly ran its plain body would pass every comparison.
//!
//! Method: the build script writes one compiled function a case ([`Case`]). A [`Runner`] calls it on the case's
//! inputs ([`Vectors`]), compares the results ([`compare`](compare::values)), and holds the
//! function's own counts before and after ([`Ran`]) against the steps that its schedule names ([`Named`]).
//! The target `golden` runs each runner in a process of its own, since `TENSORPLAY_KERNELS` is read once.
//!
//! Invariants: every case ends as passed, failed or ignored with a reason, under every runner; the [`Lists`] of
//! exceptions only shrink; a case on a list that does not need it fails.

mod case;
pub mod compare;
mod host;
mod inputs;
mod lists;
mod named;
mod panics;
mod proof;
mod runner;
mod shared;
mod trials;

pub use case::{Case, Entry, Expected, Input, Layout, Output, arity};
pub use inputs::Vectors;
pub use lists::{Lists, MAX_PREDICATES};
pub use named::Named;
pub use proof::{Moved, Ran};
pub use runner::{Report, Runner};
pub use trials::main;
