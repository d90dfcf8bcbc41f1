//! `tensorplay::compiler`: what compiled functions do, and did.

pub use crate::cache::{CacheKey, CacheOptions, CodeCache};
pub use crate::dispatch::counters::{Counters, counters};
pub use crate::dispatch::explain::{Break, Calls, Entry, Explanation, Graphs, Kernel};
pub use crate::dispatch::guard::{Guard, GuardChain};
pub use crate::dispatch::{disable_capture, is_compiling, is_exporting, mark_static, reset};
pub use crate::example::Example;
pub use crate::plan::{Fallback, StepCounts};
