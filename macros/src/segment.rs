//! The expansion of a function with graph breaks.
//!
//! Where a segment stands, the body has `match segment.call(..) { .. }`: one arm takes the results, one raises or returns
//! the error, and one runs the statements as they were. All of them only borrow what the others may move, so
//! the borrow checker sees the user's function.

use crate::expand::{arguments, internal, outputs, place, private, reached, record};
use crate::twin;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Expr, GenericArgument, Item, PathArguments, ReturnType, Stmt, Type};
use tensorplay_capture::{Gives, Segment, Segmented};
use tensorplay_stax::CompileOptions;

/// Expands a function that is not captured whole.
pub fn expand(mut s: Segmented) -> TokenStream {
    let mut options = CompileOptions::default();
    if let Some(dtypes) = &s.options.dtypes {
        options.dtypes.clone_from(dtypes);
    }
    let p = private(s.options.krate.as_ref());
    let mut records = Vec::new();
    for segment in &s.segments {
        match tensorplay_stax::compile(&segment.paths, &options) {
            Ok(compiled) => records.push(record(&s.item, &compiled, &p)),
            Err(e) => return internal(&s.item, &e),
        }
    }
    let record = whole(&s, &records, &p);
    let (reach, before, beside) = reached(&s.item, s.method, s.arity, record, &p);
    let fallible = s.fallible;
    s.place(|n, segment| statements(n, segment, fallible, &reach, &p));
    let left = left(&s.item.sig.output, &p);
    let mut items = before;
    if s.options.warn_breaks {
        items.extend(s.breaks.iter().map(twin::break_warning));
    }
    let mut item = s.item;
    let mut stmts = Vec::with_capacity(item.block.stmts.len() + 2);
    if !items.is_empty() {
        stmts.push(Stmt::Item(Item::Verbatim(items)));
    }
    let enter = quote!(if #reach.enter() { #left });
    stmts.push(Stmt::Expr(Expr::Verbatim(enter), None));
    stmts.append(&mut item.block.stmts);
    item.block.stmts = stmts;
    quote!(#item #beside)
}

/// The record of the function: its segments are statics of their own.
fn whole(s: &Segmented, records: &[TokenStream], p: &TokenStream) -> TokenStream {
    let place = place(&s.item);
    let names: Vec<Ident> = (0..records.len())
        .map(|n| format_ident!("SEGMENT_{}", n))
        .collect();
    let breaks = s.breaks.iter().map(|b| {
        let (line, reason) = (Literal::u32_unsuffixed(b.line), &b.reason);
        quote!(#p::BreakRecord { line: #line, reason: #reason })
    });
    quote!({
        #(static #names: #p::Function = #records;)*
        #p::Function::segmented(#place, &[#(&#names),*], &[#(#breaks),*])
    })
}

/// What stands in the place of a segment.
fn statements(n: usize, s: &Segment, fallible: bool, reach: &TokenStream, p: &TokenStream) -> TokenStream {
    let local = |name: &str| Ident::new(name, Span::mixed_site());
    let (o, e, results) = (local("__tp_outputs"), local("__tp_error"), local("__tp_results"));
    let (tensors, scalars) = arguments(&s.inputs, &s.reads, p);
    let n = Literal::usize_unsuffixed(n);
    let raised = match fallible {
        true => quote!(return ::core::result::Result::Err(::core::convert::From::from(#e))),
        false => quote!(#p::raise(#e)),
    };
    let (statements, again) = (&s.statements, &s.again);
    let (assigned, bound) = (&s.assigned, s.bound.iter().map(|b| &b.ident));
    let taken = |i: usize| {
        let i = Literal::usize_unsuffixed(i);
        quote!(#o.take(#i))
    };
    let first = assigned.len();
    let sets = assigned.iter().enumerate().map(|(i, h)| {
        let value = taken(i);
        quote!(#[allow(unused_assignments)] { #h = #value; })
    });
    let (value, plain) = match &s.gives {
        Gives::Nothing if s.bound.is_empty() => (TokenStream::new(), TokenStream::new()),
        Gives::Nothing => {
            let values = (first..first + s.bound.len()).map(taken);
            (quote!((#(#values,)*)), quote!((#(#bound,)*)))
        }
        Gives::Value => (taken(first), TokenStream::new()),
        Gives::Function(tree) => {
            let value = outputs(tree, &o, &mut 0);
            let value = match fallible {
                true => quote!(::core::result::Result::Ok(#value)),
                false => value,
            };
            (quote!(return #value), TokenStream::new())
        }
    };
    let none = assigned.is_empty() && value.is_empty();
    let pattern = if none { quote!(_) } else { quote!(mut #o) };
    let call = quote! {
        match #reach.segment(#n).call(#tensors, #scalars) {
            ::core::option::Option::Some(::core::result::Result::Ok(#pattern)) => { #(#sets)* #value }
            ::core::option::Option::Some(::core::result::Result::Err(#e)) => #raised,
            ::core::option::Option::None => { #(#statements)* #plain }
        }
    };
    if plain.is_empty() {
        return quote!(#call #(#again)*);
    }
    let names = s.bound.iter().map(|b| {
        let (ident, mutable) = (&b.ident, b.mutable.then(|| quote!(mut)));
        quote!(#mutable #ident)
    });
    quote! {
        let #results = #call;
        #[allow(unused_mut, unused_variables)]
        let (#(#names,)*) = #results;
        #(#again)*
    }
}

/// How a function that is only looked for returns.
fn left(output: &ReturnType, p: &TokenStream) -> TokenStream {
    match output {
        ReturnType::Default => quote!(return;),
        ReturnType::Type(_, ty) => match made_up(ty, p) {
            Some(value) => quote!(return #value;),
            None => quote!(#p::leave()),
        },
    }
}

/// Some value of a type.
fn made_up(ty: &Type, p: &TokenStream) -> Option<TokenStream> {
    const DUMMIES: &[&str] = &[
        "Tensor", "usize", "isize", "i64", "i32", "u8", "f32", "f64", "bool", "String", "DType",
    ];
    match ty {
        Type::Paren(t) => made_up(&t.elem, p),
        Type::Group(t) => made_up(&t.elem, p),
        Type::Tuple(t) => {
            let parts: Option<Vec<TokenStream>> = t.elems.iter().map(|t| made_up(t, p)).collect();
            let parts = parts?;
            Some(quote!((#(#parts,)*)))
        }
        Type::Path(t) => {
            let last = t.path.segments.last()?;
            match (last.ident.to_string().as_str(), &last.arguments) {
                (name, PathArguments::None) if DUMMIES.contains(&name) => Some(quote!(#p::dummy())),
                ("Vec", PathArguments::AngleBracketed(_)) => Some(quote!(::std::vec::Vec::new())),
                ("Option", PathArguments::AngleBracketed(_)) => Some(quote!(::core::option::Option::None)),
                ("Result", PathArguments::AngleBracketed(a)) => match a.args.first()? {
                    GenericArgument::Type(inner) => {
                        let value = made_up(inner, p)?;
                        Some(quote!(::core::result::Result::Ok(#value)))
                    }
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}
