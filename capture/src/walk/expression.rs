//! Expressions.

use super::{Walk, options};
use crate::diagnostic::{Diagnostic, code};
use crate::kind::{Kind, Pieces, Place};
use crate::location::{text, tokens};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::{Expr, ExprField, ExprIndex, ExprPath, ExprRepeat, Lit, Macro, Path};
use tensorplay_graph::{self as graph, Code, DType, Env, Host, HostType, TypeEnv, Value};

/// Expressions nest no deeper: the compiler's stack is finite.
const DEEPEST: usize = 1000;

const UNKNOWN_INDEX: &str = "this index is not known at build time";

impl Walk {
    /// The value of an expression; its operations are appended.
    pub(super) fn expr(&mut self, e: &Expr) -> Kind {
        let kind = self.raw(e);
        self.load(kind)
    }

    /// What an expression is, with the cells that it names.
    pub(super) fn raw(&mut self, e: &Expr) -> Kind {
        if self.nested == DEEPEST {
            let message = format!("more than {DEEPEST} operations in one expression cannot be captured yet");
            return self.fail(
                Diagnostic::new(code::STATEMENT, tokens(e), message).help("bind a part of it with `let`"),
            );
        }
        self.nested += 1;
        let kind = self.expression(e);
        self.nested -= 1;
        kind
    }

    /// The kinds of expressions that nest deep; the frames of the others are not on the stack with theirs.
    fn expression(&mut self, e: &Expr) -> Kind {
        match e {
            Expr::Paren(p) => self.raw(&p.expr),
            Expr::Group(p) => self.raw(&p.expr),
            Expr::Lit(l) => self.literal(&l.lit),
            Expr::Path(p) => self.path(p),
            Expr::Unary(u) => self.unary(u),
            Expr::Binary(b) => self.binary(b),
            Expr::Cast(c) => self.cast(c),
            Expr::MethodCall(m) => self.method(m),
            Expr::Call(c) => self.function_call(c),
            Expr::Field(f) => self.field(f),
            Expr::Block(b) if b.label.is_none() => self.block(&b.block),
            other => self.other_expression(other),
        }
    }

    fn other_expression(&mut self, e: &Expr) -> Kind {
        match e {
            Expr::Reference(r) => match &r.mutability {
                None => match self.expr(&r.expr) {
                    Kind::Place(p) => Kind::Place(Place { borrowed: true, ..p }),
                    kind => kind,
                },
                Some(_) => match self.lent_place(&r.expr) {
                    Some(lent) => lent,
                    None => self.skip(e, e.to_token_stream(), "a mutable borrow"),
                },
            },
            Expr::Try(t) => match self.expr(&t.expr) {
                Kind::Try(inner) => *inner,
                Kind::Unknown => Kind::Unknown,
                other => self.refuse_question(e, &t.expr, &other),
            },
            Expr::Tuple(t) => Kind::List(t.elems.iter().map(|e| self.raw(e)).collect()),
            Expr::Array(a) => Kind::List(a.elems.iter().map(|e| self.raw(e)).collect()),
            Expr::Repeat(r) => self.repeat(r),
            Expr::Index(i) => self.index(i),
            Expr::Assign(a) => {
                let kind = self.raw(&a.right);
                self.assign(&a.left, kind);
                Kind::unit()
            }
            Expr::Return(r) => {
                let (kind, at) = match &r.expr {
                    Some(e) => (self.expr(e), (**e).clone()),
                    None => (Kind::unit(), e.clone()),
                };
                if self.returned.is_none() {
                    self.returned = Some((kind, at));
                }
                Kind::Unknown
            }
            Expr::Macro(m) => self.macro_call(&m.mac),
            Expr::If(i) => self.branch(i),
            Expr::Match(m) => self.matches(m),
            Expr::ForLoop(f) => self.for_loop(f),
            Expr::While(w) => self.while_metadata(w),
            Expr::Loop(l) => self.skip(e, l.loop_token.to_token_stream(), "`loop`"),
            Expr::Closure(_) => self.skip(e, e.to_token_stream(), "a closure"),
            Expr::Unsafe(u) => self.skip(e, u.unsafe_token.to_token_stream(), "`unsafe`"),
            Expr::Async(a) => self.skip(e, a.async_token.to_token_stream(), "`async`"),
            Expr::Await(a) => self.skip(e, a.await_token.to_token_stream(), "`.await`"),
            Expr::Block(b) => self.skip(e, b.label.to_token_stream(), "a labelled block"),
            Expr::Break(b) if b.expr.is_none() => self.leave_loop(e, b.label.as_ref(), false),
            Expr::Continue(c) => self.leave_loop(e, c.label.as_ref(), true),
            Expr::Break(b) => self.skip(e, b.break_token.to_token_stream(), "`break` with a value"),
            Expr::Range(_) => self.skip(e, e.to_token_stream(), "a range"),
            Expr::Struct(s) if self.is_variant(&s.path) => self.variant_struct(s),
            Expr::Struct(s) if options::named(&s.path).is_some() => self.literal_options(s),
            Expr::Struct(s) if self.own_struct(&s.path).is_some() => match self.own_struct(&s.path) {
                Some(name) => self.struct_literal(s, name),
                None => Kind::Unknown,
            },
            Expr::Struct(s) => self.skip(e, s.path.to_token_stream(), "a struct literal"),
            Expr::Const(c) => self.skip(e, c.const_token.to_token_stream(), "a const block"),
            other => self.skip(e, other.to_token_stream(), "this expression"),
        }
    }

