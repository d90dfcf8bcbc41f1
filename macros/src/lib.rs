//! The procedural macros of tensorplay (internal; use the `tensorplay` crate).
//!
//! A shell: capture reads, stax compiles, `expand` prints. Nothing is kept between two expansions.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;

mod expand;
mod reach;
mod segment;
#[cfg(test)]
mod tests;
mod twin;

/// Captures the function into a graph while it is compiled, and calls its kernels when it is called.
///
/// For free functions and methods. Parameters that are `&Tensor`, `Tensor`, numbers, `usize`, `bool` or `DType` are part of the graph; one
/// graph holds a body that returns `Tensor`, tuples, or a `Result` of these, of operations on tensors, arithmetic, and branches and
/// loops on metadata. Anything else is a graph break: it stays the Rust that it is, and the statements before and after it are
/// compiled as segments. `explain!` lists every break.
///
/// | argument | meaning |
/// |---|---|
/// | `spec(x = f32[B, 784], return = f32[B, 10])` | dtypes and sizes to check at build time and at each call; also `#[spec(f32[B, 784])]` on a parameter |
/// | `dtypes(f32, f16, ..)` | the float types to emit kernels for, f32 by default; others run on the tile VM |
/// | `fullgraph` | a graph break is an error |
/// | `warn_breaks` | a graph break is a warning |
/// | `name = "f"` | the name of the graph |
/// | `disable` | the function stays as it is |
/// | `crate = path` | where this crate is re-exported |
///
/// In a spec a size is an integer (a promise), a name (equal names are equal sizes, and one entry serves all), `_`, `lo..=hi`, or
/// `..` for any rank; the dtype is `f32`, .., `float` (any float) or `_`. The other arguments of the design are refused with
/// `not available yet`. Every message has a code, explained in `docs/errors.md`.
#[proc_macro_attribute]
pub fn compile(attr: TokenStream, item: TokenStream) -> TokenStream {
    expand::compile(attr.into(), item.into()).into()
}

/// `explain!(path::f)`: everything that is known about a compiled function.
#[proc_macro]
pub fn explain(path: TokenStream) -> TokenStream {
    reach::function("explain", path.into()).into()
}

/// `graph!(path::f)`: the captured graphs of a compiled function, one a path; prints as text, and derefs to the first.
#[proc_macro]
pub fn graph(path: TokenStream) -> TokenStream {
    reach::function("graphs", path.into()).into()
}
