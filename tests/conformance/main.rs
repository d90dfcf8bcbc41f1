//! The conformance cases, each test with its number; `docs/conformance.md` lists all of them.
//!
//! Files that wait for what they test are not named here yet:
//!
//! | file | waits for |
//! |---|---|
//! | `branches.rs` | `if`, `match` on metadata, `Option<&Tensor>` |
//! | `loops.rs` | `for` |
//! | `dynamic.rs` | `dynamic = true`, branches |
#![deny(warnings)]

#[macro_use]
mod check;
mod breaks;
mod layouts;
mod reset;
mod straight;
