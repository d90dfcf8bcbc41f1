//! What the names of a `let` are, by the form of its value and by its type.

use super::form::{OWNED, number, of, of_type};
use super::locals::{Local, Locals};
use super::names::{Binding, bindings};
use syn::{Expr, ExprMethodCall, Pat};
use tensorplay_graph::Op;
use tensorplay_graph::op::row::Results;

/// What the names of a `let` are.
pub fn of_let(l: &syn::Local, locals: &Locals) -> Vec<(Binding, Local)> {
    of_pattern(&l.pat, l.init.as_ref().map(|i| &*i.expr), locals)
}

fn of_pattern(pat: &Pat, value: Option<&Expr>, locals: &Locals) -> Vec<(Binding, Local)> {
    let one = |local: Local| {
        bindings(pat)
            .into_iter()
            .map(|b| match b.by_ref {
                true => (b, Local::Opaque),
                false => (b, local.clone()),
            })
            .collect()
    };
    match (pat, value) {
        (Pat::Paren(p), v) => of_pattern(&p.pat, v, locals),
        (Pat::Type(t), v) => match (of_type(&t.ty), v.map(|v| of(v, locals))) {
            // a value tells more of a number than its type
            (Some(Local::Number(n)), Some(Local::Number(v))) => one(number(n.ty, v.stable)),
            (Some(local), _) => one(local),
            (None, _) => one(Local::Opaque),
        },
        (Pat::Ident(i), Some(v)) if i.subpat.is_none() => one(of(v, locals)),
        (Pat::Tuple(t), Some(Expr::Tuple(v))) if t.elems.len() == v.elems.len() => {
            let parts = t.elems.iter().zip(&v.elems);
            parts.flat_map(|(p, v)| of_pattern(p, Some(v), locals)).collect()
        }
        (Pat::Tuple(_) | Pat::Slice(_), Some(v)) if of(v, locals).parts().is_some() => {
            let (Pat::Tuple(syn::PatTuple { elems, .. }) | Pat::Slice(syn::PatSlice { elems, .. })) = pat
            else {
                return one(Local::Opaque);
            };
            match of(v, locals).parts() {
                Some(parts) if parts.len() == elems.len() => {
                    let plain =
                        |p: &Pat| matches!(p, Pat::Ident(i) if i.subpat.is_none() && i.by_ref.is_none());
                    let pairs = elems.iter().zip(parts);
                    let known = |(p, local): (&Pat, Local)| {
                        let local = if plain(p) { local } else { Local::Opaque };
                        bindings(p)
                            .into_iter()
                            .map(move |b| (b, local.clone()))
                            .collect::<Vec<_>>()
                    };
                    pairs.flat_map(known).collect()
                }
                _ => one(Local::Opaque),
            }
        }
        // the two results of an operation such as `sort`
        (Pat::Tuple(t), Some(Expr::MethodCall(m))) if indexed(m) && t.elems.len() == 2 => one(OWNED),
        _ => one(Local::Opaque),
    }
}

fn indexed(m: &ExprMethodCall) -> bool {
    Op::from_name(&m.method.to_string()).is_some_and(|op| op.row().results == Results::Indexed)
}
