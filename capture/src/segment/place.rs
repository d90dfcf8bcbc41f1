//! Placeholders: where the segments stand in the body.

use super::locals::{Known, Local};
use super::{Segment, Segmented, inner};
use crate::parameter::{Param, ParamKind};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use syn::{Block, Expr, LocalInit, Macro, MacroDelimiter, Pat, PatIdent, Stmt, StmtMacro, Type, TypeInfer};

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

/// `let name = e;`
pub fn binding(name: &Ident, e: &Expr) -> Stmt {
    Stmt::Local(syn::Local {
        attrs: Vec::new(),
        let_token: Default::default(),
        modifiers: Default::default(),
        pat: Pat::Ident(PatIdent {
            attrs: Vec::new(),
            by_ref: None,
            mutability: None,
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

/// A local as a parameter of a segment. Its type is that of the function's parameter, or inferred and shown at the name.
pub fn input(k: &Known) -> Option<Param> {
    let kind = match &k.local {
        Local::Tensor { refs } => ParamKind::Tensor {
            reference: k.written.is_some() && *refs > 0,
        },
        Local::Number(n) => ParamKind::Host(n.ty),
        Local::Opaque => return None,
    };
    let inferred = TypeInfer {
        attrs: Vec::new(),
        underscore_token: syn::token::Underscore(k.ident.span()),
    };
    Some(Param {
        name: k.ident.clone(),
        ty: k.written.clone().unwrap_or(Type::Infer(inferred)),
        kind,
    })
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
