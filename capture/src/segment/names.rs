//! The names that code reads, assigns and binds, as far as tokens tell.
//!
//! Method: paths of one word are names; all words of a macro are, and those that a format string captures inline.
//! Invariant: a name that is read is never missed; one too many costs a result that nobody takes.

use crate::walk::is_known_method;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeSet;
use syn::visit::{self, Visit};
use syn::{Expr, Pat, Stmt, UnOp};

/// A set of names.
pub type Names = BTreeSet<String>;

/// What is read in code; assigned places count.
pub fn read_in(code: &(impl Code + ?Sized)) -> Names {
    let mut v = Reads::default();
    code.accept(&mut v);
    v.0
}

/// What code assigns or borrows mutably; in a macro, all that it names.
pub fn changed_in(code: &(impl Code + ?Sized)) -> Names {
    let mut v = Changes::default();
    code.accept(&mut v);
    v.0
}

/// Code that visitors go through.
pub trait Code {
    /// Goes through it.
    fn accept<'a, V: Visit<'a>>(&'a self, v: &mut V);
}

impl Code for Expr {
    fn accept<'a, V: Visit<'a>>(&'a self, v: &mut V) {
        v.visit_expr(self);
    }
}

impl Code for Stmt {
    fn accept<'a, V: Visit<'a>>(&'a self, v: &mut V) {
        v.visit_stmt(self);
    }
}

impl Code for [Stmt] {
    fn accept<'a, V: Visit<'a>>(&'a self, v: &mut V) {
        self.iter().for_each(|s| v.visit_stmt(s));
    }
}

/// All words of tokens, and the names in their string literals.
fn words(tokens: TokenStream, out: &mut Names) {
    for t in tokens {
        match t {
            TokenTree::Ident(i) => {
                out.insert(i.to_string());
            }
            TokenTree::Group(g) => words(g.stream(), out),
            TokenTree::Literal(l) => inline(&l.to_string(), out),
            TokenTree::Punct(_) => {}
        }
    }
}

/// The names that a format string captures: `{h}`, `{h:.3}`, `{0:width$}`.
fn inline(literal: &str, out: &mut Names) {
    if !literal.contains('{') {
        return;
    }
    let word = |c: char| c.is_alphanumeric() || c == '_';
    for w in literal.split(|c| !word(c)) {
        if w.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            out.insert(w.to_string());
        }
    }
}

#[derive(Default)]
struct Reads(Names);

impl<'a> Visit<'a> for Reads {
    fn visit_expr_path(&mut self, p: &'a syn::ExprPath) {
        if let Some(name) = p.path.get_ident() {
            self.0.insert(name.to_string());
        }
    }

    fn visit_macro(&mut self, m: &'a syn::Macro) {
        words(m.tokens.clone(), &mut self.0);
    }

    fn visit_expr(&mut self, e: &'a Expr) {
        match e {
            Expr::Verbatim(tokens) => words(tokens.clone(), &mut self.0),
            e => visit::visit_expr(self, e),
        }
    }
}

#[derive(Default)]
struct Changes(Names);

impl<'a> Visit<'a> for Changes {
    fn visit_expr_assign(&mut self, e: &'a syn::ExprAssign) {
        places(&e.left, &mut self.0);
        visit::visit_expr_assign(self, e);
    }

    fn visit_expr_binary(&mut self, e: &'a syn::ExprBinary) {
        if assigns(&e.op) {
            places(&e.left, &mut self.0);
        }
        visit::visit_expr_binary(self, e);
    }

    fn visit_expr_reference(&mut self, e: &'a syn::ExprReference) {
        if e.mutability.is_some() {
            places(&e.expr, &mut self.0);
        }
        visit::visit_expr_reference(self, e);
    }

    fn visit_expr_method_call(&mut self, m: &'a syn::ExprMethodCall) {
        if MUTATES.contains(&m.method.to_string().as_str()) {
            places(&m.receiver, &mut self.0);
        }
        visit::visit_expr_method_call(self, m);
    }

    fn visit_macro(&mut self, m: &'a syn::Macro) {
        let shows = m
            .path
            .segments
            .last()
            .is_some_and(|s| SHOWS.contains(&s.ident.to_string().as_str()));
        if !shows || may_change(m.tokens.clone(), true) {
            words(m.tokens.clone(), &mut self.0);
        }
    }
}

