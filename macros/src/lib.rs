//! The procedural macros of tensorplay (internal; use the `tensorplay` crate).
//!
//! A shell: capture reads, stax compiles, `expand` prints. Nothing is kept between two expansions.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use tensorplay_capture::MarkerKind;
use tensorplay_capture::Under;
use times::Timer;

mod arguments;
mod block;
mod chain;
mod expand;
mod marker;
mod model;
mod reach;
mod regroup;
mod segment;
#[cfg(test)]
mod tests;
mod times;
mod twin;
mod within;

/// Captures the function into a graph while it is compiled, and calls its kernels when it is called.
///
/// For free functions and methods, with const parameters too, over the methods of `Tensor`. On an inherent `impl` it is for every
/// method on `&self` or nothing whose signature can be captured and has a tensor in it, unless that has an attribute of its own.
///
/// * Parameters are tensors, numbers, `bool` and `DType`, by value, as `&` or as `&mut`, and tuples, arrays of a literal length and
///   `Option`s of these, under names or patterns of names. What a `&mut` parameter refers to is written when the whole call has
///   succeeded, and only where the path that it took assigns it.
/// * Parameters, consts and fields of other types (enums, `&str`) can be asked about, by `match`, `if let`, `matches!` and `==`, with
///   patterns that bind nothing. The answers join the key.
/// * Results are `Tensor`, `()`, tuples, arrays, `Vec`s and `Option`s of these, and a `Result` of any, with the user's own error
///   type. How many tensors a `Vec` or `Option` holds may differ from path to path.
///
/// Anything else is a graph break: it stays the Rust that it is, and the statements before and after it are compiled as segments.
/// `explain!` lists every break.
///
/// | argument | meaning |
/// |---|---|
/// | `spec(x = f32[B, 784], pair = (f32[2], i64[2]), return = f32[B, 10])` | dtypes and sizes to check at build time and at each call, one a tensor; also `#[spec(f32[B, 784])]` on a parameter |
/// | `dtypes(f32, f16, ..)` | the float types to emit kernels for, f32 by default; others run on the tile VM |
/// | `dynamic = true`, or `dynamic_shapes = true` | one entry serves all sizes that no spec fixes |
/// | `fullgraph` | a graph break is an error, and functions that are called are looked up |
/// | `inline(path, ..)` | these functions are looked up without `fullgraph` too; any other call is a graph break |
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
    attribute(attr, item, |attr, item| {
        expand::compile(Under::Compile, attr, item)
    })
}

/// A function that its callers keep as one unit: it is compiled once, and each caller that is captured with it holds it
/// by reference.
///
/// | argument | meaning |
/// |---|---|
/// | `max_reuse_entries = 8` | for how many kinds of arguments (shapes, dtypes, numbers) one caller may hold it |
/// | `crate = path` | where this crate is re-exported |
#[proc_macro_attribute]
pub fn nested_compile_region(attr: TokenStream, item: TokenStream) -> TokenStream {
    attribute(attr, item, |attr, item| {
        expand::compile(Under::Region, attr, item)
    })
}

/// An inline module whose structs, methods and functions are captured together: compiled methods read fields of
/// `self`, loop over `Vec` fields, and call each other.
///
/// Fields are tensors, numbers, bools, dtypes, options of operations, `Option`, `Vec`, `Box` and arrays of these, structs
/// of the module, and structs of other `#[model]` modules, such as the layers of `nn`.
///
/// `crate = path` says where this crate is re-exported, for the attributes inside the module too.
#[proc_macro_attribute]
pub fn model(attr: TokenStream, item: TokenStream) -> TokenStream {
    attribute(attr, item, model::model)
}

