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
mod self_test;
mod settings;
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
/// * Lists of tensors, of numbers and of tuples of these, whose length a call knows, are whole parameters: `&[T]`, `&mut [T]`, `Vec<T>`,
///   `&Vec<T>` and `&mut Vec<T>`. A `for` loop goes over one, or with `zip` over several, such as layers and their caches.
/// * Parameters, consts and fields of other types (enums, `&str`) can be asked about, by `match`, `if let`, `matches!` and `==`, with
///   patterns that bind nothing. The answers join the key.
/// * Results are `Tensor`, `()`, tuples, arrays, `Vec`s and `Option`s of these, and a `Result` of any, with the user's own error
///   type. How many tensors a `Vec` or `Option` holds may differ from path to path, and a `Vec<Tensor>` may have any length.
///
/// Anything else is a graph break: it stays the Rust that it is, and the statements before and after it are compiled as segments.
/// `explain!` lists every break; with `fullgraph` each is an error.
///
/// Calls of other functions, in `#[compile]` alone, are graph breaks: a function that is compiled itself, or a region, runs its own
/// plan there. With `fullgraph`, or for paths in `inline(..)`, the function is looked up, and its graph joins the caller's; rustc says
/// ``cannot find macro `helper` in this scope`` of one under neither `#[compile]` nor `#[nested_compile_region]`, nor a marker.
/// Functions and methods of one [`model`] module, and methods of its layers, are captured at each call in either case.
///
/// | argument | meaning |
/// |---|---|
/// | `spec(x = f32[B, 784], pair = (f32[2], i64[2]), return = f32[B, 10])` | dtypes and sizes to check at build time and at each call, one a tensor; also `#[spec(f32[B, 784])]` on a parameter |
/// | `dtypes(f32, f16, ..)` | the float types to emit kernels for, f32 by default; others run on the tile VM |
/// | `dynamic = true`, or `dynamic_shapes = true` | one entry serves all sizes that no spec fixes but 0 and 1, which have entries of their own |
/// | `specialize(x = f32[1, 784])`, once or more | kernels for these sizes beside the general ones; a graph break is an error |
/// | `fullgraph` | a graph break is an error, and functions that are called are looked up |
/// | `inline(path, ..)` | these functions are looked up without `fullgraph` too; any other call is a graph break |
/// | `warn_breaks` | a graph break is a warning |
/// | `name = "f"` | the name of the graph, which backends are told too |
/// | `backend = "eager"`, or `backend = PATH` | what compiles the graph at run time, by name, or by a `static` `BackendEntry`; the kernels of the build otherwise |
/// | `mode = "max-autotune"` | a set of options: `default`, `reduce-overhead`, `max-autotune` or `max-autotune-no-cudagraphs` |
/// | `options(fusion = false, ..)` | options of the backend; `name` alone is `name = true` |
/// | `recompile_limit = 4` | how many entries the table holds; one more drops the coldest, or is an error beside `fullgraph` |
/// | `isolate_recompiles` | on a method: each instance, told by its address, has entries and a limit of its own |
/// | `strict_native` | a call that would not run native code is an error |
/// | `self_test` | `cargo test` compares compiled results with those of the operations one by one, with inputs made of the specs |
/// | `disable` | the function stays as it is |
/// | `crate = path` | where this crate is re-exported |
///
/// In a spec a size is an integer (a promise), a name (equal names are equal sizes, and one entry serves all), `_`, `lo..=hi`, or
/// `..` for any rank; the dtype is `f32`, .., `float` (any float) or `_`. `grad` is refused with `not available yet`. Every message has a code, explained in `docs/errors.md`.
#[proc_macro_attribute]
pub fn compile(attr: TokenStream, item: TokenStream) -> TokenStream {
    attribute(attr, item, |attr, item| {
        expand::compile(Under::Compile, attr, item)
    })
}

/// A function that its callers keep as one unit: it is compiled once, and each caller that is captured with it holds it
/// by reference.
///
/// | the call stands in | what it is |
/// |---|---|
/// | `#[compile(fullgraph)]`, or `#[compile(inline(path))]` that names it | one node, which refers to the region |
/// | `#[compile]`, outside of a [`model`] module | a graph break, at which the region runs its own plan |
/// | a function of the same [`model`] module, or one that has it as a layer | one node, with and without `fullgraph` |
/// | plain Rust | a compiled function |
///
/// | argument | meaning |
/// |---|---|
/// | `max_reuse_entries = 8` | for how many kinds of arguments (shapes, dtypes, numbers) one caller may hold it |
/// | `reuse_hash_fn = path` | a `fn(&[compiler::Example]) -> u64` that tells kinds of arguments apart; without it, all of their metadata does |
/// | `options = PATH` | a `static` `compiler::NestedCompileRegionOptions`: the backend that compiles the region wherever it is called |
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
/// of the module, its enums whose variants hold nothing, and structs of other `#[model]` modules, such as the layers of `nn`. A field of another type may be there,
/// but no captured function reads it. Numbers in fields are part of a plan's key, by value; one that changes from call to call is a
/// parameter.
///
/// A call of a function or method of the module is captured where it stands, with and without `fullgraph`: it needs no attribute, and
/// one under `#[nested_compile_region]` is kept as one unit. Functions of other modules are called as [`compile`] says. Methods of
/// structs of other `#[model]` modules are captured if they are `pub`, take tensors beside `&self`, and give a tensor. Methods of traits
/// are not captured; functions such as `new` and `load` stay the Rust that they are.
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

/// A graph does not look into the function: it runs as plain Rust at every call, between two graphs.
///
/// Under `fullgraph`, where there is one graph, a call is an error: an opaque node of a graph is not available yet.
/// Called from anywhere else it is an ordinary function. This holds for all markers below, which go on free functions.
/// Captured code knows the markers of its own `#[model]` module, and those of the functions that it looks up: all under
/// `fullgraph`, otherwise those in `inline(..)`. A call of any other function is a graph break.
#[proc_macro_attribute]
pub fn allow_in_graph(attr: TokenStream, item: TokenStream) -> TokenStream {
    marker(MarkerKind::AllowInGraph, attr, item)
}

/// Like `allow_in_graph`, for functions whose arguments and results are structs of tensors.
#[proc_macro_attribute]
pub fn nonstrict_trace(attr: TokenStream, item: TokenStream) -> TokenStream {
    marker(MarkerKind::NonstrictTrace, attr, item)
}

/// A call is a graph break, whatever the function's body is, and an error under `fullgraph`. Compiled functions inside
/// stay compiled.
#[proc_macro_attribute]
pub fn disallow_in_graph(attr: TokenStream, item: TokenStream) -> TokenStream {
    marker(MarkerKind::DisallowInGraph, attr, item)
}

/// `#[disable(recursive = true, reason = "..")]`: the function runs as plain Rust, and a call is a graph break, or an error
/// under `fullgraph`, which say the reason.
///
/// Compiled functions that it calls run their plain bodies too, as in `compiler::disable_capture`; with `recursive = false`
/// they stay compiled. Beside `#[compile]` it is `#[compile(disable)]`.
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

/// `#[substitute_in_graph(original)]`: captured code that looks up `original` has the graph of this function in its place;
/// plain calls of `original` run it, and so does a graph break.
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
