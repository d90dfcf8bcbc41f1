#![doc = include_str!("../README.md")]

// its backends are known by name once it is linked
use tensorplay_backends as _;
#[doc(hidden)]
pub use tensorplay_macros::__step;
pub use tensorplay_macros::{
    allow_in_graph, assume_constant_result, compile, disable, disallow_in_graph, explain, export, graph,
    model, nested_compile_region, nonstrict_trace, overload_method, substitute_in_graph, unused,
};
pub use tensorplay_runtime::{
    DType, Device, Element, Error, Result, Tensor, TensorTree, compiler, cond, graph_api as graph,
    manual_seed, no_grad, safetensors, submit_backend, while_loop,
};
pub use {half, ndarray};

pub mod nn;

#[doc(hidden)]
pub use tensorplay_runtime::private as __private;

/// What most programs need: `use tensorplay::prelude::*`.
pub mod prelude {
    pub use tensorplay_runtime::graph_api::{Eval as _, Run as _};
    pub use tensorplay_runtime::{
        AttentionOptions, Conv1dOptions, Conv2dOptions, ConvTranspose2dOptions, DType, Device, Element,
        Interpolate, PadMode, PoolOptions, Tensor,
    };
}
