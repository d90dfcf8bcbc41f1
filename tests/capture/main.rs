//! Capture as users see it: each compiled call against the plain body, and what `explain!` counts.
#![deny(warnings)]

#[macro_use]
#[path = "../conformance/check.rs"]
mod check;
mod blocks;
mod branches;
mod breaks;
mod caches;
mod collected;
mod draws;
mod extras;
mod fragments;
mod fused;
mod guards;
mod lists;
mod loops;
mod markers;
mod models;
mod open_lists;
mod parameters;
mod records;
mod refused;
mod regions;
mod returns;
mod seed;
mod state;
mod straight;
