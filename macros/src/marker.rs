//! The expansion of markers: what a marked function does where it is called from plain Rust, and its twin, by which capture
//! finds the marker.

use crate::expand::{failure, private};
use crate::{chain, twin};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use std::rc::Rc;
use syn::{FnArg, ItemFn, ReturnType, Stmt, parse_quote};
use tensorplay_capture::{
    Diagnostic, Env, Exported, FnExport, Marked, MarkedExport, Marker, MarkerKind, Under, code, mark,
};

/// Expands `#[kind(attr)] item`.
pub fn expand(kind: MarkerKind, attr: TokenStream, item: TokenStream) -> TokenStream {
    let Marked { mut item, marker } = match mark(kind, attr, item) {
        Ok(marked) => marked,
        Err(f) => return failure(f),
    };
    let p = private(marker.krate.as_ref());
    let beside = match &marker.original {
        Some(original) => {
            let witness = witness(&item, original, marker.skip_signature_check);
            let name = item.sig.ident.to_string();
            let export = chain::export_arm(&substitute(&item, &marker));
            let arms = quote!((@replacement) => { #name }; #export);
            let twin = twin(original, &item, &marker, &arms);
            quote!(#twin #witness)
        }
        None => {
            let reason = marker.reason.iter();
            let export = chain::export_arm(&marked(&marker));
            let arms = quote!(#((@reason) => { #reason };)* #export);
            twin(&item.sig.ident, &item, &marker, &arms)
        }
    };
    match kind {
        MarkerKind::Disable if marker.recursive => disable(&mut item, &p),
        MarkerKind::AssumeConstantResult => assume(&mut item, &p),
        // captured code alone may call it
        MarkerKind::SubstituteInGraph => item.attrs.push(parse_quote!(#[allow(dead_code)])),
        _ => {}
    }
    quote!(#item #beside)
}

fn marked(marker: &Marker) -> Exported {
    Exported::Marked(MarkedExport {
        marker: marker.kind.name().to_string(),
        reason: marker.reason.clone(),
    })
}

/// What captured code has in place of the original: the graph of the substitute.
fn substitute(item: &ItemFn, marker: &Marker) -> Exported {
    let krate = marker.krate.iter().map(|path| quote!(, crate = #path));
    let attr = quote!(fullgraph #(#krate)*);
    let env = Rc::new(Env::default());
    let item = item.to_token_stream();
    let alone = tensorplay_capture::needs(&env, Under::Compile, &attr, &item).is_empty();
    let captured = tensorplay_capture::compile_in(&env, Under::Compile, attr, item);
    let graph = captured.ok().filter(|_| alone).map(|c| c.export());
    match graph.filter(FnExport::is_closed) {
        Some(graph) => Exported::Function(graph),
        None => marked(marker),
    }
}

/// The macro `name` that tells the marker.
fn twin(name: &Ident, item: &ItemFn, marker: &Marker, arms: &TokenStream) -> TokenStream {
    let kind = marker.kind.name();
    if twin::is_standard(name) {
        const HIDDEN: &str = "captured code cannot find this marker";
        if marker.kind.acts_when_run() {
            return twin::warning(name, HIDDEN);
        }
        let message = format!("{HIDDEN}: `{name}` is also a macro of the standard library");
        return Diagnostic::new(code::MACRO_NAME, name, message)
            .help("rename the function")
            .to_compile_error();
    }
    let message = match &marker.original {
        Some(_) => format!("`{name}` is replaced in graphs by `{}`", item.sig.ident),
        None => format!("`{name}` is marked `#[{kind}]`"),
    };
    let message = format!(
        "[{}] {message}: it is not compiled\n  help: explain a function under `#[compile]`",
        code::FUNCTION_PATH
    );
    let arms = quote! {
        (@kind) => { #kind };
        #arms
        (@explain $($p:tt)*) => { ::core::compile_error!(#message) };
        (@graphs $($p:tt)*) => { ::core::compile_error!(#message) };
    };
    twin::declare(name, item, &arms)
}

/// Compiled functions run their plain bodies until the function returns.
fn disable(item: &mut ItemFn, p: &TokenStream) {
    let guard = Ident::new("__tp_disabled", Span::mixed_site());
    let first: Stmt = parse_quote!(let #guard = #p::disabled(););
    item.block.stmts.insert(0, first);
}

/// The body becomes a closure that the runtime calls when it has no value for the call site.
fn assume(item: &mut ItemFn, p: &TokenStream) {
    let (ty, body) = (result(item), &item.block);
    let at = ty
        .clone()
        .into_iter()
        .next()
        .map_or_else(Span::call_site, |t| t.span());
    let assumed = quote_spanned!(at.resolved_at(Span::call_site())=> assumed);
    *item.block = parse_quote!({
        static __TP_ASSUMED: #p::Assumed = #p::Assumed::new();
        #p::#assumed::<#ty, _>(&__TP_ASSUMED, ::core::panic::Location::caller(), || -> #ty #body)
    });
    if !item.attrs.iter().any(|a| a.path().is_ident("track_caller")) {
        item.attrs.push(parse_quote!(#[track_caller]));
    }
}

fn result(item: &ItemFn) -> TokenStream {
    match &item.sig.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) => ty.to_token_stream(),
    }
}

/// Both functions as one type of function pointer: rustc reports another signature at the original's name.
fn witness(item: &ItemFn, original: &Ident, skip: bool) -> TokenStream {
    if skip {
        return TokenStream::new();
    }
    let sig = &item.sig;
    let types = sig.inputs.iter().filter_map(|i| match i {
        FnArg::Typed(t) => Some(&t.ty),
        FnArg::Receiver(_) => None,
    });
    let (params, bounds) = (&sig.generics, &sig.generics.where_clause);
    let ty = result(item);
    let name = format_ident!("__tp_signature_of_{}", original, span = Span::mixed_site());
    quote! {
        const _: () = {
            #[allow(dead_code, clippy::all)]
            fn #name #params() #bounds {
                let _: fn(#(#types),*) -> #ty = #original;
            }
        };
    }
}
