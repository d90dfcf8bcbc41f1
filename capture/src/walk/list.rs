//! Lists: a `Vec` of tensors that grows, iterators that are collected into one, and the macros `vec!` and `matches!`.

use super::Walk;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::{Kind, PartOf, Pieces};
use crate::location::{location, tokens};
use crate::model::Ty;
use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Expr, ExprForLoop, ExprMethodCall, ExprRepeat, GenericArgument, Macro, Pat, Token, Type,
    parse_quote_spanned,
};
use tensorplay_graph::{Arg, Expr as Scalar, Host, HostBinary, HostType, Op, Value};

/// `a, b`, or `a; n`.
enum Elements {
    Listed(Punctuated<Expr, Token![,]>),
    Repeated(Box<Expr>, Token![;], Box<Expr>),
}

impl Parse for Elements {
    fn parse(input: ParseStream<'_>) -> syn::Result<Elements> {
        if input.is_empty() {
            return Ok(Elements::Listed(Punctuated::new()));
        }
        let first = input.parse()?;
        if input.peek(Token![;]) {
            let (semi, n) = (input.parse()?, input.parse()?);
            return Ok(Elements::Repeated(Box::new(first), semi, Box::new(n)));
        }
        let mut all = Punctuated::new();
        all.push_value(first);
        while !input.is_empty() {
            all.push_punct(input.parse()?);
            if !input.is_empty() {
                all.push_value(input.parse()?);
            }
        }
        Ok(Elements::Listed(all))
    }
}

