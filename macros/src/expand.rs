//! The expansion of `#[compile]`.
//!
//! The item keeps its shape; its body becomes `{ static; if let Some(r) = static.call(..) { return r } statements }`,
//! so rustc checks the user's own tokens, and the statements are the eager path. Locals have
//! `Span::mixed_site`, items begin with `__tp_`, paths are absolute.

use crate::{segment, twin};
use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Expr, ItemFn, Path, Stmt, Type};
use tensorplay_capture::{Captured, Diagnostic, Failure, Param, ParamKind, Read, ReturnTree, code, line};
use tensorplay_stax::{CompileOptions, Compiled};

/// The module of the facade crate that expansions use.
pub fn private(krate: Option<&Path>) -> TokenStream {
    match krate {
        Some(path) => quote!(#path::__private),
        None => quote!(::tensorplay::__private),
    }
}

/// Expands `#[compile(attr)] item`.
pub fn compile(attr: TokenStream, item: TokenStream) -> TokenStream {
    match tensorplay_capture::compile(attr, item) {
        Ok(captured) => expand(captured),
        Err(Failure {
            segmented: Some(s), ..
        }) => segment::expand(*s),
        Err(Failure {
            mut item,
            diagnostics,
            ..
        }) => {
            item.extend(diagnostics.iter().map(|d| d.to_compile_error()));
            item
        }
    }
}

fn expand(c: Captured) -> TokenStream {
    let mut options = CompileOptions::default();
    if let Some(dtypes) = &c.options.dtypes {
        options.dtypes.clone_from(dtypes);
    }
    let compiled = match tensorplay_stax::compile(&c.paths, &options) {
        Ok(compiled) => compiled,
        Err(e) => return internal(&c.item, &e),
    };
    let p = private(c.options.krate.as_ref());
    let record = record(&c.item, &compiled, &p);
    let (reach, before, beside) = reached(&c.item, c.method, c.params.len(), record, &p);
    let dispatch = dispatch(&c, &reach, &p);
    let mut item = c.item;
    let mut stmts = Vec::with_capacity(item.block.stmts.len() + 2);
    if !before.is_empty() {
        stmts.push(Stmt::Item(syn::Item::Verbatim(before)));
    }
    stmts.push(Stmt::Expr(Expr::Verbatim(dispatch), None));
    stmts.append(&mut item.block.stmts);
    item.block.stmts = stmts;
    quote!(#item #beside)
}

/// How the body reaches the function's record, what stands before its statements, and what stands beside the item.
pub fn reached(
    item: &ItemFn,
    method: bool,
    arity: usize,
    record: TokenStream,
    p: &TokenStream,
) -> (TokenStream, TokenStream, TokenStream) {
    let name = &item.sig.ident;
    let function = quote!(static __TP_FUNCTION: #p::Function = #record;);
    if !method {
        return (quote!(__TP_FUNCTION), function, twin::twin(item, arity, p));
    }
    let (vis, meta) = (&item.vis, format_ident!("__tp_meta_{}", name));
    // a trait has no such function: rustc says so at the user's name
    let at = Span::call_site().located_at(name.span());
    let beside = quote_spanned! {at=>
        #[doc(hidden)]
        #[allow(dead_code, non_snake_case)]
        #vis fn #meta() -> &'static #p::Function {
            #function
            &__TP_FUNCTION
        }
    };
    (quote!(Self::#meta()), TokenStream::new(), beside)
}

/// Capture has checked the graph, so a failure from here on is ours.
pub fn internal(item: &ItemFn, e: &dyn std::fmt::Display) -> TokenStream {
    let error = Diagnostic::new(
        code::INTERNAL,
        &item.sig.ident,
        format!("this function could not be compiled: {e}"),
    )
    .help("please report it; `#[compile(disable)]` leaves the function alone")
    .to_compile_error();
    quote!(#item #error)
}

/// The value that holds everything about the function.
pub fn record(item: &ItemFn, compiled: &Compiled, p: &TokenStream) -> TokenStream {
    let place = place(item);
    let blob = Literal::byte_string(&compiled.blob);
    let (items, table) = strips(compiled, p);
    quote!({ #items #p::Function::new(#place, #blob, #table) })
}

/// Its path, file and line.
pub fn place(item: &ItemFn) -> TokenStream {
    let path = format!("::{}", item.sig.ident);
    let line = Literal::u32_unsuffixed(line(item.sig.ident.span()));
    quote!(::core::concat!(::core::module_path!(), #path), ::core::file!(), #line)
}

/// The items of the strips, and the table of them.
fn strips(compiled: &Compiled, p: &TokenStream) -> (TokenStream, TokenStream) {
    let n = compiled.names.len();
    if n == 0 {
        return (TokenStream::new(), quote!(&[]));
    }
    let items = match compiled.strips.parse::<TokenStream>() {
        Ok(items) => items,
        Err(e) => {
            let message = format!("tensorplay: the emitted kernels do not parse ({e}); please report this");
            return (quote!(::core::compile_error!(#message);), quote!(&[]));
        }
    };
    let names = compiled.names.iter().map(|n| Ident::new(n, Span::call_site()));
    let table = |vis: TokenStream, p: &TokenStream| {
        quote! {
            #[allow(unused_imports)]
            use #p::{bf16, f16, strip};
            #items
            #vis static STRIPS: [#p::Strip; #n] = [#(#p::strip::<#names>()),*];
        }
    };
    // a module of their own: a local named as a lower-case const of the user's would be a pattern that is that const
    match in_module(p) {
        Some(p) => {
            let table = table(quote!(pub(super)), &p);
            (quote!(mod __tp_kernels { #table }), quote!(&__tp_kernels::STRIPS))
        }
        None => (table(TokenStream::new(), p), quote!(&STRIPS)),
    }
}

/// A path as a module of the function names it; `None` if only the function's own module may know its first word.
fn in_module(p: &TokenStream) -> Option<TokenStream> {
    match p.clone().into_iter().next() {
        Some(TokenTree::Punct(_)) => Some(p.clone()),
        Some(TokenTree::Ident(i)) if i == "crate" => Some(p.clone()),
        Some(TokenTree::Ident(i)) if i == "super" => Some(quote!(super::#p)),
        Some(TokenTree::Ident(i)) if i == "self" => {
            let rest = p.clone().into_iter().skip(1);
            Some(quote!(super #(#rest)*))
        }
        _ => None,
    }
}

/// `if let Some(r) = f.call(..) { return .. }`.
fn dispatch(c: &Captured, reach: &TokenStream, p: &TokenStream) -> TokenStream {
    let (tensors, scalars) = arguments(&c.params, &c.reads, p);
    // a pattern `r` would be a const of that name where the user has one
    let local = |name: &str| Ident::new(name, Span::mixed_site());
    let (r, o, e) = (local("__tp_result"), local("__tp_outputs"), local("__tp_error"));
    match (&c.returns, c.fallible) {
        (ReturnTree::Tensor, false) => {
            return quote! {
                if let ::core::option::Option::Some(#r) = #reach.tensor(#tensors, #scalars) {
                    return #r;
                }
            };
        }
        (ReturnTree::Tensor, true) => {
            return quote! {
                if let ::core::option::Option::Some(#r) = #reach.try_tensor(#tensors, #scalars) {
                    return ::core::result::Result::map_err(#r, ::core::convert::From::from);
                }
            };
        }
        (ReturnTree::Tuple(_), _) => {}
    }
    let value = outputs(&c.returns, &o, &mut 0);
    let (value, error) = if c.fallible {
        (
            quote!(::core::result::Result::Ok(#value)),
            quote!(::core::result::Result::Err(::core::convert::From::from(#e))),
        )
    } else {
        (value, quote!(#p::raise(#e)))
    };
    quote! {
        if let ::core::option::Option::Some(#r) = #reach.call(#tensors, #scalars) {
            return match #r {
                ::core::result::Result::Ok(mut #o) => #value,
                ::core::result::Result::Err(#e) => #error,
            };
        }
    }
}

pub fn outputs(tree: &ReturnTree, o: &Ident, next: &mut usize) -> TokenStream {
    match tree {
        ReturnTree::Tensor => {
            let i = Literal::usize_unsuffixed(*next);
            *next += 1;
            quote!(#o.take(#i))
        }
        ReturnTree::Tuple(parts) => {
            let parts: Vec<TokenStream> = parts.iter().map(|t| outputs(t, o, next)).collect();
            quote!((#(#parts,)*))
        }
    }
}

/// The tensors and the numbers of a call, each in the order of the graph. An argument of another type is an error at
/// the type, or at the field or const.
pub fn arguments(params: &[Param], reads: &[Read], p: &TokenStream) -> (TokenStream, TokenStream) {
    let (mut tensors, mut scalars) = (Vec::new(), Vec::new());
    for Param { name, ty, kind } in params {
        let at = last_span(ty.to_token_stream()).unwrap_or(name.span());
        let mut shown = name.clone();
        shown.set_span(name.span().located_at(at));
        let at = at.resolved_at(Span::mixed_site());
        let p = &spanned(p, at);
        match kind {
            // a local, of which only its uses told
            ParamKind::Tensor { .. } if matches!(ty, Type::Infer(_)) => {
                tensors.push(quote_spanned!(at=> #p::local(&#shown)));
            }
            ParamKind::Tensor { reference: true } => tensors.push(quote_spanned!(at=> #p::witness(#shown))),
            ParamKind::Tensor { reference: false } => tensors.push(quote_spanned!(at=> #p::witness(&#shown))),
            ParamKind::Host(_) => scalars.push(quote_spanned!(at=> #p::HostArg::from(#shown))),
        }
    }
    for read in reads {
        let (Read::Tensor(place) | Read::Host(place)) = read;
        let at = place
            .clone()
            .into_iter()
            .next()
            .map_or_else(Span::mixed_site, |t| t.span());
        let at = at.resolved_at(Span::mixed_site());
        let p = &spanned(p, at);
        match read {
            Read::Tensor(_) => tensors.push(quote_spanned!(at=> #p::witness(&#place))),
            Read::Host(_) => scalars.push(quote_spanned!(at=> #p::HostArg::from(#place))),
        }
    }
    (quote!(&[#(#tensors),*]), quote!(&[#(#scalars),*]))
}

/// The same path at another place, where rustc reports what it does not take.
fn spanned(p: &TokenStream, at: Span) -> TokenStream {
    p.clone()
        .into_iter()
        .map(|mut t| {
            t.set_span(at);
            t
        })
        .collect()
}

/// The last token of a type names it.
fn last_span(tokens: TokenStream) -> Option<Span> {
    tokens.into_iter().last().map(|t| match t {
        TokenTree::Group(g) => last_span(g.stream()).unwrap_or(g.span_close()),
        other => other.span(),
    })
}
