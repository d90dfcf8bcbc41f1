//! Branches on metadata: `if`, `match`, and the conditions that become guards.

use super::{Walk, question};
use crate::attribute::NamedSpec;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::Kind;
use crate::location::{text, tokens};
use crate::reads::Read;
use quote::{ToTokens, quote};
use syn::visit::{self, Visit};
use syn::{BinOp, Expr as Syntax, ExprIf, ExprMatch, Lit, Pat, PatIdent, RangeLimits, UnOp};
use tensorplay_graph::{Dim, Expr, Host, HostBinary, HostType, HostUnary, NodeId, Value};

impl Walk {
    /// Whether a condition holds on this path; one that the build cannot tell becomes a guard.
    pub(super) fn decide(&mut self, condition: Expr) -> bool {
        if let Expr::Unary(HostUnary::Not, inner) = condition {
            return !self.decide(*inner);
        }
        if let Some(Host::Bool(known)) = self.builder.known(&condition) {
            return known;
        }
        if let Some((_, taken)) = self
            .decided
            .iter()
            .chain(&self.facts)
            .find(|(c, _)| *c == condition)
        {
            return *taken;
        }
        let taken = self.script.get(self.decided.len()).copied().unwrap_or(true);
        let guard = match taken {
            true => condition.clone(),
            false => Expr::Unary(HostUnary::Not, Box::new(condition.clone())),
        };
        self.builder.module.graph.guards.push(guard);
        if taken {
            self.learn(&condition);
        }
        self.decided.push((condition, taken));
        taken
    }

    /// Whether neither the build nor an earlier decision tells a condition.
    pub(super) fn is_open(&self, condition: &Expr) -> bool {
        if let Expr::Unary(HostUnary::Not, inner) = condition {
            return self.is_open(inner);
        }
        let mut decided = self.decided.iter().chain(&self.facts);
        self.builder.known(condition).is_none() && decided.all(|(c, _)| c != condition)
    }

    /// Assumes the sizes and dtypes of specs: each is a guard of this path.
    pub fn specialize(&mut self, sizes: &[NamedSpec]) {
        for named in sizes {
            let inputs = self.builder.module.graph.inputs.clone();
            let of = |id: &NodeId| named.name == self.builder.module.graph.node(*id).name;
            let (Some(id), Some(spec)) = (inputs.into_iter().find(of), named.specs.first()) else {
                continue;
            };
            let v = Value::from(id);
            let ty = spec.lower(&mut self.builder.module);
            let equal = |a, b| Expr::Binary(HostBinary::Eq, Box::new(a), Box::new(b));
            let mut guards = Vec::new();
            if let Some(d) = ty.dtype {
                guards.push(equal(Expr::DTypeOf(v), Expr::Literal(Host::DType(d))));
            }
            if let Some(shape) = &ty.shape {
                guards.push(equal(Expr::Rank(v), Expr::int(shape.len() as i64)));
                for (i, d) in shape.iter().enumerate() {
                    if let Some(n) = d.known() {
                        let dim = Expr::Dim(v, Box::new(Expr::int(i as i64)));
                        guards.push(equal(dim, Expr::int(n as i64)));
                    }
                }
            }
            self.builder.module.graph.guards.extend(guards);
            self.builder.module.graph.nodes[id.index()].types[0].refine(&ty);
        }
    }

    /// What a condition that holds tells about types: a rank or a dtype.
    fn learn(&mut self, condition: &Expr) {
        let (a, b) = match condition {
            Expr::Binary(HostBinary::And, a, b) => {
                self.learn(a);
                return self.learn(b);
            }
            Expr::Binary(HostBinary::Eq, a, b) => (a, b),
            _ => return,
        };
        let (Expr::Rank(v) | Expr::DTypeOf(v), Some(known)) = (&**a, b.literal()) else {
            return;
        };
        let ty = &mut self.builder.module.graph.nodes[v.node.index()].types[v.index as usize];
        match known {
            Host::Int(rank) if ty.shape.is_none() => {
                ty.shape = usize::try_from(rank).ok().map(|n| vec![Dim::Unknown; n]);
            }
            Host::DType(d) if ty.dtype.is_none() => ty.dtype = Some(d),
            _ => {}
        }
    }

