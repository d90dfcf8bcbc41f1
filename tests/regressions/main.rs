//! Bugs, each with its smallest program.
#![deny(warnings)]

mod own;
