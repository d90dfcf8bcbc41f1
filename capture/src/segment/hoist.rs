//! Takes the tensor part off a statement that reads data: `t.mean_all().item::<f32>()` becomes
//! `let first = t.mean_all();` and `first.item::<f32>()`.
//!
//! Method: subexpressions are visited in the order in which Rust evaluates them. Invariant: what is evaluated before the
//! part that is taken has no effect, and the part is evaluated exactly once, so nothing can tell the difference.

use super::locals::Local;
use super::names::{called_on, changed_in};
use super::trial::{Fault, Trial, Wanted};
use super::{Splitter, form, place};
use crate::location::start;
use proc_macro2::Span;
use syn::{Expr, ExprBreak, ExprPath, ExprReturn, Ident, Stmt};

enum Found {
    /// It was replaced; this stood there.
    Part(Box<Expr>),
    /// Nothing there, and evaluating it has no effect.
    Pure,
    /// Nothing there, and what follows must not be evaluated before it.
    Effect,
}

/// So many parts of a statement are tried.
const MOST_TRIALS: usize = 32;

/// Methods without effects.
const PURE: &[&str] = &[
    "item",
    "to_vec",
    "to_ndarray",
    "dim",
    "rank",
    "elem_count",
    "dtype",
    "shape",
    "len",
    "clone",
];

/// Replaces the first part that `fits` by `name`.
fn first_part(s: &mut Stmt, name: &Ident, fits: &mut dyn FnMut(&Expr) -> bool) -> Option<Expr> {
    let e = match s {
        Stmt::Local(l) => match &mut l.init {
            Some(init) if init.diverge.is_none() => &mut *init.expr,
            _ => return None,
        },
        Stmt::Expr(e, _) => e,
        Stmt::Item(_) | Stmt::Macro(_) => return None,
    };
    match (Hoist { name, fits }).root(e) {
        Found::Part(part) => Some(*part),
        _ => None,
    }
}

struct Hoist<'a> {
    name: &'a Ident,
    fits: &'a mut dyn FnMut(&Expr) -> bool,
}

