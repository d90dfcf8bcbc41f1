//! `Leaf`: a tensor or number of a parameter, as a call reads and writes it.

use super::{Param, ParamTree};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use tensorplay_graph::HostType;

/// What a leaf is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeafKind {
    /// A tensor.
    Tensor,
    /// A number.
    Host(HostType),
    /// Whether an `Option` holds something.
    Present,
}

/// A tensor or number of a parameter.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// What it is.
    pub kind: LeafKind,
    /// Where its type stands.
    pub at: Span,
    /// A reference to a tensor or an `Option`; a number, or a reference to one.
    pub value: TokenStream,
    /// Where a new value goes, if the caller lends it for assignment.
    pub place: Option<TokenStream>,
    /// The `Option`s around it, outermost first: a reference to each, and the name of what it holds.
    pub options: Vec<(TokenStream, Ident)>,
}

/// Whether a place is a reference to what it is a place of.
#[derive(Clone, Copy, PartialEq)]
enum Behind {
    Nothing,
    Shared,
    Mutable,
}

/// A part of a parameter.
#[derive(Clone)]
pub(crate) struct Place {
    /// As an input of the graph is called: `cache.0`.
    pub name: String,
    /// Where the parameter's name stands.
    pub at: Span,
    tokens: TokenStream,
    behind: Behind,
    /// Whether it can be assigned.
    pub lent: bool,
    /// Whether a shared reference is on the way to it.
    shared: bool,
    options: Vec<(TokenStream, Ident)>,
}

impl Place {
    /// The whole of a parameter.
    pub fn of(name: &Ident) -> Place {
        Place {
            name: name.to_string(),
            at: name.span(),
            tokens: quote!(#name),
            behind: Behind::Nothing,
            lent: false,
            shared: false,
            options: Vec::new(),
        }
    }

    /// Its expression.
    pub fn tokens(&self) -> &TokenStream {
        &self.tokens
    }

    /// What a reference refers to.
    pub fn referred(&self, mutable: bool) -> Place {
        let (tokens, shared) = (&self.tokens, self.shared || !mutable);
        Place {
            tokens: match self.behind {
                Behind::Nothing => tokens.clone(),
                _ => quote!((*#tokens)),
            },
            behind: if mutable { Behind::Mutable } else { Behind::Shared },
            lent: !shared && self.options.is_empty(),
            shared,
            ..self.clone()
        }
    }

    /// Part `i` of a tuple or an array.
    pub fn part(&self, i: usize, of_tuple: bool) -> Place {
        let name = match of_tuple {
            true => format!("{}.{i}", self.name),
            false => format!("{}[{i}]", self.name),
        };
        let (tokens, i) = (&self.tokens, Literal::usize_unsuffixed(i));
        Place {
            name,
            tokens: match of_tuple {
                true => quote!(#tokens.#i),
                false => quote!(#tokens[#i]),
            },
            behind: Behind::Nothing,
            ..self.clone()
        }
    }

    /// What an `Option` holds.
    pub fn inside(&self) -> Place {
        let held = format!("__tp_held_{}", self.options.len());
        let held = Ident::new(&held, Span::mixed_site());
        let mut options = self.options.clone();
        options.push((self.reference(), held.clone()));
        Place {
            tokens: quote!(#held),
            behind: Behind::Shared,
            lent: false,
            shared: true,
            options,
            ..self.clone()
        }
    }

    /// What an expression over it gives, `absent` where an `Option` around it holds nothing; `None` if there is such an
    /// `Option` and nothing to give.
    pub fn asked(&self, question: TokenStream, absent: Option<TokenStream>) -> Option<TokenStream> {
        if self.options.is_empty() {
            return Some(question);
        }
        let absent = absent?;
        let around = self.options.iter().rev();
        Some(around.fold(question, |inner, (option, held)| {
            quote_spanned! {Span::mixed_site()=>
                match #option {
                    ::core::option::Option::Some(#held) => #inner,
                    ::core::option::Option::None => #absent,
                }
            }
        }))
    }

    fn reference(&self) -> TokenStream {
        let tokens = &self.tokens;
        match self.behind {
            Behind::Nothing => quote!(&#tokens),
            Behind::Shared => tokens.clone(),
            Behind::Mutable => quote!(&*#tokens),
        }
    }

    fn leaf(&self, kind: LeafKind, at: Span) -> Leaf {
        let tokens = &self.tokens;
        let deref = |tokens: &TokenStream| quote_spanned!(at.resolved_at(Span::mixed_site())=> *#tokens);
        let value = match (kind, self.behind) {
            (LeafKind::Host(_), Behind::Mutable) => deref(tokens),
            (LeafKind::Host(_), _) => tokens.clone(),
            _ => self.reference(),
        };
        let place = match self.behind {
            Behind::Nothing => tokens.clone(),
            _ => deref(tokens),
        };
        Leaf {
            kind,
            at,
            value,
            place: (self.lent && kind == LeafKind::Tensor).then_some(place),
            options: self.options.clone(),
        }
    }
}

impl Param {
    /// Of a list, whose parts follow the parameters, the name and whether its elements can be assigned.
    pub fn list(&self) -> Option<(&Ident, bool)> {
        match self.tree {
            ParamTree::List(_, lent) => Some((&self.name, lent)),
            _ => None,
        }
    }

    /// Its tensors and numbers, from left to right: whether an `Option` is there, then what it holds.
    pub fn leaves(&self) -> Vec<Leaf> {
        let mut out = Vec::new();
        leaves(&self.tree, &Place::of(&self.name), &mut out);
        out
    }
}

fn leaves(tree: &ParamTree, place: &Place, out: &mut Vec<Leaf>) {
    match tree {
        ParamTree::Tensor(at) => out.push(place.leaf(LeafKind::Tensor, *at)),
        ParamTree::Host(ty, at) => out.push(place.leaf(LeafKind::Host(*ty), *at)),
        ParamTree::Reference(mutable, to) => leaves(to, &place.referred(*mutable), out),
        ParamTree::Tuple(parts) | ParamTree::Array(parts) => {
            let of_tuple = matches!(tree, ParamTree::Tuple(_));
            for (i, part) in parts.iter().enumerate() {
                leaves(part, &place.part(i, of_tuple), out);
            }
        }
        ParamTree::Optional(inner) => {
            out.push(place.leaf(LeafKind::Present, first_span(inner)));
            leaves(inner, &place.inside(), out);
        }
        ParamTree::List(..) | ParamTree::Opaque => {}
    }
}

/// Where the first leaf's type stands.
fn first_span(tree: &ParamTree) -> Span {
    match tree {
        ParamTree::Tensor(at) | ParamTree::Host(_, at) => *at,
        ParamTree::Reference(_, to) | ParamTree::Optional(to) => first_span(to),
        ParamTree::Tuple(parts) | ParamTree::Array(parts) => {
            parts.first().map_or_else(Span::call_site, first_span)
        }
        ParamTree::List(..) | ParamTree::Opaque => Span::call_site(),
    }
}
