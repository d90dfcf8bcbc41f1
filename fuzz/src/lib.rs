//! Differential fuzzing of tensorplay.
//!
//! Problem: fusion, layouts, dtypes and special values combine into more cases than anybody writes down.
//!
//! Method: [`generate`] makes well-typed random programs from a seed. Each runs as a whole graph on the tile VM, op by
//! op through eager calls, and in [`mod@reference`], an interpreter of naive loops that shares no code with the
//! product and carries an error bound with every element ([`compare`]). [`program`] prints the same programs as
//! Rust functions; [`serve`] holds their emitted kernels against their eager bodies. [`shrink`] makes a failure small.
//!
//! Invariants: everything follows from the seed; exact operations are compared bit for bit.

pub mod case;
pub mod check;
pub mod compare;
pub mod eager;
pub mod generate;
pub mod inputs;
pub mod program;
pub mod reference;
pub mod report;
pub mod rng;
pub mod run;
pub mod serve;
pub mod shrink;
pub mod tensors;

pub use case::Case;