impl Hoist<'_> {
    /// An expression that is a statement, or the value of one.
    fn root(&mut self, e: &mut Expr) -> Found {
        match e {
            Expr::If(i) => self.condition(&mut i.cond),
            Expr::Match(m) => self.part(&mut m.expr),
            Expr::ForLoop(f) => self.part(&mut f.expr),
            Expr::Assign(a) if matches!(&*a.left, Expr::Path(_)) => self.part(&mut a.right),
            Expr::Binary(b) if super::names::assigns(&b.op) && matches!(&*b.left, Expr::Path(_)) => {
                self.part(&mut b.right)
            }
            Expr::Return(ExprReturn { expr: Some(e), .. }) | Expr::Break(ExprBreak { expr: Some(e), .. }) => {
                self.part(e)
            }
            e => self.part(e),
        }
    }

    fn condition(&mut self, c: &mut Expr) -> Found {
        match c {
            Expr::Let(l) => self.part(&mut l.expr),
            Expr::Paren(p) => self.condition(&mut p.expr),
            Expr::Binary(b) => match self.condition(&mut b.left) {
                Found::Pure if !lazy(&b.op) => self.part(&mut b.right),
                found => found,
            },
            c => self.part(c),
        }
    }

    fn part(&mut self, e: &mut Expr) -> Found {
        let inner = match &*e {
            Expr::Paren(p) => &*p.expr,
            e => e,
        };
        let makes = matches!(
            inner,
            Expr::MethodCall(_) | Expr::Binary(_) | Expr::Call(_) | Expr::Unary(_) | Expr::Try(_)
        );
        if !makes || !(self.fits)(inner) {
            return self.inside(e);
        }
        let mut name = self.name.clone();
        name.set_span(name.span().located_at(start(inner)));
        let name = Expr::Path(ExprPath {
            attrs: Vec::new(),
            qself: None,
            path: name.into(),
        });
        Found::Part(match std::mem::replace(e, name) {
            Expr::Paren(p) => p.expr,
            e => Box::new(e),
        })
    }

    fn inside(&mut self, e: &mut Expr) -> Found {
        match e {
            Expr::Lit(_) | Expr::Path(_) | Expr::Closure(_) => Found::Pure,
            Expr::Paren(p) => self.part(&mut p.expr),
            Expr::Group(p) => self.part(&mut p.expr),
            Expr::Reference(r) => self.part(&mut r.expr),
            Expr::Cast(c) => self.part(&mut c.expr),
            Expr::Field(f) => self.part(&mut f.base),
            Expr::Unary(u) => self.then_effect(|h| h.part(&mut u.expr)),
            Expr::Try(t) => self.then_effect(|h| h.part(&mut t.expr)),
            Expr::Binary(b) => match self.part(&mut b.left) {
                Found::Pure if !lazy(&b.op) => self.then_effect(|h| h.part(&mut b.right)),
                Found::Pure => Found::Effect,
                found => found,
            },
            Expr::MethodCall(m) => {
                let pure = PURE.contains(&m.method.to_string().as_str());
                let mut parts = vec![&mut *m.receiver];
                parts.extend(m.args.iter_mut());
                self.all(parts, pure)
            }
            Expr::Call(c) => {
                let mut parts = vec![&mut *c.func];
                parts.extend(c.args.iter_mut());
                self.all(parts, false)
            }
            Expr::Index(i) => self.all(vec![&mut i.expr, &mut i.index], false),
            Expr::Tuple(t) => self.all(t.elems.iter_mut().collect(), true),
            Expr::Array(a) => self.all(a.elems.iter_mut().collect(), true),
            Expr::Struct(s) => self.all(s.fields.iter_mut().map(|f| &mut f.expr).collect(), false),
            _ => Found::Effect,
        }
    }

    fn all(&mut self, parts: Vec<&mut Expr>, pure: bool) -> Found {
        for e in parts {
            match self.part(e) {
                Found::Pure => {}
                found => return found,
            }
        }
        if pure { Found::Pure } else { Found::Effect }
    }

    fn then_effect(&mut self, part: impl FnOnce(&mut Self) -> Found) -> Found {
        match part(self) {
            Found::Pure => Found::Effect,
            found => found,
        }
    }
}

fn lazy(op: &syn::BinOp) -> bool {
    matches!(op, syn::BinOp::And(_) | syn::BinOp::Or(_))
}

impl Splitter<'_> {
    /// Takes the tensor part off statement `n`, as a statement before it.
    pub(super) fn hoist(&mut self, rest: &mut Vec<Stmt>, n: usize) -> bool {
        let work = |trial: Result<Trial, Fault>| trial.map_or(0, |t| t.work);
        let before = match n {
            0 => 0,
            n => work(self.attempt(&rest[..n], Wanted::Nothing)),
        };
        let name = Ident::new(&format!("__tp_t{}", self.temporaries), Span::mixed_site());
        let known = self.after(&rest[..n]);
        let mut s = rest[n].clone();
        let mut run = rest[..n].to_vec();
        let mut trials = 0;
        let part = first_part(&mut s, &name, &mut |e| {
            if trials == MOST_TRIALS || !matches!(form::of(e, &known), Local::Tensor { refs: 0 }) {
                return false;
            }
            trials += 1;
            run.truncate(n);
            run.push(place::binding(&name, false, e));
            work(self.attempt(&run, Wanted::Nothing)) > before
        });
        let Some(part) = part else { return false };
        self.temporaries += 1;
        let text = name.to_string();
        let changes = changed_in(&s).contains(&text) || called_on(&s).any.contains(&text);
        rest[n] = s;
        rest.insert(n, place::binding(&name, changes, &part));
        true
    }
}
