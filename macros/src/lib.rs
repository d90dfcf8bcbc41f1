//! The procedural macros of tensorplay (internal; use the `tensorplay` crate).
//!
//! A shell: capture reads, stax compiles, `expand` prints. Nothing is kept between two expansions.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;

mod expand;
mod reach;
#[cfg(test)]
mod tests;
mod twin;

/// Captures the function into a graph while it is compiled, and calls its kernels when it is called.
#[proc_macro_attribute]
pub fn compile(attr: TokenStream, item: TokenStream) -> TokenStream {
    expand::compile(attr.into(), item.into()).into()
}

/// `explain!(path::f)`: everything that is known about a compiled function.
#[proc_macro]
pub fn explain(path: TokenStream) -> TokenStream {
    reach::function("explain", path.into()).into()
}

/// `graph!(path::f)`: the captured graphs of a compiled function.
#[proc_macro]
pub fn graph(path: TokenStream) -> TokenStream {
    reach::function("graphs", path.into()).into()
}
