//! Capture as users see it: each compiled call against the plain body, and what `explain!` counts.
//!
//! Files that wait for what they test are not named here yet:
//!
//! | file | waits for |
//! |---|---|
//! | `regions.rs` | `#[nested_compile_region]` |
//! | `extras.rs` | forms that are not promised |
#![deny(warnings)]

#[macro_use]
#[path = "../conformance/check.rs"]
mod check;
mod blocks;
mod branches;
mod breaks;
mod caches;
mod collected;
mod fragments;
mod guards;
mod lists;
mod loops;
mod markers;
mod models;
mod open_lists;
mod parameters;
mod returns;
mod seed;
mod state;
mod straight;