/// What methods are called on that no operation and no question is: they may change it. Of those whose value nobody takes,
/// that is what they are for.
pub struct CalledOn {
    /// All of it.
    pub any: Names,
    /// What stands in a statement of its own.
    pub alone: Names,
}

/// What foreign methods are called on in a statement.
pub fn called_on(s: &Stmt) -> CalledOn {
    struct Calls(CalledOn);
    impl<'a> Visit<'a> for Calls {
        fn visit_stmt(&mut self, s: &'a Stmt) {
            if let Stmt::Expr(Expr::MethodCall(m), Some(_)) = s
                && !is_known_method(&m.method.to_string())
            {
                places(&m.receiver, &mut self.0.alone);
            }
            visit::visit_stmt(self, s);
        }

        fn visit_expr_method_call(&mut self, m: &'a syn::ExprMethodCall) {
            if !is_known_method(&m.method.to_string()) {
                places(&m.receiver, &mut self.0.any);
            }
            visit::visit_expr_method_call(self, m);
        }
    }
    let mut calls = Calls(CalledOn {
        any: Names::new(),
        alone: Names::new(),
    });
    calls.visit_stmt(s);
    calls.0
}

/// Macros that take what they are given by reference.
pub(super) const SHOWS: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "debug",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "eprint",
    "eprintln",
    "error",
    "format",
    "info",
    "panic",
    "print",
    "println",
    "trace",
    "warn",
];

/// Whether tokens may assign something, or lend it for that; those of a macro itself name arguments with `=`.
fn may_change(tokens: TokenStream, arguments: bool) -> bool {
    let mut before = ' ';
    let mut trees = tokens.into_iter().peekable();
    while let Some(tree) = trees.next() {
        let now = match &tree {
            TokenTree::Punct(p) => p.as_char(),
            _ => ' ',
        };
        let next = match trees.peek() {
            Some(TokenTree::Punct(p)) => p.as_char(),
            _ => ' ',
        };
        let changes = match &tree {
            TokenTree::Ident(i) => i == "mut" || MUTATES.contains(&i.to_string().as_str()),
            TokenTree::Group(g) => may_change(g.stream(), false),
            TokenTree::Punct(_) => {
                let named = arguments && before == ' ';
                now == '=' && next != '=' && !named && !"=!<>".contains(before)
            }
            TokenTree::Literal(_) => false,
        };
        if changes {
            return true;
        }
        before = now;
    }
    false
}

/// Methods of the standard library's collections that change what they are called on.
const MUTATES: &[&str] = &[
    "append",
    "clear",
    "clone_from",
    "dedup",
    "drain",
    "extend",
    "extend_from_slice",
    "fill",
    "insert",
    "pop",
    "push",
    "push_back",
    "push_front",
    "remove",
    "resize",
    "retain",
    "reverse",
    "rotate_left",
    "rotate_right",
    "sort",
    "split_off",
    "swap",
    "swap_remove",
    "truncate",
];

/// Whether an operator is one like `+=`.
pub fn assigns(op: &syn::BinOp) -> bool {
    let text = op.to_token_stream().to_string();
    text.len() > 1 && text.ends_with('=') && !matches!(text.as_str(), "==" | "<=" | ">=" | "!=")
}

fn places(e: &Expr, out: &mut Names) {
    match e {
        Expr::Path(p) => out.extend(p.path.get_ident().map(ToString::to_string)),
        Expr::Paren(p) => places(&p.expr, out),
        Expr::Index(i) => places(&i.expr, out),
        Expr::Field(f) => places(&f.base, out),
        Expr::Unary(u) if matches!(u.op, UnOp::Deref(_)) => places(&u.expr, out),
        Expr::Tuple(t) => t.elems.iter().for_each(|e| places(e, out)),
        Expr::Array(a) => a.elems.iter().for_each(|e| places(e, out)),
        _ => {}
    }
}

/// A name that a pattern binds.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The name.
    pub ident: Ident,
    /// Whether it is `mut`.
    pub mutable: bool,
    /// Whether it is `ref`.
    pub by_ref: bool,
}