impl Walk {
    /// A macro of the standard library that means something to a graph, or a refusal.
    pub(super) fn macro_call(&mut self, m: &Macro) -> Kind {
        let name = m.path.segments.last().map(|s| s.ident.to_string());
        match name.as_deref() {
            _ if self.hides(&m.path) => self.refuse_macro(m),
            Some("vec") => match m.parse_body::<Elements>() {
                Ok(Elements::Listed(all)) => Kind::List(all.iter().map(|e| self.expr(e)).collect()),
                Ok(Elements::Repeated(element, semi_token, n)) => self.repeat(&ExprRepeat {
                    attrs: Vec::new(),
                    bracket_token: Default::default(),
                    expr: element,
                    semi_token,
                    len: n,
                }),
                Err(_) => self.refuse_macro(m),
            },
            Some("matches") => {
                let parse = |input: ParseStream<'_>| {
                    let value: Expr = input.parse()?;
                    input.parse::<Token![,]>()?;
                    let pat = Pat::parse_multi_with_leading_vert(input)?;
                    let _: Option<Token![,]> = input.parse()?;
                    Ok((value, pat))
                };
                match Parser::parse2(parse, m.tokens.clone()) {
                    Ok((value, pat)) => {
                        let kind = self.expr(&value);
                        self.scope.enter();
                        let fits = self.fits(&pat, kind);
                        self.scope.leave();
                        fits.map_or(Kind::Unknown, |fits| {
                            Kind::Host(tensorplay_graph::Expr::Literal(Host::Bool(fits)))
                        })
                    }
                    Err(_) => self.refuse_macro(m),
                }
            }
            _ => self.refuse_macro(m),
        }
    }

    /// `list.push(value)` of a local; `None` if this is no such call.
    pub(super) fn push(&mut self, m: &ExprMethodCall) -> Option<Kind> {
        if m.method != "push" || m.args.len() != 1 || !is_place(&m.receiver) {
            return None;
        }
        let list = match self.expr(&m.receiver) {
            list @ (Kind::List(_) | Kind::Pieces(_)) => list,
            Kind::Growing(_) => {
                let value = self.expr(&m.args[0]);
                // the value may have added to the list
                if let Kind::Growing(mut kinds) = self.expr(&m.receiver) {
                    kinds.push(value);
                    self.assign(&m.receiver, Kind::Growing(kinds));
                }
                return Some(Kind::unit());
            }
            Kind::Unknown => return Some(Kind::Unknown),
            _ => return None,
        };
        let value = self.expr(&m.args[0]);
        let list = match self.elements(list, &tokens(&*m.receiver)) {
            Some(mut kinds) => {
                kinds.push(value);
                Kind::List(kinds)
            }
            None => Kind::Unknown,
        };
        self.assign(&m.receiver, list);
        Some(Kind::unit())
    }

    /// `iter.map(|x| ..).collect()`, as if a loop pushed each result; `None` if this is no such call.
    pub(super) fn collect(&mut self, m: &ExprMethodCall) -> Option<Kind> {
        let Expr::MethodCall(map) = &*m.receiver else {
            return None;
        };
        if m.method != "collect" || map.method != "map" || !collects_a_vec(m) {
            return None;
        }
        let Some(Expr::Closure(c)) = map.args.first() else {
            return None;
        };
        let (Some(pat), 1, None) = (c.inputs.first(), c.inputs.len(), &c.asyncness) else {
            return None;
        };
        // what leaves a closure would leave the loop
        if leaves(&c.body) {
            return None;
        }
        let (iter, body) = (&map.receiver, &c.body);
        let all: ExprForLoop = parse_quote_spanned! {m.method.span()=>
            for #pat in #iter {
                __tp_parts.push(#body);
            }
        };
        let whole = m.to_token_stream();
        let bound = [("__tp_parts", Kind::unit())];
        Some(self.in_place_of(&whole, bound, |walk| walk.for_loop(&all)))
    }

    /// The elements of a list, whose number is known.
    pub(super) fn elements(&mut self, list: Kind, at: &TokenStream) -> Option<Vec<Kind>> {
        match list {
            Kind::List(kinds) => Some(kinds),
            Kind::Pieces(p) => {
                let n = self.count(&p, at)?;
                let piece = |index| Kind::Tensor(Value { node: p.node, index });
                Some((0..n).map(piece).collect())
            }
            Kind::Unknown => None,
            other => {
                let message = format!("expected a list, this is {}", other.describe());
                self.fail(Diagnostic::new(code::ARGUMENT_KIND, at, message).help("write vec![a, b]"));
                None
            }
        }
    }

    /// `Tensor::stack(&list, dim)` of a list that a loop of unknown length filled: its rows joined, and the new axis moved
    /// to its place.
    pub(super) fn stack_many(
        &mut self,
        list: &Expr,
        dim: &Expr,
        whole: TokenStream,
        at: &Ident,
    ) -> Option<Kind> {
        let kinds = match self.peek(list)? {
            Kind::List(kinds) => kinds,
            Kind::Part(p) => match self.collected(p) {
                Kind::List(kinds) => kinds,
                other => return Some(other),
            },
            _ => return None,
        };
        if !kinds.iter().any(|k| matches!(k, Kind::Many(_))) {
            return None;
        }
        let (at_list, at_dim) = (tokens(list), tokens(dim));
        let dim = self.expr(dim);
        let Some(dim) = self.as_host(dim, &at_dim, HostType::IntLiteral) else {
            return Some(Kind::Unknown);
        };
        let mut rows = Vec::with_capacity(kinds.len());
        for kind in kinds {
            rows.push(match kind {
                Kind::Many(many) => Arg::Value(many.rows),
                kind => {
                    let Some(v) = self.as_tensor(kind, &at_list) else {
                        return Some(Kind::Unknown);
                    };
                    let args = vec![Arg::Value(v), Arg::int(0)];
                    match self.call(Op::Unsqueeze, args, &[], whole.clone(), at.span()) {
                        Kind::Tensor(v) => Arg::Value(v),
                        other => return Some(other),
                    }
                }
            });
        }
        let parts = [at_list, at_dim];
        let joined = self.call(
            Op::Cat,
            vec![Arg::List(rows), Arg::int(0)],
            &parts,
            whole.clone(),
            at.span(),
        );
        let Kind::Tensor(v) = joined else {
            return Some(joined);
        };
        if dim.literal().and_then(Host::as_int) == Some(0) {
            return Some(Kind::Tensor(v));
        }
        let args = vec![Arg::Value(v), Arg::int(0), Arg::Host(dim)];
        Some(self.call(Op::Movedim, args, &parts, whole, at.span()))
    }

    /// The tensors of a list whose length a call knows, as if a loop had pushed each of them.
    pub(super) fn collected(&mut self, p: PartOf) -> Kind {
        if !matches!(&p.ty, Ty::List(element) if matches!(**element, Ty::Tensor)) {
            let message = format!(
                "expected a list of tensors, this is {}",
                Kind::Part(p.clone()).describe()
            );
            return self.fail(Diagnostic::new(code::ARGUMENT_KIND, p.tokens, message).help("write &[a, b]"));
        }
        let first = p.tokens.clone().into_iter().next();
        let at = first.map_or_else(Span::call_site, |t| t.span());
        let all: ExprForLoop = parse_quote_spanned! {at=>
            for __tp_part in __tp_list {
                __tp_parts.push(__tp_part.clone());
            }
        };
        let whole = p.tokens.clone();
        let bound = [("__tp_list", Kind::Part(p)), ("__tp_parts", Kind::unit())];
        self.in_place_of(&whole, bound, |walk| walk.for_loop(&all))
    }

    /// Walks what stands for `whole`, with these names; what `__tp_parts` is then. Its places are that of `whole`.
    fn in_place_of<const N: usize>(
        &mut self,
        whole: &TokenStream,
        bound: [(&str, Kind); N],
        walk: impl FnOnce(&mut Walk) -> Kind,
    ) -> Kind {
        let first = self.spans.len();
        self.scope.enter();
        bound
            .into_iter()
            .for_each(|(name, kind)| self.scope.bind(name, kind));
        walk(self);
        let parts = self.scope.get("__tp_parts").cloned();
        self.scope.leave();
        let place = location(whole.span(), whole.clone());
        self.builder.module.locations[first..].fill(place);
        self.spans[first..].fill(whole.clone());
        parts.unwrap_or(Kind::Unknown)
    }

    /// The pieces of a tensor where only a call knows how many there are, as if a loop had pushed each of them.
    pub(super) fn pieces(&mut self, p: &Pieces, at: &TokenStream) -> Kind {
        let node = self.builder.module.graph.node(p.node);
        let (op, [Arg::Value(of), Arg::Host(n), Arg::Host(dim)]) = (node.op(), node.args()) else {
            return Kind::Unknown;
        };
        let first = at.clone().into_iter().next();
        let span = first.map_or_else(Span::call_site, |t| t.span());
        // an empty axis is cut into `n` empty chunks, and split into one piece
        let (size, least): (Expr, Expr) = match op {
            Some(Op::Chunk) => (
                parse_quote_spanned! {span=> (__tp_of.dim(__tp_dim) + __tp_n - 1) / __tp_n.max(1) },
                parse_quote_spanned! {span=> __tp_n * (1 - __tp_of.dim(__tp_dim).min(1)) },
            ),
            _ => (
                parse_quote_spanned! {span=> __tp_n },
                parse_quote_spanned! {span=> 1 },
            ),
        };
        let all: ExprForLoop = parse_quote_spanned! {span=>
            for __tp_i in 0..((__tp_of.dim(__tp_dim) + __tp_size.max(1) - 1) / __tp_size.max(1)).max(__tp_least) {
                __tp_parts.push(__tp_of.narrow(
                    __tp_dim,
                    __tp_i * __tp_size,
                    __tp_size.min(__tp_of.dim(__tp_dim) - __tp_i * __tp_size),
                ));
            }
        };
        let usize = |e: &Scalar| Kind::Host(Scalar::Cast(HostType::Usize, Box::new(e.clone())));
        let bound = [
            ("__tp_of", Kind::Tensor(*of)),
            ("__tp_n", usize(n)),
            ("__tp_dim", Kind::Host(dim.clone())),
            ("__tp_parts", Kind::unit()),
        ];
        self.in_place_of(at, bound, |walk| {
            for (name, e) in [("__tp_size", &size), ("__tp_least", &least)] {
                let kind = walk.expr(e);
                walk.scope.bind(name, kind);
            }
            walk.for_loop(&all)
        })
    }

    /// What a local is, behind `&`, without walking anything.
    fn peek(&self, e: &Expr) -> Option<Kind> {
        match e {
            Expr::Reference(r) => self.peek(&r.expr),
            Expr::Paren(p) => self.peek(&p.expr),
            Expr::MethodCall(m) if m.args.is_empty() && (m.method == "as_slice" || m.method == "clone") => {
                self.peek(&m.receiver)
            }
            Expr::Path(p) => self.scope.get(&p.path.get_ident()?.to_string()).cloned(),
            _ => None,
        }
    }

    /// The method of a list.
    pub(super) fn list_method(&mut self, kinds: Vec<Kind>, m: &ExprMethodCall) -> Kind {
        match (m.method.to_string().as_str(), m.args.len()) {
            ("len", 0) => Kind::Host(length(&kinds)),
            ("is_empty", 0) => Kind::Host(match kinds.iter().any(|k| matches!(k, Kind::Many(_))) {
                true => Scalar::Binary(HostBinary::Eq, Box::new(length(&kinds)), Box::new(Scalar::int(0))),
                false => Scalar::Literal(Host::Bool(kinds.is_empty())),
            }),
            ("to_vec" | "clone" | "as_slice", 0) => Kind::List(kinds),
            _ => self.refuse_list_method(m, "a tuple, array or `Vec`"),
        }
    }
}

