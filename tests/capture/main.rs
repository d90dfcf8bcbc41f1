//! Capture as users see it: each compiled call against the plain body, and what `explain!` counts.
//!
//! Files that wait for what they test are not named here yet:
//!
//! | file | waits for |
//! |---|---|
//! | `lists_later.rs` | slices and vectors of any length as results, and as places that are written |
//! | `collected.rs` | results whose number only a call knows |
//! | `regions.rs` | `#[nested_compile_region]` |
//! | `extras.rs` | forms that are not promised |
#![deny(warnings)]

#[macro_use]
#[path = "../conformance/check.rs"]
mod check;
mod blocks;
mod branches;
mod breaks;
mod guards;
mod lists;
mod loops;
mod models;
mod parameters;
mod returns;
mod seed;
mod state;
mod straight;
