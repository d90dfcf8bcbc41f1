//! Questions about values of other types: a parameter, const or field that is a user's enum, a `&str`; and about a tensor of
//! the call, for what a graph does not know of it: its layout, its device, whether it wants a gradient.
//!
//! Problem: capture knows neither the variants nor their values. Method: the user's own patterns are asked when the
//! call starts, and the answer is a number that a guard reads: which arm of a `match`, or whether a pattern fits.
//! Invariants: what is asked binds no names, so that it moves nothing, and reads nothing but the value. Of a const or
//! field, whose type is not written in the function, it is the patterns that show that it is no number.

use super::Walk;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::Kind;
use crate::location::text;
use crate::reads::Read;
use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::visit::{self, Visit};
use syn::{
    BinOp, Expr as Syntax, ExprBinary, ExprCall, ExprMatch, ExprMethodCall, ExprPath, Pat, PatPath, Path,
    UnOp,
};
use tensorplay_graph::{Expr, HostBinary, HostType, NodeKind, Value};

/// Whether a pattern is one name for all of a value, as its case tells.
pub(super) fn binds_whole(pat: &Pat) -> bool {
    match pat {
        Pat::Ident(i) => i.subpat.is_none() && is_local(&i.ident),
        Pat::Wild(_) => true,
        _ => false,
    }
}

fn is_local(name: &Ident) -> bool {
    !name.to_string().starts_with(char::is_uppercase)
}

/// Whether a pattern names a variant of an enum, which are not written in capitals alone as consts are.
pub(crate) fn names_variant(pat: &Pat) -> bool {
    let camel = |name: &Ident| {
        let name = name.to_string();
        name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
    };
    // of `Act::A` a const is less likely
    let single = |p: &Path, name: &Ident| p.segments.len() > 1 && name.to_string().len() == 1;
    let path = |p: &Path| match p.segments.last() {
        Some(s) => {
            (camel(&s.ident) || single(p, &s.ident))
                && !matches!(s.ident.to_string().as_str(), "None" | "Some" | "Ok" | "Err")
        }
        None => false,
    };
    match pat {
        Pat::Ident(i) => i.subpat.is_none() && path(&i.ident.clone().into()),
        Pat::Path(p) => path(&p.path),
        Pat::TupleStruct(t) => path(&t.path),
        Pat::Struct(s) => path(&s.path),
        Pat::Or(o) => o.cases.iter().any(names_variant),
        Pat::Paren(p) => names_variant(&p.pat),
        Pat::Reference(r) => names_variant(&r.pat),
        Pat::Guard(g) => names_variant(&g.pat),
        _ => false,
    }
}

/// `Mode::Train`, as an expression.
fn is_variant(p: &ExprPath) -> bool {
    let known = p.path.segments.len() < 2 || p.path.segments.first().is_some_and(|s| s.ident == "DType");
    let path = PatPath {
        attrs: Vec::new(),
        qself: None,
        path: p.path.clone(),
    };
    !known && names_variant(&Pat::Path(path))
}

/// The text of a value; the end of one that was asked of a tensor has no place in the source.
fn shown(value: &TokenStream) -> String {
    let trees: Vec<TokenTree> = value.clone().into_iter().collect();
    match trees.as_slice() {
        [
            of @ ..,
            TokenTree::Punct(dot),
            TokenTree::Ident(method),
            TokenTree::Group(g),
        ] if dot.as_char() == '.' && g.stream().is_empty() => {
            format!("{}.{method}()", text(of.iter().cloned().collect()))
        }
        _ => text(value.clone()),
    }
}

/// `Device::Cuda(0)`.
fn is_literal_variant(c: &ExprCall) -> bool {
    let named = matches!(&*c.func, Syntax::Path(p) if is_variant(p));
    named && c.args.iter().all(|a| matches!(a, Syntax::Lit(_)))
}

/// A name that a pattern binds.
fn bound_name(pat: &Pat) -> Option<Ident> {
    struct Names(Option<Ident>);
    impl<'ast> Visit<'ast> for Names {
        fn visit_pat_ident(&mut self, i: &'ast syn::PatIdent) {
            if is_local(&i.ident) || i.subpat.is_some() {
                self.0.get_or_insert_with(|| i.ident.clone());
            }
            visit::visit_pat_ident(self, i);
        }
    }
    let mut names = Names(None);
    names.visit_pat(pat);
    names.0
}