    fn refuse_question(&mut self, whole: &Expr, e: &Expr, kind: &Kind) -> Kind {
        let message = format!("`?` on {} cannot be captured yet", kind.describe());
        let d = Diagnostic::new(code::QUESTION_MARK, whole, message);
        self.fail(match kind {
            Kind::Maybe(..) | Kind::Some(_) | Kind::None => {
                let value = text(tokens(e));
                let name = match e {
                    Expr::Path(p) if p.path.get_ident().is_some() => value.as_str(),
                    _ => "value",
                };
                d.help(format!(
                    "write `let Some({name}) = {value} else {{ return None }};`"
                ))
            }
            _ => d.help("`?` follows a try_ operation, as in x.try_matmul(w)?"),
        })
    }

    /// What a place is, if assignments through it reach the caller.
    fn lent_place(&mut self, e: &Expr) -> Option<Kind> {
        fn is_place(e: &Expr) -> bool {
            match e {
                Expr::Path(_) => true,
                Expr::Paren(p) => is_place(&p.expr),
                Expr::Group(p) => is_place(&p.expr),
                Expr::Field(f) => is_place(&f.base),
                Expr::Index(i) => is_place(&i.expr),
                Expr::Unary(u) => matches!(u.op, syn::UnOp::Deref(_)) && is_place(&u.expr),
                _ => false,
            }
        }
        let lent = is_place(e).then(|| self.raw(e));
        lent.filter(Walk::is_lent)
    }

    /// Reports a construct that is not captured; the locals that it may change are unknown from here on.
    pub(super) fn skip(&mut self, e: &Expr, at: TokenStream, what: &str) -> Kind {
        let d = Diagnostic::new(code::STATEMENT, at, format!("{what} cannot be captured yet"));
        self.fail(d.help(instead(e)));
        self.poison(e);
        Kind::Unknown
    }