#[doc(hidden)]
#[proc_macro]
pub fn __step(input: TokenStream) -> TokenStream {
    let input = Tokens::from(input);
    let timer = Timer::start(|| times::name(chain::item(input.clone())));
    let tokens = chain::step(input);
    timer.stop();
    tokens.into()
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

/// A call from captured code is one opaque node of the graph: the function runs as plain Rust at every call.
///
/// Called from anywhere else it is an ordinary function. This holds for all markers below, which go on free functions.
#[proc_macro_attribute]
pub fn allow_in_graph(attr: TokenStream, item: TokenStream) -> TokenStream {
    marker(MarkerKind::AllowInGraph, attr, item)
}

/// Like `allow_in_graph`, for functions whose arguments and results are structs of tensors: the node has their tensors.
#[proc_macro_attribute]
pub fn nonstrict_trace(attr: TokenStream, item: TokenStream) -> TokenStream {
    marker(MarkerKind::NonstrictTrace, attr, item)
}

/// A call is a graph break, whatever the function's body is. Compiled functions inside stay compiled.
#[proc_macro_attribute]
pub fn disallow_in_graph(attr: TokenStream, item: TokenStream) -> TokenStream {
    marker(MarkerKind::DisallowInGraph, attr, item)
}

/// `#[disable(recursive = true, reason = "..")]`: the function runs as plain Rust, and a call is a graph break.
///
/// Compiled functions that it calls run their plain bodies too, as in `compiler::disable_capture`; with `recursive = false`
/// they stay compiled. The reason is for the reader, and for those who ask where a graph breaks. Beside `#[compile]` it is
/// `#[compile(disable)]`.
#[proc_macro_attribute]
pub fn disable(attr: TokenStream, item: TokenStream) -> TokenStream {
    marker(MarkerKind::Disable, attr, item)
}

/// The function is never captured, and compiled functions inside stay compiled: the same as `#[disable(recursive = false)]`.
#[proc_macro_attribute]
pub fn unused(attr: TokenStream, item: TokenStream) -> TokenStream {
    marker(MarkerKind::Unused, attr, item)
}

/// While a compiled function is on the stack, each place that calls the function evaluates it once, whatever the
/// arguments, and has that result until `compiler::reset()`. Anywhere else it simply runs.
///
/// The result is `Clone + Send + Sync + 'static`, and the function has no type parameters.
#[proc_macro_attribute]
pub fn assume_constant_result(attr: TokenStream, item: TokenStream) -> TokenStream {
    marker(MarkerKind::AssumeConstantResult, attr, item)
}

/// `#[substitute_in_graph(original)]`: captured code that calls `original` has this function in its place; plain calls of
/// `original` run it.
///
/// Stands beside `original`, in one module. Both have the same signature, which is checked unless
/// `skip_signature_check = true`. `can_constant_fold_through = false` is accepted, `true` is not available yet.
#[proc_macro_attribute]
pub fn substitute_in_graph(attr: TokenStream, item: TokenStream) -> TokenStream {
    marker(MarkerKind::SubstituteInGraph, attr, item)
}

/// Not available yet: a build error that says so.
#[proc_macro_attribute]
pub fn export(attr: TokenStream, item: TokenStream) -> TokenStream {
    marker(MarkerKind::Export, attr, item)
}

/// A build error: functions of Rust have no overloads. Give each form a name, or take a type parameter.
#[proc_macro_attribute]
pub fn overload_method(attr: TokenStream, item: TokenStream) -> TokenStream {
    marker(MarkerKind::OverloadMethod, attr, item)
}

fn attribute(
    attr: TokenStream,
    item: TokenStream,
    expand: impl FnOnce(Tokens, Tokens) -> Tokens,
) -> TokenStream {
    let (attr, item) = (Tokens::from(attr), Tokens::from(item));
    let timer = Timer::start(|| times::name(item.clone()));
    let tokens = expand(attr, regroup::regroup(item));
    timer.stop();
    tokens.into()
}

fn marker(kind: MarkerKind, attr: TokenStream, item: TokenStream) -> TokenStream {
    attribute(attr, item, |attr, item| marker::expand(kind, attr, item))
}
