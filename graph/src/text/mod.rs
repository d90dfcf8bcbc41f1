//! The text form of a graph, and its parser.
//!
//! Problem: tests, bug reports, `explain!` and reproducers need a form of a graph that people read and
//! that loses nothing which changes the graph's meaning.
//!
//! ```text
//! graph hidden(x: f32[B, 784], w: f32[784, H], b: f32[H], $0 scale: f32) -> f32[B, H] {
//!   file "src/net.rs" @3:1
//!   symbols B: 0.., H: 1..=64
//!   %3 = matmul(%0, %1) : f32[B, H] "h" @5:13
//!   %4 = add(%3, %2) : f32[B, H]
//!   %5 = reshape(%4, [dim(%0, 0), -1]) : f32[_, _]
//!   return %4
//! }
//! ```
//!
//! * The parameters of the header are `%0, %1, ..`; a tensor parameter that stands elsewhere, or whose type is not
//!   its spec, has its own line: `%7 = input 1 : f32[3]`. Scalar parameters are `$0, $1, ..`.
//! * `%5.1` is the second result of `%5`. A list is `[..]`, an absent optional tensor `none`.
//! * Host expressions are infix with Rust's precedence; functions are `dim rank elem_count dtype same_shape min
//!   max pow neg not sqrt ln exp probability`, casts `usize(..)`. A remainder is written with a space: `a % b`.
//! * `return %4, %5 into %1, %6 into *%2`: results come first, then new values of parameters that are variables, then
//!   those of `&mut` parameters.
//! * Types are `f32[B, 784]`, `_[..]`; no results are `()`. A missing type is inferred by the parser.
//! * A symbol whose name is not an identifier is written `?1`.
//! * `//` starts a comment; line breaks mean nothing.
//!
//! Invariants: `parse(print(g))` equals `g` up to the table of locations (source texts are not printed) and the marks of
//! nodes inside composites;
//! `print(parse(print(g)))` is `print(g)`. The parser never panics; it reports the first error.

mod error;
mod expr;
mod lex;
mod parse;
mod print;
mod structure;

pub use error::{ParseError, ParseErrorKind};
pub use parse::parse;

use crate::{GraphModule, verify};
use std::str::FromStr;

/// Parses and verifies.
impl FromStr for GraphModule {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<GraphModule, ParseError> {
        let (module, starts) = parse::parse_with_starts(text)?;
        match verify(&module) {
            Ok(()) => Ok(module),
            Err(errors) => {
                let node = errors.iter().find_map(|e| e.node);
                let start = node.and_then(|n| starts.get(n.index()).copied()).unwrap_or(0);
                Err(lex::error_at(text, start, ParseErrorKind::Invalid(errors)))
            }
        }
    }
}