impl Walk {
    /// The method of a value that only host code knows.
    pub(super) fn opaque_method(&mut self, value: TokenStream, m: &ExprMethodCall) -> Kind {
        if m.args.is_empty() && matches!(m.method.to_string().as_str(), "clone" | "as_ref" | "to_owned") {
            return Kind::Opaque(value);
        }
        m.args.iter().for_each(|a| {
            self.expr(a);
        });
        self.refuse_opaque(&value, m)
    }

    /// `x.is_contiguous()`, `x.requires_grad()`, `x.device()`.
    pub(super) fn asked_tensor(&mut self, v: Value, method: &Ident) -> Kind {
        let place = match self.builder.module.graph.node(v.node).kind {
            NodeKind::Input(i) => self.places.get(i as usize),
            NodeKind::Call(..) => None,
        };
        let question = place.and_then(|place| {
            let (tokens, name) = (place.tokens(), format!("{}.{method}()", place.name));
            let absent = (method != "device").then(|| quote!(false));
            Some((place.asked(quote!(#tokens.#method()), absent)?, name))
        });
        let Some((question, name)) = question else {
            let message = format!("`{method}` of a tensor that is not a parameter cannot be captured yet");
            return self.fail(
                Diagnostic::new(code::METHOD, method, message)
                    .help("ask a parameter of the function, or take the answer as a parameter"),
            );
        };
        self.asked_value(question, name, method)
    }

    /// The same of a field.
    pub(super) fn asked_field(&mut self, question: TokenStream, method: &Ident) -> Kind {
        let name = text(question.clone());
        self.asked_value(question, name, method)
    }

    fn asked_value(&mut self, question: TokenStream, name: String, method: &Ident) -> Kind {
        if method == "device" {
            return Kind::Opaque(question);
        }
        Kind::Host(self.read_scalar(&Read::Asked(question), name, HostType::Bool))
    }

    /// Reports a use that is no question.
    pub(super) fn refuse_opaque(&mut self, value: &TokenStream, at: impl ToTokens) -> Kind {
        let shown = shown(value);
        let message = format!("`{shown}` is of a type that capture does not know");
        self.fail(
            Diagnostic::new(code::OPAQUE, at, message)
                .note("a macro sees names, not types: of an alias, write the type that it stands for")
                .help(
                    "ask about it with `match`, `if let`, `matches!` or `==`, or take a tensor, a `bool`, `f32`, `f64`, `i32`, `i64`, `isize`, `usize` or `u8`",
                ),
        )
    }

    /// Whether a pattern fits, as a flag of the call.
    pub(super) fn ask_pattern(
        &mut self,
        pat: &Pat,
        value: &TokenStream,
        read: fn(TokenStream) -> Read,
    ) -> Option<Expr> {
        self.binds_nothing(pat)?;
        let at = Span::mixed_site();
        let question = quote_spanned!(at=> match #value { #pat => true, _ => false });
        let name = format!("matches!({}, {})", shown(value), text(pat.to_token_stream()));
        Some(self.read_scalar(&read(question), name, HostType::Bool))
    }

    /// `match mode { .. }`: one number tells the arm. `None` if this is not about such a value.
    pub(super) fn match_opaque(&mut self, m: &ExprMatch, scrutinee: &Kind) -> Option<Kind> {
        let (value, read): (_, fn(TokenStream) -> Read) = match self.load(scrutinee.clone()) {
            Kind::Opaque(value) => (value, Read::Asked),
            Kind::Place(p) if m.arms.iter().any(|a| names_variant(&a.pat)) => (p.tokens, Read::Host),
            _ => return None,
        };
        let mut arms = TokenStream::new();
        let mut arms_shown = Vec::with_capacity(m.arms.len());
        let mut sound = true;
        for (i, arm) in m.arms.iter().enumerate() {
            let pat = match &arm.pat {
                pat if binds_whole(pat) => quote!(_),
                pat => pat.to_token_stream(),
            };
            arms_shown.push(format!("{} => {i}", text(pat.clone())));
            let i = Literal::i64_suffixed(i as i64);
            sound &= binds_whole(&arm.pat) || self.binds_nothing(&arm.pat).is_some();
            arms.extend(quote!(#pat => #i,));
        }
        if !sound {
            self.poison(&Syntax::Match(m.clone()));
            return Some(Kind::Unknown);
        }
        let question = quote_spanned!(Span::mixed_site()=> match #value { #arms });
        let name = format!("match {} {{ {} }}", shown(&value), arms_shown.join(", "));
        let arm = self.read_scalar(&read(question), name, HostType::I64);
        for (i, a) in m.arms.iter().enumerate() {
            let last = i + 1 == m.arms.len();
            let this = Expr::binary(HostBinary::Eq, arm.clone(), Expr::int(i as i64));
            if !last && !self.decide(this) {
                continue;
            }
            self.scope.enter();
            if binds_whole(&a.pat) {
                self.bind_pattern(&a.pat, scrutinee.clone());
            }
            let kind = self.raw(&a.body);
            self.scope.leave();
            return Some(kind);
        }
        Some(Kind::Unknown)
    }

    /// `mode == Mode::Train` and `!=`, if one side is such a value.
    pub(super) fn asked(&mut self, e: &ExprBinary) -> Option<Kind> {
        if !matches!(e.op, BinOp::Eq(_) | BinOp::Ne(_)) {
            return None;
        }
        let errors = self.errors.len();
        let (mut left, mut right) = (self.opaque_value(&e.left), self.opaque_value(&e.right));
        if self.errors.len() > errors {
            return Some(Kind::Unknown);
        }
        let mut read: fn(TokenStream) -> Read = Read::Asked;
        if left.is_none() && right.is_none() {
            read = Read::Host;
            // a const or field beside a variant
            match (&*e.left, &*e.right) {
                (place, Syntax::Path(p)) if is_variant(p) => left = self.place_value(place),
                (Syntax::Path(p), place) if is_variant(p) => right = self.place_value(place),
                _ => {}
            }
        }
        let value = left.clone().or_else(|| right.clone())?;
        let side = |known: Option<TokenStream>, e: &Syntax| match (known, e) {
            (Some(value), _) => Some(value),
            (None, Syntax::Lit(l)) => Some(l.to_token_stream()),
            (None, Syntax::Path(p)) if !p.path.get_ident().is_some_and(is_local) => Some(p.to_token_stream()),
            (None, Syntax::Call(c)) if is_literal_variant(c) => Some(c.to_token_stream()),
            _ => None,
        };
        let (a, b) = (side(left, &e.left), side(right, &e.right));
        let (Some(a), Some(b)) = (a, b) else {
            return Some(self.refuse_opaque(&value, e));
        };
        let op = &e.op;
        let name = format!("{} {} {}", shown(&a), op.to_token_stream(), shown(&b));
        let question = read(quote!(#a #op #b));
        Some(Kind::Host(self.read_scalar(&question, name, HostType::Bool)))
    }

    /// The expression, when the call starts, of a value that only host code knows.
    fn opaque_value(&mut self, e: &Syntax) -> Option<TokenStream> {
        match e {
            Syntax::Paren(p) => self.opaque_value(&p.expr),
            Syntax::Group(p) => self.opaque_value(&p.expr),
            Syntax::Reference(r) if r.mutability.is_none() => {
                let (and, value) = (&r.and_token, self.opaque_value(&r.expr)?);
                Some(quote!((#and #value)))
            }
            Syntax::Unary(u) if matches!(u.op, UnOp::Deref(_)) => {
                let (star, value) = (&u.op, self.opaque_value(&u.expr)?);
                Some(quote!((#star #value)))
            }
            Syntax::MethodCall(m) if m.method == "device" && m.args.is_empty() => match self.raw(e) {
                Kind::Opaque(value) => Some(value),
                _ => None,
            },
            Syntax::Path(p) => {
                let kind = self.scope.get(&p.path.get_ident()?.to_string())?;
                match self.load(kind.clone()) {
                    Kind::Opaque(value) => Some(value),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The expression of a const or field.
    fn place_value(&mut self, e: &Syntax) -> Option<TokenStream> {
        match e {
            Syntax::Paren(p) => self.place_value(&p.expr),
            Syntax::Path(_) | Syntax::Field(_) => match self.raw(e) {
                Kind::Place(p) => Some(p.tokens),
                _ => None,
            },
            _ => None,
        }
    }

    fn binds_nothing(&mut self, pat: &Pat) -> Option<()> {
        let fault = match (pat, bound_name(pat)) {
            (Pat::Guard(_), _) => "a guard",
            (_, Some(_)) => "a name",
            (_, None) => return Some(()),
        };
        let message = format!("a pattern with {fault} cannot be asked of a type that capture does not know");
        self.fail(
            Diagnostic::new(code::OPAQUE, pat, message)
                .help("match without names and guards, and take what they would read as a parameter"),
        );
        self.unknown_pattern(pat);
        None
    }
}
