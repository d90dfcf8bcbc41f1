//! Placeholders: where the segments stand in the body.

use super::key::Used;
use super::locals::{Known, Local};
use super::{Input, Segment, Segmented, inner};
use crate::parameter::{Leaf, LeafKind};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use syn::{Block, Expr, LocalInit, Macro, MacroDelimiter, Pat, PatIdent, Stmt, StmtMacro};

const NAME: &str = "__tp_segment";

/// The statement that stands where segment `n` does.
pub fn placeholder(n: usize) -> Stmt {
    let n = Literal::usize_unsuffixed(n);
    Stmt::Macro(StmtMacro {
        attrs: Vec::new(),
        mac: Macro {
            path: Ident::new(NAME, proc_macro2::Span::mixed_site()).into(),
            bang_token: Default::default(),
            delimiter: MacroDelimiter::Brace(Default::default()),
            tokens: quote!(#n),
        },
        semi_token: None,
    })
}

fn number(s: &Stmt) -> Option<usize> {
    match s {
        Stmt::Macro(m) if m.mac.path.is_ident(NAME) => m.mac.tokens.to_string().parse().ok(),
        _ => None,
    }
}

/// `let name = e;`, or `let mut name = e;`
pub fn binding(name: &Ident, mutable: bool, e: &Expr) -> Stmt {
    Stmt::Local(syn::Local {
        attrs: Vec::new(),
        let_token: Default::default(),
        modifiers: Default::default(),
        pat: Pat::Ident(PatIdent {
            attrs: Vec::new(),
            by_ref: None,
            mutability: mutable.then(Default::default),
            ident: name.clone(),
            subpat: None,
        }),
        init: Some(LocalInit {
            eq_token: Default::default(),
            expr: Box::new(e.clone()),
            diverge: None,
        }),
        semi_token: Default::default(),
    })
}

/// The tensors and numbers of a local as inputs of a segment, of which `used` tells the tensors and numbers by number.
pub fn inputs(locals: &[Known], used: &Used) -> Vec<Input> {
    let (mut tensors, mut scalars) = (used.tensors.iter(), used.scalars.iter());
    let mut out = Vec::new();
    for k in locals {
        let leaves = match &k.param {
            Some((p, _)) => p.leaves(),
            None => vec![leaf(k)],
        };
        for leaf in leaves {
            let flags = if leaf.kind == LeafKind::Tensor {
                &mut tensors
            } else {
                &mut scalars
            };
            out.push(Input {
                name: k.ident.clone(),
                leaf,
                written: k.param.is_some(),
                used: flags.next().copied().unwrap_or(true),
            });
        }
    }
    out
}

/// A local whose type is inferred, shown at its name.
fn leaf(k: &Known) -> Leaf {
    let name = &k.ident;
    let (kind, value) = match &k.local {
        Local::Number(n) => (LeafKind::Host(n.ty), quote!(#name)),
        _ => (LeafKind::Tensor, quote!(&#name)),
    };
    Leaf {
        kind,
        at: name.span(),
        value,
        place: None,
        options: Vec::new(),
    }
}

impl Segmented {
    /// Puts what `emit` makes of each segment, statements or the value of a block, in its place.
    pub fn place(&mut self, mut emit: impl FnMut(usize, &Segment) -> TokenStream) {
        let segments = &self.segments;
        put(&mut self.item.block, &mut |n| emit(n, &segments[n]));
    }
}

fn put(block: &mut Block, emit: &mut dyn FnMut(usize) -> TokenStream) {
    for s in &mut block.stmts {
        if let Some(n) = number(s) {
            *s = Stmt::Expr(Expr::Verbatim(emit(n)), None);
        } else if let Some(e) = inner::expression(s) {
            inner::blocks(e, &mut |b| put(b, emit));
        }
    }
}