    pub(super) fn refuse_macro(&mut self, m: &Macro) -> Kind {
        let (path, bang) = (&m.path, &m.bang_token);
        let shown = text(path.to_token_stream());
        self.fail(
            Diagnostic::new(
                code::STATEMENT,
                quote!(#path #bang),
                format!("the macro `{shown}!` cannot be captured yet"),
            )
            .help("call it outside of the compiled function"),
        );
        let e = Expr::Macro(syn::ExprMacro {
            attrs: Vec::new(),
            mac: m.clone(),
        });
        self.poison(&e);
        Kind::Unknown
    }

    fn path(&mut self, p: &ExprPath) -> Kind {
        if let Some(name) = p.path.get_ident() {
            match self.scope.get(&name.to_string()) {
                // the user's own `self`: another one would not be in scope where a macro made the function
                Some(Kind::Place(place)) if name == "self" => {
                    return Kind::Place(Place {
                        tokens: p.to_token_stream(),
                        ..place.clone()
                    });
                }
                Some(kind) => return kind.clone(),
                None => {}
            }
            if name == "None" {
                return Kind::None;
            }
        }
        if p.qself.is_none() {
            if let Some(d) = dtype_variant(&p.path) {
                return match d {
                    Ok(d) => Kind::Host(graph::Expr::Literal(Host::DType(d))),
                    Err(name) => {
                        let message = format!("`DType` has no variant `{name}`");
                        let all: Vec<String> = DType::ALL.iter().map(|d| format!("{d:?}")).collect();
                        self.fail(
                            Diagnostic::new(code::ARGUMENT_KIND, p, message)
                                .help(format!("the variants are {}", all.join(", "))),
                        )
                    }
                };
            }
            if self.is_variant(&p.path) {
                return self.variant(&p.path, None);
            }
            if let Some(variant) = self.enum_variant(&p.path) {
                return variant;
            }
            if let Some(v) = infinity(&p.path) {
                return Kind::Host(v);
            }
        }
        if self.hides(&p.path) {
            let shown = text(p.to_token_stream());
            let message = format!("`{shown}`, which an item of this body may bring, cannot be captured yet");
            return self.fail(Diagnostic::new(code::HOST, p, message).help("import it beside the function"));
        }
        Kind::Place(Place {
            tokens: self
                .owned(&p.path)
                .map_or_else(|| p.to_token_stream(), |path| path.to_token_stream()),
            field: false,
            borrowed: false,
        })
    }

    /// `Self::EPS` as others name it: it is read where `Self` is another type, or none.
    fn owned(&self, path: &Path) -> Option<Path> {
        let (Some(owner), Some(_)) = (&self.receiver, &self.env.model) else {
            return None;
        };
        let first = path
            .segments
            .first()
            .filter(|s| s.ident == "Self" && path.segments.len() > 1)?;
        let mut path = path.clone();
        let owner = Ident::new(owner, first.ident.span());
        path.segments[0].ident = owner;
        Some(path)
    }

    fn field(&mut self, f: &ExprField) -> Kind {
        let member = &f.member;
        match self.raw(&f.base) {
            Kind::Place(p) => {
                let (base, dot) = (&p.tokens, &f.dot_token);
                Kind::Place(Place {
                    tokens: quote!(#base #dot #member),
                    field: p.field,
                    borrowed: false,
                })
            }
            Kind::Part(p) => {
                let name = match member {
                    syn::Member::Named(n) => n.to_string(),
                    syn::Member::Unnamed(i) => i.index.to_string(),
                };
                self.part_field(p, &name, f.to_token_stream())
            }
            Kind::Record(r) => self.record_field(&r, member),
            Kind::List(kinds) => match member {
                syn::Member::Unnamed(i) if (i.index as usize) < kinds.len() => {
                    kinds[i.index as usize].clone()
                }
                _ => self.fail(
                    Diagnostic::new(code::STATEMENT, f, "this field cannot be captured yet")
                        .help("name a part that the tuple has, as in pair.0"),
                ),
            },
            Kind::Unknown => Kind::Unknown,
            other => {
                let message = format!("a field of {} cannot be captured yet", other.describe());
                self.fail(Diagnostic::new(code::STATEMENT, f, message).help("pass its value as a parameter"))
            }
        }
    }

    fn index(&mut self, i: &ExprIndex) -> Kind {
        let base = self.raw(&i.expr);
        if let Kind::Place(p) = &base {
            // the emitted read repeats the index, so it must mean the same at the start of the function
            if let Expr::Lit(l) = &*i.index
                && matches!(l.lit, Lit::Int(_))
                && p.field
            {
                let mut tokens = p.tokens.clone();
                i.bracket_token
                    .surround(&mut tokens, |inside| l.lit.to_tokens(inside));
                return Kind::Place(Place {
                    tokens,
                    field: true,
                    borrowed: false,
                });
            }
            return self.fail(
                Diagnostic::new(code::STATEMENT, i, "this index cannot be captured yet")
                    .help("index with a literal"),
            );
        }
        if let (Expr::Range(r), Kind::List(_) | Kind::Shape(_)) = (&*i.index, &base)
            && r.start.is_none()
            && r.end.is_none()
        {
            return base;
        }
        if matches!(&*i.index, Expr::Range(_)) {
            let message = format!("a range of {} cannot be captured yet", base.describe());
            return self.fail(
                Diagnostic::new(code::STATEMENT, i, message)
                    .help("write narrow(..) or slice(..) of a tensor"),
            );
        }
        let at = tokens(&*i.index);
        let index = self.expr(&i.index);
        let Some(index) = self.as_host(index, &at, HostType::Usize) else {
            return Kind::Unknown;
        };
        match base {
            Kind::Shape(v) => self.host(graph::Expr::Dim(v, Box::new(index)), &i.to_token_stream()),
            Kind::List(kinds) => match self.known_index(&index, &at) {
                Some(n) if n < kinds.len() => kinds[n].clone(),
                Some(n) => self.out_of_range(n, kinds.len(), &at),
                None => Kind::Unknown,
            },
            Kind::Part(p) => match self.known(&index) {
                Some(n) => self.part_index(p, n, i.to_token_stream()),
                None => {
                    let list = text(tokens(&*i.expr));
                    let help = format!(
                        "write a literal, or loop over the list, as in `for item in {list}.iter()`, with `zip` or `enumerate`"
                    );
                    self.fail(Diagnostic::new(code::INDEX, at, UNKNOWN_INDEX).help(help))
                }
            },
            Kind::Pieces(p) => match self.known_index(&index, &at) {
                Some(n) => self.piece(&p, n, &at),
                None => Kind::Unknown,
            },
            Kind::Unknown => Kind::Unknown,
            other => {
                let message = format!("an index of {} cannot be captured yet", other.describe());
                self.fail(
                    Diagnostic::new(code::STATEMENT, i, message)
                        .help("write select(..) or narrow(..) of a tensor"),
                )
            }
        }
    }

    pub(super) fn known_index(&mut self, e: &graph::Expr, at: &TokenStream) -> Option<usize> {
        let n = self.known(e);
        if n.is_none() {
            self.fail(
                Diagnostic::new(code::INDEX, at, UNKNOWN_INDEX)
                    .help("write a literal or a const of the function's body"),
            );
        }
        n
    }

    fn known(&self, e: &graph::Expr) -> Option<usize> {
        let n = self.builder.known(e).and_then(Host::as_int)?;
        usize::try_from(n).ok()
    }

    fn out_of_range(&self, n: usize, len: usize, at: &TokenStream) -> Kind {
        let message = format!("index {n} is out of range for {len} elements");
        self.fail(Diagnostic::new(Code::BOUNDS, at, message).help(match len {
            0 => "there is nothing to index".to_string(),
            1 => "the only index is 0".to_string(),
            n => format!("valid indices are 0..={}", n - 1),
        }))
    }

    /// One result of `chunk` or `split`; an open list grows to what is used.
    fn piece(&mut self, p: &Pieces, n: usize, at: &TokenStream) -> Kind {
        const LONGEST: usize = 1 << 16;
        let types = &mut self.builder.module.graph.nodes[p.node.index()].types;
        if n >= types.len() {
            if !p.open || n >= LONGEST {
                let len = types.len();
                return self.out_of_range(n, len, at);
            }
            let piece = types.first().cloned().unwrap_or_default();
            types.resize(n + 1, piece);
        }
        Kind::Tensor(Value {
            node: p.node,
            index: n as u32,
        })
    }

    pub(super) fn repeat(&mut self, r: &ExprRepeat) -> Kind {
        let element = self.expr(&r.expr);
        let at = tokens(&*r.len);
        let len = self.expr(&r.len);
        let Some(len) = self.as_host(len, &at, HostType::Usize) else {
            return Kind::Unknown;
        };
        match self.known_index(&len, &at) {
            Some(n) if n <= 64 => Kind::List(vec![element; n]),
            Some(_) => self.fail(
                Diagnostic::new(code::STATEMENT, r, "an array this long cannot be captured yet")
                    .help("write 64 elements or fewer"),
            ),
            None => Kind::Unknown,
        }
    }

    /// `rank()`, known or not, of a shape.
    pub(super) fn rank_of(&self, v: Value) -> graph::Expr {
        match TypeEnv(&self.builder.module.graph).rank(v) {
            Some(n) => graph::Expr::Cast(HostType::Usize, Box::new(graph::Expr::int(n as i64))),
            None => graph::Expr::Rank(v),
        }
    }
}

/// What to write in place of a construct that is not captured.
fn instead(e: &Expr) -> &'static str {
    match e {
        Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_) | Expr::Break(_) | Expr::Continue(_) => {
            "write the steps out, use `tensorplay::while_loop(..)` for a loop on data, or put the loop outside of the function"
        }
        Expr::Closure(_) => "write its operations out where it is called",
        Expr::Reference(_) => "assign a new value, as in `y = y.exp()`",
        Expr::Range(_) => {
            "write a `for` loop that pushes its results, as in `for i in 0..3 { list.push(..) }`"
        }
        Expr::Struct(_) => {
            "declare the struct in a `#[model]` module beside the function, or use a tuple of tensors"
        }
        Expr::Block(_) => "remove the label",
        _ => "put it outside of the compiled function",
    }
}