/// Whether `collect` may make a `Vec`: what it makes is not written, or is one.
fn collects_a_vec(m: &ExprMethodCall) -> bool {
    m.turbofish.as_ref().is_none_or(|t| match t.args.first() {
        Some(GenericArgument::Type(Type::Path(p))) => {
            p.path.segments.last().is_some_and(|s| s.ident == "Vec")
        }
        _ => false,
    })
}

/// Whether an expression may be left otherwise than at its end.
fn leaves(e: &Expr) -> bool {
    struct Find(bool);
    impl<'a> Visit<'a> for Find {
        fn visit_expr(&mut self, e: &'a Expr) {
            self.0 |= matches!(
                e,
                Expr::Return(_) | Expr::Try(_) | Expr::Break(_) | Expr::Continue(_) | Expr::Await(_)
            );
            visit::visit_expr(self, e);
        }
    }
    let mut find = Find(false);
    find.visit_expr(e);
    find.0
}

fn is_place(e: &Expr) -> bool {
    match e {
        Expr::Paren(p) => is_place(&p.expr),
        Expr::Field(f) => is_place(&f.base),
        Expr::Index(i) => is_place(&i.expr),
        Expr::Path(p) => p.path.get_ident().is_some(),
        _ => false,
    }
}

/// How many tensors a list has.
fn length(kinds: &[Kind]) -> Scalar {
    let open = kinds.iter().filter_map(|k| match k {
        Kind::Many(many) => Some(many.count.clone()),
        _ => None,
    });
    let known = kinds.iter().filter(|k| !matches!(k, Kind::Many(_))).count();
    let add = |a, b| Scalar::Binary(HostBinary::Add, Box::new(a), Box::new(b));
    let wide = |e| Scalar::Cast(HostType::Usize, Box::new(e));
    match open.map(wide).reduce(add) {
        None => Scalar::int(known as i64),
        Some(open) if known == 0 => open,
        Some(open) => add(Scalar::int(known as i64), open),
    }
}
