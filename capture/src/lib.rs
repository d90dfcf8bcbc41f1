//! The syn front end of tensorplay: a function's tokens become a graph, or diagnostics.
//!
//! Problem: a macro sees tokens, not types. Method: local data flow from the parameters, the op table as
//! the list of what a tensor's methods are, and the shape and dtype rules of the graph, applied while the
//! body is walked. Invariants: user tokens never make this crate panic; every error of a body is
//! collected, each on its own tokens; a value that could not be captured is `Unknown` and silent;
//! the same tokens give the same result.
#![forbid(unsafe_code)]

mod attribute;
mod captured;
mod diagnostic;
mod kind;
mod location;
mod nearest;
mod parameter;
mod paths;
mod returns;
mod scope;
mod segment;
mod spec;
mod walk;

pub use attribute::Options;
pub use captured::{Captured, Failure, compile};
pub use diagnostic::{CODES, Diagnostic, code};
pub use location::{file, line};
pub use parameter::{Param, ParamKind, Read};
pub use returns::ReturnTree;
pub use segment::{Bound, Break, Gives, Segment, Segmented};
