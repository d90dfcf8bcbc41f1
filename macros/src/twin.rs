//! The macro-namespace twin of a free function: how `explain!(path::f)` reaches it from its path alone.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::{ItemFn, Visibility};
use tensorplay_capture::{Break, code, context, file};

/// Macros that are in scope everywhere: a twin of such a name would make every use of it ambiguous.
const STANDARD: &[&str] = &[
    "addr_of",
    "assert",
    "assert_eq",
    "assert_matches",
    "assert_ne",
    "cfg",
    "column",
    "compile_error",
    "concat",
    "concat_bytes",
    "concat_idents",
    "dbg",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "env",
    "eprint",
    "eprintln",
    "file",
    "format",
    "format_args",
    "global_asm",
    "include",
    "include_bytes",
    "include_str",
    "is_x86_feature_detected",
    "line",
    "macro_rules",
    "matches",
    "module_path",
    "option_env",
    "panic",
    "print",
    "println",
    "stringify",
    "thread_local",
    "todo",
    "trace_macros",
    "unimplemented",
    "unreachable",
    "vec",
    "write",
    "writeln",
];

const UNREACHED: &str = "`explain!` and `graph!` cannot reach this function";

/// Whether a twin of that name would stand beside a macro that is in scope everywhere.
pub fn is_standard(name: &Ident) -> bool {
    STANDARD.contains(&name.to_string().as_str())
}