    /// `if c { .. } else { .. }`: the branch that this path takes.
    pub(super) fn branch(&mut self, i: &ExprIf) -> Kind {
        self.scope.enter();
        let kind = match self.condition(&i.cond) {
            Some(true) => self.block(&i.then_branch),
            Some(false) => match &i.else_branch {
                Some((_, e)) => {
                    self.scope.leave();
                    self.scope.enter();
                    self.raw(e)
                }
                None => Kind::unit(),
            },
            None => {
                self.poison(&Syntax::If(i.clone()));
                Kind::Unknown
            }
        };
        self.scope.leave();
        kind
    }

    /// Whether a condition holds, with what its patterns bind; `None` if something was reported.
    pub(super) fn condition(&mut self, c: &Syntax) -> Option<bool> {
        if let Some(read) = reads_data(c) {
            let message = format!("a branch on tensor data: `{read}` is known only when the function runs");
            self.fail(
                Diagnostic::new(code::DATA_DEPENDENT, tokens(c), message)
                    .help("use `where_cond(..)` for a choice of values, `tensorplay::cond(..)` for a branch, `tensorplay::while_loop(..)` for a loop"),
            );
            return None;
        }
        match c {
            Syntax::Paren(p) => self.condition(&p.expr),
            Syntax::Group(p) => self.condition(&p.expr),
            Syntax::Unary(u) if matches!(u.op, UnOp::Not(_)) => self.condition(&u.expr).map(|c| !c),
            Syntax::Let(l) => {
                let kind = self.raw(&l.expr);
                self.fits(&l.pat, kind)
            }
            Syntax::Binary(b) if matches!(b.op, BinOp::And(_)) && has_let(c) => {
                match self.condition(&b.left) {
                    Some(true) => self.condition(&b.right),
                    other => other,
                }
            }
            other => {
                let at = tokens(other);
                let kind = self.expr(other);
                let condition = self.as_host(kind, &at, HostType::Bool)?;
                Some(self.decide(condition))
            }
        }
    }

