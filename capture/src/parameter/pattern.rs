//! Patterns as parameters: as many parameters as they have names.

use super::{Param, ParamTree};
use crate::diagnostic::{Diagnostic, code};
use proc_macro2::Span;
use quote::format_ident;
use syn::visit::{self, Visit};
use syn::{FnArg, Pat, Signature, parse_quote};

/// The names of a pattern, with what each is.
pub(super) fn params(pat: &Pat, tree: ParamTree) -> Result<Vec<Param>, Diagnostic> {
    let mut out = Vec::new();
    take_apart(pat, tree, None, &mut out)?;
    Ok(out)
}

/// `through` is the reference through which rustc binds names, if it does: whether it is `&mut`.
fn take_apart(
    pat: &Pat,
    tree: ParamTree,
    through: Option<bool>,
    out: &mut Vec<Param>,
) -> Result<(), Diagnostic> {
    match (pat, tree) {
        (Pat::Ident(i), tree) if i.by_ref.is_none() && i.subpat.is_none() => {
            out.push(Param {
                name: i.ident.clone(),
                tree: match through {
                    Some(mutable) => ParamTree::Reference(mutable, Box::new(tree)),
                    None => tree,
                },
                constant: false,
            });
            Ok(())
        }
        (Pat::Paren(p), tree) => take_apart(&p.pat, tree, through, out),
        (Pat::Reference(r), ParamTree::Reference(_, to)) => take_apart(&r.pat, *to, None, out),
        (Pat::Tuple(_) | Pat::Slice(_), ParamTree::Reference(mutable, to)) => {
            let through = through.unwrap_or(true) && mutable;
            take_apart(pat, *to, Some(through), out)
        }
        (Pat::Tuple(t), ParamTree::Tuple(trees)) if fits(&t.elems, trees.len()) => {
            let mut parts = t.elems.iter().zip(trees);
            parts.try_for_each(|(p, tree)| take_apart(p, tree, through, out))
        }
        (Pat::Slice(s), ParamTree::Array(trees)) if fits(&s.elems, trees.len()) => {
            let mut parts = s.elems.iter().zip(trees);
            parts.try_for_each(|(p, tree)| take_apart(p, tree, through, out))
        }
        (other, _) => Err(Diagnostic::new(
            code::PARAMETER,
            other,
            "this pattern of a parameter cannot be captured yet",
        )
        .help("name the parameter and take it apart with `let`")),
    }
}

fn fits<P>(parts: &syn::punctuated::Punctuated<Pat, P>, n: usize) -> bool {
    parts.len() == n && !parts.iter().any(|p| matches!(p, Pat::Rest(_)))
}

/// Gives every `_` of a parameter a name, by which dispatch reads it.
pub fn name_wildcards(sig: &mut Signature) {
    let mut n = 0;
    for input in &mut sig.inputs {
        if let FnArg::Typed(t) = input {
            name_in(&mut t.pat, &mut n);
        }
    }
}

fn name_in(pat: &mut Pat, n: &mut usize) {
    match pat {
        Pat::Wild(w) if w.attrs.is_empty() => {
            let at = Span::mixed_site().located_at(w.underscore_token.span);
            let ident = format_ident!("__tp_unnamed_{n}", span = at);
            *n += 1;
            *pat = parse_quote!(#ident);
        }
        Pat::Paren(p) => name_in(&mut p.pat, n),
        Pat::Reference(r) => name_in(&mut r.pat, n),
        Pat::Tuple(t) => t.elems.iter_mut().for_each(|p| name_in(p, n)),
        Pat::Slice(s) => s.elems.iter_mut().for_each(|p| name_in(p, n)),
        _ => {}
    }
}

/// The names that a parameter binds, as written.
pub fn names(input: &FnArg) -> Vec<String> {
    struct Names(Vec<String>);
    impl<'ast> Visit<'ast> for Names {
        fn visit_pat_ident(&mut self, i: &'ast syn::PatIdent) {
            self.0.push(i.ident.to_string());
            visit::visit_pat_ident(self, i);
        }
    }
    let mut names = Names(Vec::new());
    if let FnArg::Typed(t) = input {
        names.visit_pat(&t.pat);
    }
    names.0
}