/// The items beside a compiled free function; `export` is how it answers a look-up. Dispatch is at its start, so that any
/// arguments reach it.
pub fn twin(item: &ItemFn, p: &TokenStream, export: &TokenStream) -> TokenStream {
    let name = &item.sig.ident;
    if is_standard(name) {
        return warning(name, UNREACHED);
    }
    let p = in_macro(p);
    let dummies = dummies(item, &p);
    let arms = quote! {
        (@explain $($p:tt)*) => { #p::explain(#p::probe(|| $($p)*(#dummies))) };
        (@graphs $($p:tt)*) => { #p::graphs(#p::probe(|| $($p)*(#dummies))) };
        (@function $($p:tt)*) => { #p::probe(|| $($p)*(#dummies)) };
        #export
    };
    declare(name, item, &arms)
}

/// The record of a free function, from beside it.
pub fn probe(item: &ItemFn, p: &TokenStream) -> TokenStream {
    let (name, dummies) = (&item.sig.ident, dummies(item, p));
    quote!(#p::probe(|| #name(#dummies)))
}

fn dummies(item: &ItemFn, p: &TokenStream) -> TokenStream {
    let dummies = item.sig.inputs.iter().map(|_| quote!(#p::dummy()));
    quote!(#(#dummies),*)
}

/// The items beside a free function that has parameters of types of which no value can be made: `function` stands in a type
/// of the function's name, which is imported with it. Also the path that reaches it from the function.
///
/// The type comes through a glob, so that a type or module of that name beside the function hides it.
pub fn of_type(
    item: &ItemFn,
    function: &TokenStream,
    p: &TokenStream,
    export: &TokenStream,
) -> (TokenStream, TokenStream) {
    let (name, vis) = (&item.sig.ident, &item.vis);
    let home = format_ident!("__tp_type_of_{}", name, span = Span::call_site());
    let consts: Vec<_> = item.sig.generics.const_params().collect();
    let (names, types): (Vec<_>, Vec<_>) = consts.iter().map(|c| (&c.ident, &c.ty)).unzip();
    let params = quote!(<#(const #names: #types),*>);
    let reach = quote!(#home::#name::<#(#names),*>::__tp_meta());
    let twin = if is_standard(name) {
        warning(name, UNREACHED)
    } else {
        let p = in_macro(p);
        let arms = quote! {
            (@explain $($p:tt)*) => { #p::explain($($p)*::__tp_meta()) };
            (@graphs $($p:tt)*) => { #p::graphs($($p)*::__tp_meta()) };
            (@function $($p:tt)*) => { $($p)*::__tp_meta() };
            #export
        };
        declare(name, item, &arms)
    };
    let beside = quote! {
        #[doc(hidden)]
        mod #home {
            #[allow(non_camel_case_types, missing_debug_implementations, unreachable_pub)]
            #[doc(hidden)]
            pub enum #name #params {}
        }
        #[doc(hidden)]
        #[allow(unused_imports, hidden_glob_reexports)]
        #vis use #home::*;
        impl #params #home::#name<#(#names),*> {
            #[doc(hidden)]
            #[allow(dead_code)]
            #vis fn __tp_meta() -> &'static #p::Function {
                #function
                &__TP_FUNCTION
            }
        }
        #twin
    };
    (reach, beside)
}

/// A macro `name` with these arms, seen where `item` is.
pub fn declare(name: &Ident, item: &ItemFn, arms: &TokenStream) -> TokenStream {
    let unique = format_ident!("__tp_x_{}_{:016x}", name, hash(&item.sig.ident));
    declare_as(&unique, name, &item.vis, arms)
}

/// What tells a function's name apart from all others of its crate.
pub fn unique(name: &Ident) -> String {
    format!("{name}_{:016x}", hash(name))
}

/// A macro whose own name is `unique`, under `name`.
pub fn declare_as(unique: &Ident, name: &Ident, vis: &Visibility, arms: &TokenStream) -> TokenStream {
    let alias = (unique != name).then(|| quote!(as #name));
    let public = matches!(vis, Visibility::Public(_));
    let (export, vis) = if public {
        (quote!(#[macro_export]), quote!(pub))
    } else {
        (TokenStream::new(), quote!(pub(crate)))
    };
    quote! {
        #[doc(hidden)]
        #[allow(unused_macros, non_local_definitions)]
        #export
        macro_rules! #unique {
            #arms
        }
        #[doc(hidden)]
        #[allow(unused_imports)]
        #vis use #unique #alias;
    }
}

/// A path that begins with `crate` means the crate of the function, wherever the twin is used.
fn in_macro(p: &TokenStream) -> TokenStream {
    let mut trees = p.clone().into_iter().peekable();
    match trees.peek() {
        Some(TokenTree::Ident(i)) if i == "crate" => {
            trees.next();
            quote!($crate #(#trees)*)
        }
        _ => p.clone(),
    }
}

/// FNV-1a of what tells two functions of a crate apart: an exported macro's name is global to the crate.
fn hash(name: &Ident) -> u64 {
    let at = name.span().start();
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let krate = std::env::var("CARGO_CRATE_NAME").unwrap_or_default();
    // two expansions of one `macro_rules!` stand at one place, in contexts of their own
    let context = context(name.span());
    let text = format!(
        "{package}\0{krate}\0{}\0{}\0{}\0{}\0{name}",
        context.unwrap_or_default(),
        file(name.span()),
        at.line,
        at.column
    );
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A warning at the name: the one form of it that stable Rust lets a macro give.
pub fn warning(name: &Ident, what: &str) -> TokenStream {
    let note = format!(
        "[{}] {what}: `{name}` is also a macro of the standard library; rename it, or make it a method with `&self`",
        code::MACRO_NAME
    );
    warn(name, &note)
}

/// A warning where a graph breaks.
pub fn break_warning(b: &Break) -> TokenStream {
    let span = b
        .tokens
        .clone()
        .into_iter()
        .next()
        .map_or_else(Span::mixed_site, |t| t.span());
    let name = Ident::new("graph_break", span);
    warn(&name, &format!("[{}] {}", code::GRAPH_BREAK, b.reason))
}

/// A warning at an identifier: the one form of it that stable Rust lets a macro give.
fn warn(name: &Ident, note: &str) -> TokenStream {
    quote_spanned! {name.span()=>
        const _: () = {
            #[deprecated(note = #note)]
            #[allow(non_upper_case_globals)]
            const #name: () = ();
            #[warn(deprecated)]
            const _: () = #name;
        };
    }
}
