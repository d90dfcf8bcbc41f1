//! Capture as users see it: each compiled call against the plain body, and what `explain!` counts.
//!
//! Files that wait for what they test are not named here yet:
//!
//! | file | waits for |
//! |---|---|
//! | `branches.rs`, `guards.rs` | `if`, `match` on metadata, `Option<&Tensor>` |
//! | `loops.rs` | `for`, `Vec::push`, `while` on metadata |
//! | `lists.rs` | slices and vectors of any length as parameters and results |
//! | `models.rs` | `#[model]`, regions |
//! | `regions.rs` | `#[nested_compile_region]` |
//! | `extras.rs` | forms that are not promised |
#![deny(warnings)]

#[macro_use]
#[path = "../conformance/check.rs"]
mod check;
mod breaks;
mod parameters;
mod returns;
mod state;
mod straight;
