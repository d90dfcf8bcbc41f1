//! Stax: the schedule, the kernel IR and the emitters of tensorplay.
//!
//! Data flows through the modules in this order: [`typing`] and [`schedule`] read a graph, [`lower`]
//! makes a [`kernel`] of each group, which `fast_math` contracts, [`emit`] prints it, [`blob`] carries it in the binary;
//! [`compile`] drives them at build time.
#![forbid(unsafe_code)]

pub mod blob;
mod compile;
mod contract;
pub mod emit;
pub mod kernel;
pub mod lower;
pub mod schedule;
pub mod typing;

pub use compile::{CompileError, CompileOptions, Compiled, analyse, compile, expand};