/// `DType::F32`, or the variant that does not exist.
fn dtype_variant(path: &Path) -> Option<Result<DType, String>> {
    let n = path.segments.len();
    if n < 2 || path.segments[n - 2].ident != "DType" {
        return None;
    }
    let name = path.segments[n - 1].ident.to_string();
    // an associated const is not a variant
    if name == "ALL" {
        return None;
    }
    Some(
        DType::ALL
            .into_iter()
            .find(|d| format!("{d:?}") == name)
            .ok_or(name),
    )
}

/// The infinities of the standard library, which operations may need to know at build time.
fn infinity(path: &Path) -> Option<graph::Expr> {
    let n = path.segments.len();
    if n < 2 {
        return None;
    }
    let ty = match path.segments[n - 2].ident.to_string().as_str() {
        "f32" => HostType::F32,
        "f64" => HostType::F64,
        _ => return None,
    };
    let v = match path.segments[n - 1].ident.to_string().as_str() {
        "INFINITY" => f64::INFINITY,
        "NEG_INFINITY" => f64::NEG_INFINITY,
        _ => return None,
    };
    let literal = graph::Expr::float(v);
    Some(if ty == HostType::F32 {
        graph::Expr::Cast(ty, Box::new(literal))
    } else {
        literal
    })
}