    /// `match x { .. }`: the arm that this path takes. rustc checks that arms are exhaustive, so the last one is not asked.
    pub(super) fn matches(&mut self, m: &ExprMatch) -> Kind {
        if let Some(read) = reads_data(&m.expr) {
            let (t, c) = (&m.match_token, &m.expr);
            let message = format!("a branch on tensor data: `{read}` is known only when the function runs");
            self.fail(
                Diagnostic::new(code::DATA_DEPENDENT, quote!(#t #c), message)
                    .help("use `where_cond(..)` for a choice of values, `tensorplay::cond(..)` for a branch"),
            );
            self.poison(&Syntax::Match(m.clone()));
            return Kind::Unknown;
        }
        if let Some(a) = m
            .arms
            .iter()
            .flat_map(|arm| &arm.attrs)
            .find(|a| a.path().is_ident("cfg"))
        {
            let message = "`#[cfg]` on an arm cannot be captured yet";
            self.fail(Diagnostic::new(code::CFG, a, message).help("put it on the whole function"));
            self.poison(&Syntax::Match(m.clone()));
            return Kind::Unknown;
        }
        let scrutinee = self.raw(&m.expr);
        if matches!(scrutinee, Kind::Unknown) {
            self.poison(&Syntax::Match(m.clone()));
            return Kind::Unknown;
        }
        if let Some(kind) = self.match_opaque(m, &scrutinee) {
            return kind;
        }
        for (i, arm) in m.arms.iter().enumerate() {
            self.scope.enter();
            let last = i + 1 == m.arms.len();
            let kind = match self.fits_at(&arm.pat, scrutinee.clone(), last) {
                Some(true) => Some(self.raw(&arm.body)),
                Some(false) => None,
                None => {
                    self.poison(&Syntax::Match(m.clone()));
                    Some(Kind::Unknown)
                }
            };
            self.scope.leave();
            if let Some(kind) = kind {
                return kind;
            }
        }
        Kind::Unknown
    }

    pub(super) fn fits(&mut self, pat: &Pat, kind: Kind) -> Option<bool> {
        self.fits_at(pat, kind, false)
    }

    /// Whether a value fits a pattern, whose names are bound if so. One that `must` fit is not asked.
    fn fits_at(&mut self, pat: &Pat, kind: Kind, must: bool) -> Option<bool> {
        let ask = |walk: &mut Walk, c: Expr| must || walk.decide(c);
        match (pat, kind) {
            (_, Kind::Unknown) => {
                self.unknown_pattern(pat);
                None
            }
            (pat, cell @ Kind::Cell(_)) if !question::binds_whole(pat) => {
                let kind = self.load(cell);
                self.fits_at(pat, kind, must)
            }
            (Pat::Guard(g), kind) => match self.fits_at(&g.pat, kind, false) {
                Some(true) => self.condition(&g.guard),
                other => other,
            },
            // `n @ 3..=5`
            (Pat::Ident(i), kind) if i.subpat.is_some() => {
                let fits = match &i.subpat {
                    Some((_, inner)) => self.fits_at(inner, kind.clone(), must),
                    None => None,
                };
                if fits == Some(true) {
                    let name: Pat = Pat::Ident(PatIdent {
                        subpat: None,
                        ..i.clone()
                    });
                    self.bind_pattern(&name, kind);
                }
                fits
            }
            (Pat::Paren(p), kind) => self.fits_at(&p.pat, kind, must),
            (Pat::Reference(r), kind) => self.fits_at(&r.pat, kind, must),
            (Pat::Wild(_) | Pat::Rest(_), _) => Some(true),
            (Pat::Path(_) | Pat::Or(_), Kind::Enum(of, number)) => {
                let fits = self.variants(pat, &of, &number)?;
                Some(ask(self, fits))
            }
            // one condition, so that an arm is one path
            (Pat::Or(o), kind @ (Kind::Host(_) | Kind::Place(_))) if o.cases.iter().all(is_number) => {
                let value = self.as_host(kind, &pat.to_token_stream(), HostType::IntLiteral)?;
                let c = self.compared(pat, value)?;
                Some(ask(self, c))
            }
            (Pat::Or(_), Kind::Opaque(value)) => {
                let fits = self.ask_pattern(pat, &value, Read::Asked)?;
                Some(ask(self, fits))
            }
            (Pat::Or(o), kind) => {
                for p in &o.cases {
                    match self.fits_at(p, kind.clone(), must) {
                        Some(false) => {}
                        other => return other,
                    }
                }
                Some(false)
            }
            (Pat::Ident(i), Kind::Maybe(tag, inner)) if i.ident == "None" => {
                let some = self.decide(tag);
                drop(inner);
                Some(!some)
            }
            (Pat::Ident(i), Kind::Some(_)) if i.ident == "None" => Some(false),
            (Pat::Ident(i), Kind::None) if i.ident == "None" => Some(true),
            (Pat::TupleStruct(t), kind @ (Kind::Maybe(..) | Kind::Some(_) | Kind::None))
                if t.path.is_ident("Some") && t.elems.len() == 1 =>
            {
                match self.present(kind) {
                    Some(inner) => self.fits_at(&t.elems[0], inner, must),
                    None => Some(false),
                }
            }
            (
                Pat::Ident(i),
                kind @ (Kind::Enum(..) | Kind::Maybe(..) | Kind::Some(_) | Kind::None | Kind::Host(_)),
            ) if i.subpat.is_none() && question::names_variant(pat) => {
                self.refuse_variant(pat, kind.describe());
                None
            }
            (pat, Kind::Place(p)) if question::names_variant(pat) => {
                let fits = self.ask_pattern(pat, &p.tokens, Read::Host)?;
                Some(ask(self, fits))
            }
            (pat, Kind::Opaque(value)) if !question::binds_whole(pat) => {
                let fits = self.ask_pattern(pat, &value, Read::Asked)?;
                Some(ask(self, fits))
            }
            (Pat::Ident(i), kind) if i.subpat.is_none() && !is_const(&i.ident.to_string()) => {
                self.bind_pattern(pat, kind);
                Some(true)
            }
            (Pat::Struct(s), Kind::Record(record)) => match self.record_pattern(s, &record) {
                Some(parts) => {
                    let parts: Vec<(&Pat, Kind)> = parts.iter().map(|(p, k)| (p, k.clone())).collect();
                    self.all_fit(parts.into_iter(), must)
                }
                None => {
                    self.refuse_record(pat.to_token_stream());
                    None
                }
            },
            (Pat::TupleStruct(t), Kind::Record(record)) if t.elems.len() == record.fields.len() => {
                let kinds = record.fields.into_iter().map(|(_, kind)| kind);
                self.all_fit(t.elems.iter().zip(kinds), must)
            }
            (Pat::Tuple(t), Kind::List(kinds)) if t.elems.len() == kinds.len() => {
                self.all_fit(t.elems.iter().zip(kinds), must)
            }
            (Pat::Slice(s), Kind::List(kinds)) if !s.elems.iter().any(is_rest) => {
                if s.elems.len() != kinds.len() {
                    return Some(false);
                }
                self.all_fit(s.elems.iter().zip(kinds), must)
            }
            (Pat::Slice(s), Kind::Shape(v)) => {
                let rest = s.elems.iter().position(is_rest);
                let n = s.elems.len() - usize::from(rest.is_some());
                let rank = self.rank_of(v);
                let op = if rest.is_some() {
                    HostBinary::Ge
                } else {
                    HostBinary::Eq
                };
                let fits = Expr::Binary(op, Box::new(rank), Box::new(Expr::int(n as i64)));
                if !ask(self, fits) {
                    return Some(false);
                }
                let dims = s
                    .elems
                    .iter()
                    .enumerate()
                    .filter(|(_, p)| !is_rest(p))
                    .map(|(i, p)| {
                        let from_end = rest.is_some_and(|r| i > r);
                        let at = if from_end {
                            i as i64 - s.elems.len() as i64
                        } else {
                            i as i64
                        };
                        (p, Kind::Host(Expr::Dim(v, Box::new(Expr::int(at)))))
                    });
                let dims: Vec<(&Pat, Kind)> = dims.collect();
                self.all_fit(dims.into_iter(), must)
            }
            (
                Pat::Lit(_) | Pat::Path(_) | Pat::Ident(_) | Pat::Range(_),
                kind @ (Kind::Host(_) | Kind::Place(_)),
            ) => {
                let at = pat.to_token_stream();
                let value = self.as_host(kind, &at, HostType::IntLiteral)?;
                let c = self.compared(pat, value)?;
                Some(ask(self, c))
            }
            (pat, Kind::Part(p)) if question::names_variant(pat) => {
                let message = format!(
                    "a match of `{}`, an enum from elsewhere, cannot be captured yet",
                    p.name
                );
                self.fail(Diagnostic::new(code::PATTERN, pat, message).help(
                    "declare the enum in this `#[model]` module, or keep a number or a flag in the field",
                ));
                None
            }
            (pat, kind) => {
                let message = format!(
                    "a match of {} with this pattern cannot be captured yet",
                    kind.describe()
                );
                self.fail(
                    Diagnostic::new(code::PATTERN, pat, message)
                        .help("match numbers, flags, dtypes, shapes, options, and tuples of these"),
                );
                self.unknown_pattern(pat);
                None
            }
        }
    }

    fn all_fit<'p>(&mut self, parts: impl Iterator<Item = (&'p Pat, Kind)>, must: bool) -> Option<bool> {
        for (p, k) in parts {
            match self.fits_at(p, k, must) {
                Some(true) => {}
                other => return other,
            }
        }
        Some(true)
    }

