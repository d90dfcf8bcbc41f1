//! The conformance cases, each test with its number; `docs/conformance.md` lists all of them.
#![deny(warnings)]

#[macro_use]
mod check;
#[macro_use]
mod probe;
mod backends;
mod branches;
mod breaks;
mod cache;
mod dynamic;
mod guards;
mod kernels;
mod layouts;
mod limits;
mod loops;
mod modes;
mod passes;
mod registry;
mod reset;
mod straight;
