//! Blocks inside a statement that stays Rust: their statements are segmented in turn.

use super::form;
use super::locals::{Local, Number};
use super::names::{Names, bindings, bound_by_condition, changed_in, read_in};
use super::{End, Splitter};
use syn::{Block, Expr, ExprBlock, ExprForLoop, ExprIf, ExprLoop, Pat, RangeLimits, Stmt};
use tensorplay_graph::HostType;

/// The expression of a statement in which blocks may stand.
pub fn expression(s: &mut Stmt) -> Option<&mut Expr> {
    match s {
        Stmt::Local(l) => l.init.as_mut().map(|i| &mut *i.expr),
        Stmt::Expr(Expr::Assign(a), _) => Some(&mut a.right),
        Stmt::Expr(e, _) => Some(e),
        Stmt::Item(_) | Stmt::Macro(_) => None,
    }
}

/// Calls `f` with the blocks that [`Splitter::inside`] segments.
pub fn blocks(e: &mut Expr, f: &mut dyn FnMut(&mut Block)) {
    match e {
        Expr::Paren(p) => blocks(&mut p.expr, f),
        Expr::If(i) => {
            f(&mut i.then_branch);
            if let Some((_, other)) = &mut i.else_branch {
                blocks(other, f);
            }
        }
        Expr::ForLoop(l) => f(&mut l.body),
        Expr::While(l) => f(&mut l.body),
        Expr::Loop(l) => f(&mut l.body),
        Expr::Block(b) => f(&mut b.block),
        Expr::Unsafe(b) => f(&mut b.block),
        Expr::Match(m) => m.arms.iter_mut().for_each(|a| blocks(&mut a.body, f)),
        _ => {}
    }
}

/// What decides about the blocks, as a statement of its own.
pub fn header(s: &Stmt) -> Option<Stmt> {
    let mut s = s.clone();
    let e = expression(&mut s)?;
    let branch = |cond: &Expr| {
        Expr::If(ExprIf {
            attrs: Vec::new(),
            if_token: Default::default(),
            cond: Box::new(cond.clone()),
            then_branch: empty(),
            else_branch: None,
        })
    };
    let header = match e {
        Expr::If(i) => branch(&i.cond),
        Expr::While(w) => branch(&w.cond),
        Expr::ForLoop(f) => Expr::ForLoop(ExprForLoop {
            body: empty(),
            ..f.clone()
        }),
        Expr::Match(m) => {
            let mut m = m.clone();
            m.arms.iter_mut().for_each(|a| *a.body = of_block(empty()));
            Expr::Match(m)
        }
        Expr::Loop(l) => Expr::Loop(ExprLoop {
            body: empty(),
            ..l.clone()
        }),
        _ => return None,
    };
    Some(Stmt::Expr(header, Some(Default::default())))
}

fn empty() -> Block {
    Block {
        brace_token: Default::default(),
        stmts: Vec::new(),
    }
}

fn of_block(block: Block) -> Expr {
    Expr::Block(ExprBlock {
        attrs: Vec::new(),
        label: None,
        block,
    })
}

impl Splitter<'_> {
    /// Segments the blocks of an expression. `end` is what their values are.
    pub(super) fn inside(&mut self, e: &mut Expr, after: &Names, end: End) {
        match e {
            Expr::Paren(p) => self.inside(&mut p.expr, after, end),
            Expr::If(i) => {
                self.locals.enter();
                self.bind_by_uses(bound_by_condition(&i.cond), &i.then_branch.stmts);
                self.body(&mut i.then_branch, after, end);
                self.locals.leave();
                if let Some((_, other)) = &mut i.else_branch {
                    self.arm(other, after, end);
                }
            }
            Expr::Match(m) => {
                for arm in &mut m.arms {
                    self.locals.enter();
                    self.bind_by_uses(bindings(&arm.pat), &[Stmt::Expr((*arm.body).clone(), None)]);
                    self.arm(&mut arm.body, after, end);
                    self.locals.leave();
                }
            }
            Expr::ForLoop(f) => {
                let after = self.around(&Expr::ForLoop(f.clone()), after);
                self.locals.enter();
                self.bind_items(f);
                self.body(&mut f.body, &after, End::Value);
                self.locals.leave();
            }
            Expr::While(w) => {
                let after = self.around(&Expr::While(w.clone()), after);
                self.locals.enter();
                self.bind_by_uses(bound_by_condition(&w.cond), &w.body.stmts);
                self.body(&mut w.body, &after, End::Value);
                self.locals.leave();
            }
            Expr::Loop(l) => {
                let after = self.around(&Expr::Loop(l.clone()), after);
                self.body(&mut l.body, &after, End::Value);
            }
            Expr::Block(b) => self.body(&mut b.block, after, end),
            Expr::Unsafe(b) => self.body(&mut b.block, after, end),
            _ => {}
        }
    }

    /// What may be read after a step of a loop, of which what it changes is not known any more.
    fn around(&mut self, e: &Expr, after: &Names) -> Names {
        self.locals.change(&changed_in(e));
        after.union(&read_in(e)).cloned().collect()
    }

    fn body(&mut self, b: &mut Block, after: &Names, end: End) {
        b.stmts = self.block(std::mem::take(&mut b.stmts), after, end);
    }

    /// A block, or an expression that becomes one if there is a segment in it.
    fn arm(&mut self, e: &mut Expr, after: &Names, end: End) {
        if let Expr::Block(b) = e
            && b.label.is_none()
        {
            return self.body(&mut b.block, after, end);
        }
        let known = self.segments.len();
        let stmts = self.block(vec![Stmt::Expr(e.clone(), None)], after, end);
        if self.segments.len() > known {
            *e = of_block(Block { stmts, ..empty() });
        }
    }

    fn bind_items(&mut self, f: &ExprForLoop) {
        let number = |ty| Local::Number(Number::of(ty, false));
        match (&*f.pat, &*f.expr) {
            (Pat::Ident(i), Expr::Range(r)) => {
                let ends = [&r.start, &r.end].into_iter().flatten();
                let ends: Vec<Local> = ends.map(|e| form::of(e, &self.locals)).collect();
                let ty = ends.iter().try_fold(HostType::Number, |ty, l| match (ty, l) {
                    (HostType::Number, Local::Number(n)) => Some(n.ty),
                    (ty, Local::Number(_)) => Some(ty),
                    _ => None,
                });
                let open = matches!(r.limits, RangeLimits::HalfOpen(_)) && r.end.is_none();
                let local = match ty {
                    Some(ty) if !open => number(ty),
                    _ => Local::Opaque,
                };
                self.locals.bind(i.ident.clone(), local);
            }
            (pat, _) => self.bind_by_uses(bindings(pat), &f.body.stmts),
        }
    }
}