    /// What an `Option` holds, if it does on this path.
    pub(super) fn present(&mut self, kind: Kind) -> Option<Kind> {
        match kind {
            Kind::Maybe(tag, inner) => self.decide(tag).then_some(*inner),
            Kind::Some(inner) => Some(*inner),
            _ => None,
        }
    }

    /// Whether an enum of the module is of the variants that a pattern names: one condition, so that an arm is one path.
    fn variants(&mut self, pat: &Pat, of: &str, number: &Expr) -> Option<Expr> {
        let binary = |op, a: Expr, b: Expr| Expr::Binary(op, Box::new(a), Box::new(b));
        match pat {
            Pat::Or(o) => {
                let mut any = None;
                for case in &o.cases {
                    let is = self.variants(case, of, number)?;
                    any = Some(match any {
                        Some(any) => binary(HostBinary::Or, any, is),
                        None => is,
                    });
                }
                any
            }
            Pat::Path(p) => match self.enum_variant(&p.path) {
                Some(Kind::Enum(other, n)) if other == of => Some(binary(HostBinary::Eq, number.clone(), n)),
                _ => {
                    self.refuse_variant(pat, "an enum");
                    None
                }
            },
            _ => {
                self.refuse_variant(pat, "an enum");
                None
            }
        }
    }

    fn refuse_variant(&mut self, pat: &Pat, what: &str) {
        let shown = text(pat.to_token_stream());
        let message = format!("the pattern `{shown}` of {what} cannot be captured yet");
        self.fail(
            Diagnostic::new(code::PATTERN, pat, message)
                .help("write the path of a variant of the type, as in `Act::Relu`"),
        );
    }

