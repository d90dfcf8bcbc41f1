//! What a call passes to dispatch, and what it does with the results.
//!
//! A type that is not what capture took it for is an error at the type, or at the field or const.

use proc_macro2::{Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{GenericArgument, PathArguments, ReturnType, Signature, Type};
use tensorplay_capture::{Captured, HostType, Input, Leaf, LeafKind, Options, Param, Read, ReturnTree};
use tensorplay_graph::{GraphModule, Write};

/// The tensors and the numbers of a call, each in the order of the graph.
#[derive(Default)]
pub struct Arguments {
    tensors: Vec<TokenStream>,
    scalars: Vec<TokenStream>,
    /// The last number, behind all others.
    instance: Option<TokenStream>,
}

impl Arguments {
    /// Those of parameters.
    pub fn of_params(params: &[Param], p: &TokenStream) -> Arguments {
        let mut all = Arguments::default();
        for leaf in params.iter().flat_map(Param::leaves) {
            all.push(leaf.kind, argument(&leaf, p));
        }
        all
    }

    /// Those of the locals that a segment reads.
    pub fn of_locals(inputs: &[Input], p: &TokenStream) -> Arguments {
        let mut all = Arguments::default();
        for Input {
            leaf, written, used, ..
        } in inputs
        {
            let at = leaf.at.resolved_at(Span::mixed_site());
            let value = match leaf.kind {
                LeafKind::Tensor if !used => quote!(#p::absent()),
                kind if !used => absent(kind, at, p),
                // only its uses told
                LeafKind::Tensor if !written => {
                    let (p, value) = (spanned(p, at), located(&leaf.value, leaf.at));
                    quote_spanned!(at=> #p::local(#value))
                }
                _ => argument(leaf, p),
            };
            all.push(leaf.kind, value);
        }
        all
    }

    fn push(&mut self, kind: LeafKind, value: TokenStream) {
        match kind {
            LeafKind::Tensor => self.tensors.push(value),
            LeafKind::Host(_) | LeafKind::Present => self.scalars.push(value),
        }
    }

    /// With consts and fields behind them.
    pub fn with(mut self, reads: &[Read], p: &TokenStream) -> Arguments {
        let (tensors, scalars) = read(reads, p);
        self.tensors.extend(tensors);
        self.scalars.extend(scalars);
        self
    }

    /// Of an instance that has entries of its own.
    pub fn of(mut self, instance: Option<TokenStream>) -> Arguments {
        self.instance = instance;
        self
    }

    /// A call of a method of `reach` with them, and with the parts of aggregates behind.
    pub fn call(
        &self,
        reach: &TokenStream,
        method: &str,
        aggregates: &[TokenStream],
        p: &TokenStream,
    ) -> TokenStream {
        let (tensors, scalars, instance) = (&self.tensors, &self.scalars, self.instance.iter());
        let tensors = quote!(&[#(#tensors),*]);
        let method = format_ident!("{}", method);
        let a = Ident::new("__tp_arguments", Span::mixed_site());
        match aggregates.is_empty() {
            // what borrows the parameters is gone before the plain body may move them
            false => quote! {{
                let #a = #p::Arguments::new(#tensors, &[#(#scalars),*])#(.with(#aggregates))*#(.ending(#instance))*;
                #reach.#method(#a.tensors(), #a.hosts())
            }},
            true => {
                let scalars = scalars.iter().chain(instance);
                quote!(#reach.#method(#tensors, &[#(#scalars),*]))
            }
        }
    }
}

fn read(reads: &[Read], p: &TokenStream) -> (Vec<TokenStream>, Vec<TokenStream>) {
    let (mut tensors, mut scalars) = (Vec::new(), Vec::new());
    for read in reads {
        match (read, read.tokens()) {
            (Read::Tensor(_), Some(place)) => {
                let at = start(place);
                let p = &spanned(p, at);
                tensors.push(quote_spanned!(at=> #p::witness(&#place)));
            }
            _ => scalars.extend(number(read, p)),
        }
    }
    (tensors, scalars)
}

/// The instance of a method with `isolate_recompiles`.
pub fn instance(sig: &Signature, options: &Options, p: &TokenStream) -> Option<TokenStream> {
    let this = tensorplay_capture::instance(sig).filter(|_| options.isolate_recompiles)?;
    Some(quote!(#p::instance(#this)))
}

/// A const or field as a number.
pub fn number(read: &Read, p: &TokenStream) -> Option<TokenStream> {
    let place = read.tokens()?;
    let at = start(place);
    let p = &spanned(p, at);
    Some(quote_spanned!(at=> #p::number(#place)))
}

/// Where tokens begin, for what is emitted around them.
fn start(tokens: &TokenStream) -> Span {
    let first = tokens.clone().into_iter().next();
    let at = first.map_or_else(Span::mixed_site, |t| t.span());
    at.resolved_at(Span::mixed_site())
}

/// What makes the error of a call the function's own: at its error type, where rustc reports one that is not made of ours.
pub fn error(output: &ReturnType, p: &TokenStream) -> TokenStream {
    let at = match output {
        ReturnType::Default => Span::mixed_site(),
        ReturnType::Type(_, ty) => start(&error_type(ty).unwrap_or(ty).to_token_stream()),
    };
    let p = &spanned(p, at);
    quote_spanned!(at=> #p::error)
}

/// `E` of `Result<T, E>`.
fn error_type(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Paren(t) => error_type(&t.elem),
        Type::Group(t) => error_type(&t.elem),
        Type::Path(t) => match &t.path.segments.last()?.arguments {
            PathArguments::AngleBracketed(a) => match a.args.iter().nth(1)? {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
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
        LeafKind::Host(_) => (quote_spanned!(at=> #p::number(#value)), absent(leaf.kind, at, p)),
        LeafKind::Present => (
            quote_spanned!(at=> #p::number(::core::option::Option::is_some(#value))),
            absent(leaf.kind, at, p),
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

/// A number in the place of one that is not there.
fn absent(kind: LeafKind, at: Span, p: &TokenStream) -> TokenStream {
    match kind {
        LeafKind::Host(HostType::DType) => quote_spanned!(at=> #p::number(#p::DType::F32)),
        LeafKind::Host(ty) if ty.is_int() => quote_spanned!(at=> #p::number(0i64)),
        LeafKind::Host(ty) if ty != HostType::Bool => quote_spanned!(at=> #p::number(0f64)),
        _ => quote_spanned!(at=> #p::number(false)),
    }
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
        ReturnTree::Struct(name, fields) => {
            let name = format_ident!("{}", name);
            let fields = fields.iter().map(|(field, t)| {
                let value = returned(t, o);
                let member: syn::Member = match field.parse::<usize>() {
                    Ok(i) => i.into(),
                    Err(_) => format_ident!("{}", field).into(),
                };
                quote!(#member: #value)
            });
            quote!(#name { #(#fields),* })
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

/// Assigns what the call gives the parts of lists; `own` tensors are of other parameters.
pub fn list_writes(c: &Captured, own: usize, o: &Ident, p: &TokenStream) -> TokenStream {
    let own = own as u32;
    let of_list = |w: &Write| match w {
        Write::Input(i) => *i >= own,
        Write::Elements(..) => true,
    };
    let lent = c.params.iter().filter_map(Param::list).any(|(_, lent)| lent);
    if !lent || !may_write(&c.paths, of_list) {
        return TokenStream::new();
    }
    let (w, own) = (
        Ident::new("__tp_writer", Span::mixed_site()),
        Literal::u32_unsuffixed(own),
    );
    let receiver = c.receiver.iter().map(|this| quote!(#w.skip(#this);));
    let lists = c
        .params
        .iter()
        .filter_map(Param::list)
        .map(|(name, lent)| match lent {
            true => quote!(#w.write(&mut *#name);),
            false => quote!(#w.skip(&#name);),
        });
    quote! {
        let mut #w = #p::Writer::new(&mut #o, #own);
        #(#receiver)* #(#lists)*
    }
}

/// Whether some path writes such a place; before what a function needs was looked up, one may.
fn may_write(paths: &[GraphModule], place: impl Fn(&Write) -> bool) -> bool {
    paths.is_empty() || paths.iter().any(|path| path.writes.iter().any(&place))
}

/// Assigns what the call gives `&mut` parameters.
pub fn writes(leaves: impl Iterator<Item = Leaf>, paths: &[GraphModule], o: &Ident) -> TokenStream {
    let tensors = leaves.filter(|l| l.kind == LeafKind::Tensor).zip(0u32..);
    let written = |i: &u32| may_write(paths, |w| *w == Write::Input(*i));
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
