//! Dispatch: from a call of a compiled function to a plan.
//!
//! Problem: a call must find its kernels in tens of nanoseconds, from any thread, for any sizes.
//! Method: each compiled function owns a [`Function`] in its binary. Its table is an immutable
//! snapshot of bound plans with a fingerprint of each key; a call finds the fingerprint of its arguments, compares the whole key, and
//! runs that plan, or what a backend made. A miss binds, and publishes a new snapshot under a lock; where only strides are
//! new, it shares what a plan of the same sizes has.
//! Invariants: the hit path takes no lock and writes only counters of its own thread, and a plan's mark of last use
//! when that is out of date; first calls from many threads publish one plan; a failed bind or a panicking kernel leaves
//! the table as it was; a fingerprint alone never chooses a plan.

mod asked;
mod assumed;
mod bound;
mod broken;
pub mod counters;
mod entries;
pub mod explain;
mod foreign;
mod function;
pub mod guard;
mod how;
mod key;
mod limits;
mod miss;
mod mode;
mod native;
mod outputs;
mod pattern;
mod pipeline;
mod published;
pub mod reason;
pub(crate) mod record;
mod rehearse;
mod self_test;
mod settings;
pub(crate) mod shards;
mod source;
mod stack;
mod state;
mod table;
mod tally;

pub use assumed::{Assumed, Constant, assumed};
pub use broken::{BreakRecord, leave};
pub use function::{Function, HostArg, NestedCompileRegionOptions, reset, unregister_backend};
pub(crate) use how::how;
pub use mode::{Disabled, disable_capture, disabled, is_compiling, is_exporting, mark_static, probe};
pub use outputs::Outputs;
pub(crate) use rehearse::{Rehearsal, rehearsal, written};
pub use self_test::self_test;
pub use settings::Setting;
pub use stack::{Entered, enter, is_entered};