    /// The condition under which a number fits a literal, a range or a const.
    fn compared(&mut self, pat: &Pat, value: Expr) -> Option<Expr> {
        let binary = |op, a: &Expr, b: Expr| Expr::Binary(op, Box::new(a.clone()), Box::new(b));
        match pat {
            Pat::Lit(l) => match &l.lit {
                Lit::Bool(b) if b.value => Some(value),
                Lit::Bool(_) => Some(Expr::Unary(HostUnary::Not, Box::new(value))),
                _ => {
                    let other = self.pattern_number(&Syntax::Lit(l.clone()))?;
                    Some(binary(HostBinary::Eq, &value, other))
                }
            },
            Pat::Path(p) if variant(&p.path) => {
                let message = "a match of an enum cannot be captured yet";
                self.fail(
                    Diagnostic::new(code::PATTERN, pat, message).help("match a number, a flag or a dtype"),
                );
                None
            }
            Pat::Path(p) => {
                let other = self.pattern_number(&Syntax::Path(p.clone()))?;
                Some(binary(HostBinary::Eq, &value, other))
            }
            Pat::Ident(i) => {
                let name = &i.ident;
                let other = self.pattern_number(&syn::parse_quote!(#name))?;
                Some(binary(HostBinary::Eq, &value, other))
            }
            Pat::Range(r) => {
                let lo = match &r.start {
                    Some(e) => Some(binary(HostBinary::Ge, &value, self.pattern_number(e)?)),
                    None => None,
                };
                let op = match r.limits {
                    RangeLimits::Closed(_) => HostBinary::Le,
                    RangeLimits::HalfOpen(_) => HostBinary::Lt,
                };
                let hi = match &r.end {
                    Some(e) => Some(binary(op, &value, self.pattern_number(e)?)),
                    None => None,
                };
                match (lo, hi) {
                    (Some(lo), Some(hi)) => Some(binary(HostBinary::And, &lo, hi)),
                    (one, other) => one.or(other),
                }
            }
            Pat::Or(o) => {
                let mut any: Option<Expr> = None;
                for p in &o.cases {
                    let c = self.compared(p, value.clone())?;
                    any = Some(match any {
                        Some(before) => Expr::binary(HostBinary::Or, before, c),
                        None => c,
                    });
                }
                any
            }
            _ => None,
        }
    }

    fn pattern_number(&mut self, e: &Syntax) -> Option<Expr> {
        let kind = self.expr(e);
        self.as_host(kind, &tokens(e), HostType::IntLiteral)
    }
}

fn is_rest(p: &Pat) -> bool {
    matches!(p, Pat::Rest(_))
}

/// Whether a pattern is a number, a flag or a dtype, or a range of numbers.
fn is_number(p: &Pat) -> bool {
    match p {
        Pat::Lit(_) | Pat::Range(_) => true,
        Pat::Path(_) => !question::names_variant(p) || is_dtype(p),
        Pat::Ident(i) => i.subpat.is_none() && is_const(&i.ident.to_string()),
        _ => false,
    }
}

/// `DType::F32`.
fn is_dtype(p: &Pat) -> bool {
    let Pat::Path(p) = p else { return false };
    let segments = &p.path.segments;
    segments.len() > 1 && segments[segments.len() - 2].ident == "DType"
}

/// Whether a name in a pattern is that of a const, by its case.
fn is_const(name: &str) -> bool {
    name.chars().any(|c| c.is_ascii_uppercase()) && !name.chars().any(|c| c.is_ascii_lowercase())
}

/// Whether a path is that of an enum's variant other than a dtype, by its case.
fn variant(path: &syn::Path) -> bool {
    let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
    match names.as_slice() {
        [.., owner, name] => owner != "DType" && owner.starts_with(char::is_uppercase) && !is_const(name),
        _ => false,
    }
}

/// Whether an expression binds names with `let`.
pub(super) fn has_let(e: &Syntax) -> bool {
    match e {
        Syntax::Let(_) => true,
        Syntax::Binary(b) => has_let(&b.left) || has_let(&b.right),
        Syntax::Paren(p) => has_let(&p.expr),
        _ => false,
    }
}

/// The methods that read tensor data.
pub(crate) const READS_DATA: &[&str] = &["item", "to_vec", "to_ndarray", "allclose"];

/// The first read of tensor data in an expression.
pub(super) fn reads_data(e: &Syntax) -> Option<String> {
    struct Find(Option<String>);
    impl<'ast> Visit<'ast> for Find {
        fn visit_expr_method_call(&mut self, m: &'ast syn::ExprMethodCall) {
            visit::visit_expr_method_call(self, m);
            let name = m.method.to_string();
            if self.0.is_none() && READS_DATA.contains(&name.as_str()) {
                self.0 = Some(name);
            }
        }
    }
    let mut find = Find(None);
    find.visit_expr(e);
    find.0
}
