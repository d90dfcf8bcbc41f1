//! `tensorplay::compiler`: backends, configuration, and what compiled functions do, and did.

pub use crate::backend::{
    Backend, BackendCapabilities, BackendEntry, CONTRACT_VERSION, Codegen, CompileOptions, Dependency,
    Executable, ListBackends, OptionValue, get_backend_capabilities, get_default_backend, list_backends,
    list_mode_options, lookup_backend, register_backend, register_debug_backend,
    register_experimental_backend, set_default_backend, with_backend,
};
pub use crate::bisect::{Culprit, Tolerance, bisect};
pub use crate::cache::{CacheKey, CacheOptions, CodeCache};
pub use crate::config::{Config, config, config_mut};
pub use crate::dispatch::NestedCompileRegionOptions;
pub use crate::dispatch::counters::{Counters, counters};
pub use crate::dispatch::explain::{Break, Calls, Entry, Explanation, Graphs, Kernel};
pub use crate::dispatch::guard::{Guard, GuardChain};
pub use crate::dispatch::reason::Recompile;
pub use crate::dispatch::{
    disable_capture, is_compiling, is_exporting, mark_static, reset, unregister_backend,
};
pub use crate::example::Example;
pub use crate::plan::{Fallback, StepCounts};
pub use tensorplay_graph::Mode;
