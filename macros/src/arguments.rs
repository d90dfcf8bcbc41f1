//! What a call passes to dispatch, and what it does with the results.
//!
//! A type that is not what capture took it for is an error at the type, or at the field or const.

use proc_macro2::{Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use tensorplay_capture::{Captured, HostType, Leaf, LeafKind, Read, ReturnTree};

/// The tensors and the numbers of a call, each in the order of the graph.
pub fn arguments(c: &Captured, p: &TokenStream) -> (Vec<TokenStream>, Vec<TokenStream>) {
    let (mut tensors, mut scalars) = (Vec::new(), Vec::new());
    for leaf in c.params.iter().flat_map(|param| param.leaves()) {
        match leaf.kind {
            LeafKind::Tensor => tensors.push(argument(&leaf, p)),
            LeafKind::Host(_) | LeafKind::Present => scalars.push(argument(&leaf, p)),
        }
    }
    for read in c.reads.iter().filter(|_| !c.reads_consts()) {
        let Some(place) = read.tokens() else { continue };
        let first = place.clone().into_iter().next();
        let at = first.map_or_else(Span::mixed_site, |t| t.span());
        let at = at.resolved_at(Span::mixed_site());
        let p = &spanned(p, at);
        match read {
            Read::Tensor(_) => tensors.push(quote_spanned!(at=> #p::witness(&#place))),
            _ => scalars.push(quote_spanned!(at=> #p::HostArg::from(#place))),
        }
    }
    (tensors, scalars)
}

/// What a leaf passes; where an `Option` around it is absent, something in its place.
fn argument(leaf: &Leaf, p: &TokenStream) -> TokenStream {
    let at = leaf.at.resolved_at(Span::mixed_site());
    let p = &spanned(p, at);
    let value = located(&leaf.value, leaf.at);
    let (present, absent) = match leaf.kind {
        LeafKind::Tensor => (
            quote_spanned!(at=> #p::witness(#value)),
            quote_spanned!(at=> #p::absent()),
        ),
        LeafKind::Host(ty) => (
            quote_spanned!(at=> #p::HostArg::from(#value)),
            match ty {
                HostType::Bool => quote_spanned!(at=> #p::HostArg::from(false)),
                HostType::DType => quote_spanned!(at=> #p::HostArg::from(#p::DType::F32)),
                ty if ty.is_int() => quote_spanned!(at=> #p::HostArg::from(0i64)),
                _ => quote_spanned!(at=> #p::HostArg::from(0f64)),
            },
        ),
        LeafKind::Present => (
            quote_spanned!(at=> #p::HostArg::from(::core::option::Option::is_some(#value))),
            quote_spanned!(at=> #p::HostArg::from(false)),
        ),
    };
    leaf.options.iter().rev().fold(present, |inner, (option, held)| {
        let option = located(option, leaf.at);
        quote_spanned! {at=>
            match #option {
                ::core::option::Option::Some(#held) => #inner,
                ::core::option::Option::None => #absent,
            }
        }
    })
}

/// The user's names, shown at another place.
fn located(tokens: &TokenStream, at: Span) -> TokenStream {
    let place = |mut t: TokenTree| {
        if let TokenTree::Group(g) = &t {
            t = Group::new(g.delimiter(), located(&g.stream(), at)).into();
        }
        t.set_span(t.span().located_at(at));
        t
    };
    tokens.clone().into_iter().map(place).collect()
}

/// The same path at another place, where rustc reports what it does not take.
pub fn spanned(p: &TokenStream, at: Span) -> TokenStream {
    let place = |mut t: TokenTree| {
        t.set_span(at);
        t
    };
    p.clone().into_iter().map(place).collect()
}

/// The returned value, made of the results `o` from left to right.
pub fn returned(tree: &ReturnTree, o: &Ident) -> TokenStream {
    match tree {
        ReturnTree::Tensor => quote!(#o.tensor()),
        ReturnTree::Tuple(parts) => {
            let parts = parts.iter().map(|t| returned(t, o));
            quote!((#(#parts,)*))
        }
        ReturnTree::Array(of, n) => {
            let parts = (0..*n).map(|_| returned(of, o));
            quote!([#(#parts),*])
        }
        ReturnTree::Vec(of) => {
            let of = returned(of, o);
            quote!(#o.list(|#o| #of))
        }
        ReturnTree::Option(of) => {
            let of = returned(of, o);
            quote!(#o.optional(|#o| #of))
        }
    }
}

/// Assigns what the call gives `&mut` parameters.
pub fn writes(c: &Captured, o: &Ident) -> TokenStream {
    let leaves = c.params.iter().flat_map(|param| param.leaves());
    let tensors = leaves.filter(|l| l.kind == LeafKind::Tensor).zip(0u32..);
    // before what a function needs was looked up, any of them may be
    let written = |i: &u32| c.paths.is_empty() || c.paths.iter().any(|path| path.writes.contains(i));
    let new = Ident::new("__tp_new", Span::mixed_site());
    let write = |(leaf, i): (Leaf, u32)| {
        let place = leaf.place.filter(|_| written(&i))?;
        let i = Literal::u32_unsuffixed(i);
        Some(quote! {
            if let ::core::option::Option::Some(#new) = #o.written(#i) {
                #place = #new;
            }
        })
    };
    tensors.filter_map(write).collect()
}
