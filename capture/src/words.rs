//! Words among tokens, however deep they stand in brackets.

use proc_macro2::{Ident, TokenStream, TokenTree};

/// All words, in order.
pub fn words(tokens: TokenStream) -> Vec<Ident> {
    let mut out = Vec::new();
    for t in tokens {
        match t {
            TokenTree::Ident(i) => out.push(i),
            TokenTree::Group(g) => out.extend(words(g.stream())),
            _ => {}
        }
    }
    out
}

/// The first one of that name.
pub fn word(tokens: TokenStream, name: &str) -> Option<Ident> {
    tokens.into_iter().find_map(|t| match t {
        TokenTree::Ident(i) => (i == name).then_some(i),
        TokenTree::Group(g) => word(g.stream(), name),
        _ => None,
    })
}
