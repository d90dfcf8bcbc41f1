//! The conformance cases, each test with its number; `docs/conformance.md` lists all of them.
//!
//! Files that wait for what they test are not named here yet:
//!
//! | file | waits for |
//! |---|---|
//! | `breaks.rs` | graph breaks |
#![deny(warnings)]

#[macro_use]
mod check;
mod branches;
mod dynamic;
mod layouts;
mod loops;
mod reset;
mod straight;
