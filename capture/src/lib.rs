//! The syn front end of tensorplay: a function's tokens become a graph, or diagnostics.
//!
//! Problem: a macro sees tokens, not types. Method: local data flow from the parameters, the op table as
//! the list of what a tensor's methods are, and the shape and dtype rules of the graph, applied while the
//! body is walked. Invariants: user tokens never make this crate panic; every error of a body is
//! collected, each on its own tokens; a value that could not be captured is `Unknown` and silent;
//! the same tokens give the same result.
#![forbid(unsafe_code)]

mod attribute;
mod block;
mod captured;
mod diagnostic;
mod env;
mod export;
mod hygiene;
mod kind;
mod location;
mod loops;
mod marker;
mod model;
mod nearest;
mod needs;
mod parameter;
mod paths;
mod reads;
mod region;
mod returns;
mod scope;
mod segment;
mod signature;
mod spec;
mod walk;
mod words;

pub use attribute::{BackendName, NamedSpec, Options, Setting, SettingValue};
pub use block::methods;
pub use captured::{Captured, Failure, Under, compile, compile_in, export_type, sketch};
pub use diagnostic::{CODES, Diagnostic, code};
pub use env::Env;
pub use export::{Exported, FnExport, MarkedExport, TypeExport};
pub use location::{context, file, line};
pub use marker::{Marked, Marker, MarkerKind, mark};
pub use model::{Model, ModelFn, Ty, key, self_name};
pub use needs::{needs, needs_of_type};
pub use parameter::{Leaf, LeafKind, Param, ParamTree};
pub use reads::{CalleeRef, Read};
pub use region::RegionOptions;
pub use returns::ReturnTree;
pub use segment::{Bound, Break, Gives, Input, Segment, Segmented};
pub use signature::instance;
pub use spec::{DimSpec, Spec};
pub use tensorplay_graph::{HostType, Mode};
