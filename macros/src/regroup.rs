//! Fragments of `macro_rules!` stay one operand.
//!
//! Problem: `$e:expr` comes as a group without delimiters, which rustc does not see in what a macro gives: `2.0 * $e` with
//! `1.0 + 2.0` is 4.
//!
//! Method: before anything else, such a group gets parentheses if an expression of an operator is in it. Types and patterns
//! that read as one (`&T`, `A | B`) keep their meaning in parentheses.
//!
//! Invariant: an item without such groups stays token for token.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;
use syn::{Expr, Lit, UnOp};

/// The item with parentheses in place of its groups without delimiters.
pub fn regroup(item: TokenStream) -> TokenStream {
    match regrouped(&item) {
        // where they are not needed is for the macro's caller to know
        Some(item) => quote!(#[allow(unused_parens, clippy::double_parens)] #item),
        None => item,
    }
}

/// `None` if nothing changes.
fn regrouped(tokens: &TokenStream) -> Option<TokenStream> {
    let mut out: Vec<TokenTree> = Vec::new();
    let mut changed = false;
    let mut trees = tokens.clone().into_iter().peekable();
    // `#`, `#!`: an attribute reads its arguments as they are
    let mut attribute = false;
    while let Some(tree) = trees.next() {
        let hash =
            matches!(&tree, TokenTree::Punct(p) if p.as_char() == '#' || attribute && p.as_char() == '!');
        let inside = !std::mem::replace(&mut attribute, hash);
        let tree = match tree {
            TokenTree::Group(g) if inside || g.delimiter() != Delimiter::Bracket => {
                let inner = regrouped(&g.stream());
                let delimiter = match g.delimiter() {
                    Delimiter::None if is_operator(inner.as_ref().unwrap_or(&g.stream()), trees.peek()) => {
                        Delimiter::Parenthesis
                    }
                    other => other,
                };
                if inner.is_some() || delimiter != g.delimiter() {
                    changed = true;
                    let mut group = Group::new(delimiter, inner.unwrap_or_else(|| g.stream()));
                    group.set_span(g.span());
                    TokenTree::Group(group)
                } else {
                    TokenTree::Group(g)
                }
            }
            other => other,
        };
        out.push(tree);
    }
    changed.then(|| out.into_iter().collect())
}

/// Whether the tokens are an expression that what stands beside them may take apart.
fn is_operator(tokens: &TokenStream, next: Option<&TokenTree>) -> bool {
    if tokens.clone().into_iter().nth(1).is_none() {
        return false;
    }
    match syn::parse2::<Expr>(tokens.clone()) {
        // a literal of patterns and const arguments too: `-1.abs()`
        Ok(Expr::Unary(u)) if matches!((&u.op, &*u.expr), (UnOp::Neg(_), Expr::Lit(_))) => {
            matches!(next, Some(TokenTree::Punct(p)) if p.as_char() == '?' || p.as_char() == '.' && p.spacing() == proc_macro2::Spacing::Alone)
        }
        // what an attribute may hold: `feature = ".."`
        Ok(Expr::Assign(a)) => !matches!(&*a.right, Expr::Lit(l) if matches!(l.lit, Lit::Str(_))),
        Ok(
            Expr::Binary(_)
            | Expr::Break(_)
            | Expr::Cast(_)
            | Expr::Closure(_)
            | Expr::Range(_)
            | Expr::RawAddr(_)
            | Expr::Reference(_)
            | Expr::Return(_)
            | Expr::Unary(_)
            | Expr::Yield(_),
        ) => true,
        _ => false,
    }
}
