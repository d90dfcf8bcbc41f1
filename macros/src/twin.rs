//! The macro-namespace twin of a free function: how `explain!(path::f)` reaches it from its path alone.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::{ItemFn, Visibility};
use tensorplay_capture::{Break, code, file};

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

/// The items beside a free function with `arity` parameters.
pub fn twin(item: &ItemFn, arity: usize, p: &TokenStream) -> TokenStream {
    let name = &item.sig.ident;
    if STANDARD.contains(&name.to_string().as_str()) {
        return warning(name);
    }
    let unique = format_ident!("__tp_x_{}_{}", name, format!("{:016x}", hash(name)));
    let p = in_macro(p);
    let dummies: Vec<TokenStream> = (0..arity).map(|_| quote!(#p::dummy())).collect();
    let dummies = quote!(#(#dummies),*);
    let public = matches!(item.vis, Visibility::Public(_));
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
            (@explain $($p:tt)*) => { #p::explain(#p::probe(|| { let _ = $($p)*(#dummies); })) };
            (@graphs $($p:tt)*) => { #p::graphs(#p::probe(|| { let _ = $($p)*(#dummies); })) };
        }
        #[doc(hidden)]
        #[allow(unused_imports)]
        #vis use #unique as #name;
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
    // two expansions of one `macro_rules!` stand at one place, in contexts of their own: `#7 bytes(..)`
    let context = format!("{:?}", name.span());
    let context = context.split(' ').next().filter(|c| c.starts_with('#'));
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

/// A warning at the name.
fn warning(name: &Ident) -> TokenStream {
    let note = format!(
        "[{}] `explain!` and `graph!` cannot reach this function: `{name}` is also a macro of the standard library; rename it, or make it an associated function",
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
