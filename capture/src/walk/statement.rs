//! Statements and blocks.

use super::Walk;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::Kind;
use crate::parameter::host_type;
use crate::words::words;
use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Item, ItemConst, Local, Pat, Stmt, UnOp, UseTree};

impl Walk {
    pub(super) fn block(&mut self, b: &Block) -> Kind {
        self.scope.enter();
        self.depth += 1;
        let kind = self.statements(&b.stmts);
        self.depth -= 1;
        self.scope.leave();
        kind
    }

    /// Walks statements up to the first `return`; the value of the last one.
    pub(super) fn statements(&mut self, stmts: &[Stmt]) -> Kind {
        let hidden = self.hidden.len();
        self.items_of(stmts);
        let mut last = Kind::unit();
        for s in stmts {
            if self.leaves() {
                last = Kind::Unknown;
                break;
            }
            last = self.statement(s);
        }
        self.hidden.truncate(hidden);
        last
    }

    /// The items of a block are in reach in all of it: consts are known, others hide what has their names elsewhere.
    pub(super) fn items_of(&mut self, stmts: &[Stmt]) {
        for s in stmts {
            let Stmt::Item(item) = s else { continue };
            let name = match item {
                Item::Const(c) => {
                    self.constant(c);
                    continue;
                }
                Item::Use(u) => {
                    imported(&u.tree, &mut self.hidden);
                    continue;
                }
                Item::Fn(f) => &f.sig.ident,
                Item::Struct(s) => &s.ident,
                Item::Enum(e) => &e.ident,
                Item::Mod(m) => &m.ident,
                Item::Static(s) => &s.ident,
                Item::Type(t) => &t.ident,
                Item::Macro(m) => match &m.ident {
                    Some(name) => name,
                    None => continue,
                },
                _ => continue,
            };
            self.hidden.push(name.to_string());
        }
    }

    /// Whether a `return`, `break` or `continue` was met: what follows does not run.
    pub(super) fn leaves(&self) -> bool {
        self.returned.is_some() || self.jump.is_some()
    }

    fn statement(&mut self, s: &Stmt) -> Kind {
        if let Some(attribute) = cfg_attribute(s.to_token_stream()) {
            self.fail(
                Diagnostic::new(
                    code::CFG,
                    attribute,
                    "`#[cfg]` on a statement cannot be captured yet",
                )
                .help("put it on the whole function"),
            );
            self.poison(s);
            if let Stmt::Local(l) = s {
                self.unknown_pattern(&l.pat);
            }
            return Kind::Unknown;
        }
        match s {
            Stmt::Local(l) => self.local(l),
            Stmt::Item(_) => Kind::unit(),
            // a lone semicolon
            Stmt::Expr(Expr::Verbatim(none), _) if none.is_empty() => Kind::unit(),
            Stmt::Expr(e, None) => self.raw(e),
            Stmt::Expr(e, Some(_)) => {
                let value = self.expr(e);
                // a call whose value nobody takes is there for what it changes
                if matches!(value, Kind::Unknown)
                    && let Expr::MethodCall(m) = e
                    && let Some(name) = root(&m.receiver)
                    && let Some(old) = self.scope.get(&name).cloned()
                {
                    self.spoil(&old);
                    self.scope.assign(&name, Kind::Unknown);
                }
                Kind::unit()
            }
            Stmt::Macro(m) => match (self.macro_call(&m.mac), &m.semi_token) {
                (kind, None) => kind,
                (_, Some(_)) => Kind::unit(),
            },
        }
    }

    fn local(&mut self, l: &Local) -> Kind {
        let (pat, ty) = match &l.pat {
            Pat::Type(t) => (&*t.pat, Some(&*t.ty)),
            other => (other, None),
        };
        let kind = match &l.init {
            // read before it is assigned: rustc reports it
            None => Kind::Unknown,
            Some(init) => {
                let kind = self.raw(&init.expr);
                let kind = match ty {
                    Some(ty) => self.typed(kind, ty, &init.expr.to_token_stream()),
                    None => kind,
                };
                if let Some((_, otherwise)) = &init.diverge {
                    match self.fits(pat, kind) {
                        Some(true) => {}
                        Some(false) => {
                            self.raw(otherwise);
                            self.unknown_pattern(pat);
                        }
                        None => self.poison(&**otherwise),
                    }
                    return Kind::unit();
                }
                kind
            }
        };
        self.bind_pattern(pat, kind);
        Kind::unit()
    }