/// The names that a pattern binds, from left to right.
pub fn bindings(pat: &Pat) -> Vec<Binding> {
    struct Find(Vec<Binding>);
    impl<'a> Visit<'a> for Find {
        fn visit_pat_ident(&mut self, i: &'a syn::PatIdent) {
            let text = i.ident.to_string();
            // a word in upper case is a const, or `None`
            if !text.starts_with(char::is_uppercase) {
                self.0.push(Binding {
                    ident: i.ident.clone(),
                    mutable: i.mutability.is_some(),
                    by_ref: i.by_ref.is_some(),
                });
            }
            visit::visit_pat_ident(self, i);
        }
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let mut find = Find(Vec::new());
    find.visit_pat(pat);
    find.0
}

/// The names that a `let` in a condition binds.
pub fn bound_by_condition(c: &Expr) -> Vec<Binding> {
    match c {
        Expr::Let(l) => bindings(&l.pat),
        Expr::Paren(p) => bound_by_condition(&p.expr),
        Expr::Binary(b) => {
            let mut all = bound_by_condition(&b.left);
            all.extend(bound_by_condition(&b.right));
            all
        }
        _ => Vec::new(),
    }
}

/// What statements read, and these names.
pub fn union(stmts: &[Stmt], names: &Names) -> Names {
    let mut all = read_in(stmts);
    all.extend(names.iter().cloned());
    all
}

/// The words that are arguments of their own, or stand before `=` or `:`, in the tokens of a macro.
pub fn alone(tokens: TokenStream) -> Names {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut out = Names::new();
    for (i, t) in trees.iter().enumerate() {
        let TokenTree::Ident(name) = t else { continue };
        let starts = match i.checked_sub(1).map(|i| &trees[i]) {
            None => true,
            Some(TokenTree::Punct(p)) => matches!(p.as_char(), ',' | ';'),
            Some(TokenTree::Ident(i)) => i == "mut" || i == "let",
            Some(_) => false,
        };
        let ends = match trees.get(i + 1) {
            None => true,
            Some(TokenTree::Punct(p)) => matches!(p.as_char(), ',' | ';' | '=' | ':'),
            Some(_) => false,
        };
        if starts && ends {
            out.insert(name.to_string());
        }
    }
    out
}

/// The locals that code may move: named elsewhere than behind `&` and before a dot.
pub fn moved_in(stmts: &[Stmt]) -> Names {
    struct Find(Names);
    fn borrowed(e: &Expr) -> bool {
        match e {
            Expr::Path(p) => p.path.get_ident().is_some(),
            Expr::Paren(p) => borrowed(&p.expr),
            _ => false,
        }
    }
    impl<'a> Visit<'a> for Find {
        fn visit_expr_reference(&mut self, r: &'a syn::ExprReference) {
            if !borrowed(&r.expr) {
                visit::visit_expr_reference(self, r);
            }
        }
        fn visit_expr_method_call(&mut self, m: &'a syn::ExprMethodCall) {
            if !borrowed(&m.receiver) {
                self.visit_expr(&m.receiver);
            }
            m.args.iter().for_each(|a| self.visit_expr(a));
        }
        fn visit_expr_path(&mut self, p: &'a syn::ExprPath) {
            self.0.extend(p.path.get_ident().map(ToString::to_string));
        }
    }
    let mut find = Find(Names::new());
    stmts.iter().for_each(|s| find.visit_stmt(s));
    find.0
}

/// Whether the expressions of statements nest deeper than `most`.
pub fn deeper(stmts: &[Stmt], most: usize) -> bool {
    struct Depth {
        now: usize,
        most: usize,
        deeper: bool,
    }
    impl<'a> Visit<'a> for Depth {
        fn visit_expr(&mut self, e: &'a Expr) {
            self.deeper |= self.now == self.most;
            if !self.deeper {
                self.now += 1;
                visit::visit_expr(self, e);
                self.now -= 1;
            }
        }
    }
    let (now, deeper) = (0, false);
    let mut v = Depth { now, most, deeper };
    stmts.iter().for_each(|s| v.visit_stmt(s));
    v.deeper
}
