//! Tensors, kernels and dispatch of tensorplay.

mod backend;
mod bisect;
mod cache;
pub mod compiler;
mod config;
mod control;
mod device;
pub mod dispatch;
mod element;
mod error;
mod example;
mod grad_mode;
pub mod graph_api;
pub mod kernels;
mod ladder;
pub mod lane;
pub mod layout;
mod ops;
pub mod options;
mod plan;
#[doc(hidden)]
pub mod private;
pub mod random;
mod reentry;
pub mod safetensors;
mod shape;
mod start;
pub mod storage;
mod structure;
mod sync;
mod tensor;

pub use control::{TensorTree, cond, while_loop};
pub use device::Device;
pub use element::Element;
pub use error::{Error, Result};
pub use grad_mode::{is_grad_enabled, no_grad};
pub use options::{
    AttentionOptions, Conv1dOptions, Conv2dOptions, ConvTranspose2dOptions, Interpolate, PadMode, Pair,
    PoolOptions,
};
#[doc(hidden)]
pub use private as __private;
pub use random::manual_seed;
pub use shape::{Dim, Dims, Shape};
pub use tensor::operators::{IntoOperand, Operand};
pub use tensor::{StorageRef, Tensor, Update};
pub use tensorplay_graph::{DType, Scalar};