    /// A const of the body: its value if it is simple, a read when the call starts if it is in reach there.
    pub(super) fn constant(&mut self, c: &ItemConst) {
        let name = c.ident.to_string();
        match host_type(&c.ty) {
            Some(_) if simple(&c.expr) => {
                let kind = self.expr(&c.expr);
                let kind = self.typed(kind, &c.ty, &c.expr.to_token_stream());
                self.scope.bind(name, kind);
            }
            _ if self.depth > 0 => {
                let head = (&c.const_token, &c.ident);
                let (a, b) = head;
                self.fail(
                    Diagnostic::new(
                        code::STATEMENT,
                        quote!(#a #b),
                        "this const in an inner block cannot be captured yet",
                    )
                    .help("move it to the top of the function, or out of it"),
                );
                self.scope.bind(name, Kind::Unknown);
            }
            _ => {}
        }
    }

    /// The locals in reach that an expression may change, each once.
    pub(super) fn assigned(&self, e: &Expr) -> Vec<String> {
        let mut v = Assigned::default();
        v.visit_expr(e);
        let changed = v.receivers.into_iter().filter(|name| {
            let kind = self.scope.get(name);
            !matches!(
                kind,
                Some(Kind::Tensor(_) | Kind::Host(_) | Kind::Place(_) | Kind::Part(_)) | None
            )
        });
        let mut names: Vec<String> = Vec::new();
        for name in v.names.into_iter().chain(changed) {
            if self.scope.get(&name).is_some() && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// After a construct that was skipped, the locals that it may change are unknown.
    pub(super) fn poison(&mut self, s: impl ToTokens + Visited) {
        let mut v = Assigned::default();
        s.visit_in(&mut v);
        for name in v.names {
            if let Some(lent) = self.scope.get(&name).cloned() {
                self.spoil(&lent);
            }
            self.scope.assign(&name, Kind::Unknown);
        }
        for name in v.receivers {
            if !matches!(
                self.scope.get(&name),
                Some(
                    Kind::Tensor(_)
                        | Kind::Host(_)
                        | Kind::Place(_)
                        | Kind::Part(_)
                        | Kind::Cell(_)
                        | Kind::Opaque(_)
                ) | None
            ) {
                self.scope.assign(&name, Kind::Unknown);
            }
        }
    }
}

/// What [`Walk::poison`] looks into.
pub(super) trait Visited {
    fn visit_in(&self, v: &mut Assigned);
}

impl Visited for &Stmt {
    fn visit_in(&self, v: &mut Assigned) {
        v.visit_stmt(self);
    }
}

impl Visited for &Expr {
    fn visit_in(&self, v: &mut Assigned) {
        v.visit_expr(self);
    }
}

/// The locals that code assigns, borrowed mutably, or calls methods on.
#[derive(Default)]
pub(super) struct Assigned {
    names: Vec<String>,
    receivers: Vec<String>,
}

fn root(e: &Expr) -> Option<String> {
    match e {
        Expr::Path(p) => p.path.get_ident().map(ToString::to_string),
        Expr::Paren(p) => root(&p.expr),
        Expr::Index(i) => root(&i.expr),
        Expr::Field(f) => root(&f.base),
        Expr::Unary(u) if matches!(u.op, UnOp::Deref(_)) => root(&u.expr),
        _ => None,
    }
}

impl<'ast> Visit<'ast> for Assigned {
    fn visit_expr_assign(&mut self, e: &'ast syn::ExprAssign) {
        match &*e.left {
            Expr::Tuple(t) => self.names.extend(t.elems.iter().filter_map(root)),
            left => self.names.extend(root(left)),
        }
        visit::visit_expr_assign(self, e);
    }

    fn visit_expr_binary(&mut self, e: &'ast syn::ExprBinary) {
        use BinOp::*;
        if matches!(
            e.op,
            AddAssign(_)
                | SubAssign(_)
                | MulAssign(_)
                | DivAssign(_)
                | RemAssign(_)
                | BitXorAssign(_)
                | BitAndAssign(_)
                | BitOrAssign(_)
                | ShlAssign(_)
                | ShrAssign(_)
        ) {
            self.names.extend(root(&e.left));
        }
        visit::visit_expr_binary(self, e);
    }

    fn visit_expr_reference(&mut self, e: &'ast syn::ExprReference) {
        if e.mutability.is_some() {
            self.names.extend(root(&e.expr));
        }
        visit::visit_expr_reference(self, e);
    }

    fn visit_expr_method_call(&mut self, e: &'ast syn::ExprMethodCall) {
        self.receivers.extend(root(&e.receiver));
        visit::visit_expr_method_call(self, e);
    }

    fn visit_macro(&mut self, m: &'ast syn::Macro) {
        // a macro may assign what it names
        let named = words(m.tokens.clone());
        self.receivers.extend(named.iter().map(ToString::to_string));
    }
}

/// The `#[cfg(..)]` or `#[cfg_attr(..)]` among the attributes that tokens begin with.
fn cfg_attribute(tokens: TokenStream) -> Option<TokenStream> {
    let mut trees = tokens.into_iter();
    loop {
        let (Some(TokenTree::Punct(p)), Some(TokenTree::Group(g))) = (trees.next(), trees.next()) else {
            return None;
        };
        if p.as_char() != '#' {
            return None;
        }
        if matches!(g.stream().into_iter().next(), Some(TokenTree::Ident(i)) if i == "cfg" || i == "cfg_attr")
        {
            return Some(quote!(#p #g));
        }
    }
}

/// Whether an expression is arithmetic of literals and paths.
fn simple(e: &Expr) -> bool {
    match e {
        Expr::Lit(_) | Expr::Path(_) => true,
        Expr::Paren(p) => simple(&p.expr),
        Expr::Group(p) => simple(&p.expr),
        Expr::Cast(c) => simple(&c.expr) && host_type(&c.ty).is_some(),
        Expr::Unary(u) => matches!(u.op, UnOp::Neg(_)) && simple(&u.expr),
        Expr::Binary(b) => {
            matches!(
                b.op,
                BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_) | BinOp::Rem(_)
            ) && simple(&b.left)
                && simple(&b.right)
        }
        _ => false,
    }
}

/// The names that an import brings, `*` for all of a module; those of this crate and of the standard library mean what they
/// always do.
fn imported(tree: &UseTree, out: &mut Vec<String>) {
    if let UseTree::Path(p) = tree
        && ["tensorplay", "std", "core", "alloc"].contains(&p.ident.to_string().as_str())
    {
        return;
    }
    match tree {
        UseTree::Path(p) => imported(&p.tree, out),
        UseTree::Name(n) => out.push(n.ident.to_string()),
        UseTree::Rename(r) => out.push(r.rename.to_string()),
        UseTree::Glob(_) => out.push("*".into()),
        UseTree::Group(g) => g.items.iter().for_each(|t| imported(t, out)),
    }
}
