//! Bugs, each with its smallest program: those that a test of this repository found (`own`), and those that users of
//! other tensor compilers reported, on which this one is tried.
//!
//! `report_NNN_what` is entry NNN of a list of such reports. Its right answer holds as plain code and compiled, bit for
//! bit unless a tolerance is written. Where libraries disagree, the answer is the one of this library.
//!
//! Entries without a test:
//!
//! | entry | why |
//! |---|---|
//! | 18 | no `frexp` |
//! | 52 | needs 8 GiB, about an index type of CUDA code |
//! | 58 | about comparing: tolerances against f64 |
//! | 88 | about memory of CUDA kernels |
//! | 9, 50, 54, 82 (in part) | what they say of gradients |
//! | 82 (in part) | no wrapping pad |
//! | 20, 25, 33, 34 (in part) | i8, i16 and u32 do not exist; the nearest type stands in |
#![deny(warnings)]

#[macro_use]
mod check;
mod convolution;
mod fusion;
mod indexing;
mod integers;
mod lookup;
mod nan_inf_zero;
mod normalisation;
mod own;
mod reductions;
mod sampling;
mod scans;
mod shapes;
