//! The expansion of a function with graph breaks.
//!
//! Where a segment stands, the body has `match segment.call(..) { .. }`: one arm takes the results, one raises or returns
//! the error, and one runs the statements as they were. All of them only borrow what the others may move, so
//! the borrow checker sees the user's function.

use crate::arguments::{Arguments, error, instance, returned, writes};
use crate::expand::{Twin, about, internal, options, place, private, reached, value};
use crate::settings::settings;
use crate::twin;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{GenericArgument, PathArguments, ReturnType, Type};
use tensorplay_capture::{Gives, Segment, Segmented, code};

/// Expands a function that is not captured whole.
pub fn expand(mut s: Segmented) -> TokenStream {
    let p = private(s.options.krate.as_ref());
    let mut records = Vec::new();
    for segment in &s.segments {
        let consts = if segment.reads_consts {
            &segment.reads[..]
        } else {
            &[]
        };
        let mut more = about(&segment.codes, &segment.callees, consts, &p);
        more.extend(settings(&s.options, &p));
        match tensorplay_stax::compile(&segment.paths, &options(&s.options)) {
            Ok(compiled) => records.push(value(&s.item, s.owner.as_deref(), &compiled, &more, &p)),
            Err(e) => return internal(&s.item, &e),
        }
    }
    let record = whole(&s, &records, &p);
    let record = quote!(static __TP_FUNCTION: #p::Function = #record;);
    let name = &s.item.sig.ident;
    let message = format!(
        "[{}] `{name}` has graph breaks, so that no graph can hold a call of it\n  help: write `fullgraph` on it to see them, and mend them there",
        code::CALL
    );
    let export = quote!((@export $($t:tt)*) => { ::core::compile_error!(#message); };);
    let mut reached = reached(&s.item, s.method, s.opaque, record, Twin::Own(export), &s.options);
    let (fallible, reach) = (s.fallible, reached.reach.clone());
    let error = fallible.then(|| error(&s.item.sig.output, &p));
    let local = Ident::new("__tp_instance", Span::mixed_site());
    // the first segment may move what the next ones are of
    let instance = instance(&s.item.sig, &s.options, &p).filter(|_| !s.segments.is_empty());
    let of = instance.as_ref().map(|_| &local);
    s.place(|n, segment| statements(n, segment, of, error.as_ref(), &reach, &p));
    let left = left(&s.item.sig.output, &p);
    if s.options.warn_breaks {
        reached.before.extend(s.breaks.iter().map(twin::break_warning));
    }
    let entered = Ident::new("__tp_entered", Span::mixed_site());
    let enter = quote! {
        let ::core::option::Option::Some(#entered) = #reach.enter() else { #left };
    };
    let instance = instance.map(|this| quote!(let #local = #this;));
    reached.item(s.item, quote!(#enter #instance))
}

/// The record of the function: its segments are statics of their own.
fn whole(s: &Segmented, records: &[TokenStream], p: &TokenStream) -> TokenStream {
    let place = place(&s.item, s.owner.as_deref());
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
///
/// `instance` is what the call is of; `error` makes the error of a function that returns a `Result`.
fn statements(
    n: usize,
    s: &Segment,
    instance: Option<&Ident>,
    error: Option<&TokenStream>,
    reach: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let local = |name: &str| Ident::new(name, Span::mixed_site());
    let (o, e, results) = (local("__tp_outputs"), local("__tp_error"), local("__tp_results"));
    let reads = if s.reads_consts { &[] } else { &s.reads[..] };
    let given = Arguments::of_locals(&s.inputs, p)
        .with(reads, p)
        .of(instance.map(|local| quote!(#local)));
    let n = Literal::usize_unsuffixed(n);
    let raised = match error {
        Some(error) => quote!(return ::core::result::Result::Err(#error(#e))),
        None => quote!(#p::raise(#e)),
    };
    let (statements, again) = (&s.statements, &s.again);
    let (assigned, bound) = (&s.assigned, s.bound.iter().map(|b| &b.ident));
    let sets = assigned
        .iter()
        .map(|h| quote!(#[allow(unused_assignments)] { #h = #o.tensor(); }));
    let (value, plain) = match &s.gives {
        Gives::Nothing if s.bound.is_empty() => (TokenStream::new(), TokenStream::new()),
        Gives::Nothing => {
            let values = s.bound.iter().map(|_| quote!(#o.tensor()));
            (quote!((#(#values,)*)), quote!((#(#bound,)*)))
        }
        Gives::Value => (quote!(#o.tensor()), TokenStream::new()),
        Gives::Function(tree) => (returned(tree, &o), TokenStream::new()),
    };
    let leaves = s.inputs.iter().map(|i| i.leaf.clone());
    let writes = writes(leaves, &s.paths, &o);
    let none = assigned.is_empty() && value.is_empty() && writes.is_empty();
    let pattern = if none { quote!(_) } else { quote!(mut #o) };
    // what is written is taken last
    let value = match (value.is_empty(), writes.is_empty()) {
        (_, true) => value,
        (true, false) => writes,
        (false, false) => {
            let v = local("__tp_value");
            quote!({ let #v = #value; #writes #v })
        }
    };
    let value = match (&s.gives, error.is_some()) {
        (Gives::Function(_), true) => quote!(return ::core::result::Result::Ok(#value)),
        (Gives::Function(_), false) => quote!(return #value),
        _ => value,
    };
    let call = given.call(&quote!(#reach.segment(#n)), "call", s.receiver.as_slice(), p);
    let call = quote! {
        match #call {
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
