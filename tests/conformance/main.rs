//! The conformance cases, each test with its number; `docs/conformance.md` lists all of them.
//!
//! Files that wait for what they test are not named here yet:
//!
//! | file | waits for |
//! |---|---|
#![deny(warnings)]

#[macro_use]
mod check;
mod branches;
mod breaks;
mod dynamic;
mod layouts;
mod loops;
mod reset;
mod straight;
