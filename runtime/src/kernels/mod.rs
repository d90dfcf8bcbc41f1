//! CPU kernels: what a plan's steps call.
//!
//! Problem: a program of the kernel IR must run on any shapes, strides and thread counts, from code that was
//! emitted into the user's binary or interpreted. Method: the only code instantiated per program is a
//! [`strip`](mod@strip) over contiguous lanes, in the binary or as a sequence of prebuilt instruction strips
//! (`vm`); a [`nest`] binds a kernel to real shapes and feeds the strips with L1-resident pieces, folds rows
//! with `reduce` and splits the work with [`par`]. Matrix products are in [`gemm`]. Invariant: pointers,
//! shapes and strides only; tensors and layouts belong to the callers.

pub(crate) mod arena;
pub mod gemm;
pub mod nest;
pub(crate) mod op;
pub mod par;
pub(crate) mod reduce;
pub mod strip;
pub mod tier;
pub(crate) mod vm;

/// What code emitted into users' crates refers to; not public API.
#[doc(hidden)]
pub mod __private {
    pub use super::strip::{
        Input, Operand, Operands, Output, Program, Strip, Update, constant, replace, strip, write,
    };
    pub use crate::lane::{Lane, Tier};
    pub use half::{bf16, f16};
    pub use std::mem::MaybeUninit;
}
