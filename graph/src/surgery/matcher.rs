//! `Matcher`: compares the calls of a pattern with those of a graph, from a call to its arguments.

use super::Edit;
use super::pattern::Match;
use crate::{Arg, Dim, Expr, GraphModule, HostType, NodeId, NodeKind, TensorType, Value};

/// A comparison that goes on.
pub(super) struct Matcher<'a> {
    edit: &'a Edit<'a>,
    pattern: &'a GraphModule,
    pub(super) found: Match,
    pending: Vec<(NodeId, NodeId)>,
}

impl<'a> Matcher<'a> {
    pub(super) fn new(edit: &'a Edit<'a>, pattern: &'a GraphModule) -> Matcher<'a> {
        Matcher {
            edit,
            pattern,
            found: Match::default(),
            pending: Vec::new(),
        }
    }

    /// Goes on with a call of the pattern and one that may stand for it; what is found then counts only if they fit.
    pub(super) fn run(&mut self, pattern: NodeId, target: NodeId) -> bool {
        self.pending = vec![(pattern, target)];
        while let Some((p, t)) = self.pending.pop() {
            if !self.call(p, t) {
                return false;
            }
        }
        true
    }

    fn call(&mut self, p: NodeId, t: NodeId) -> bool {
        if let Some(v) = self.found.values.get(&p) {
            return v.node == t;
        }
        let (pattern, target) = (self.pattern.graph.node(p), self.edit.work.graph.node(t));
        if pattern.op() != target.op() || pattern.args().len() != target.args().len() {
            return false;
        }
        self.found.values.insert(p, t.into());
        let mut args = pattern.args().iter().zip(target.args());
        args.all(|(p, t)| self.arg(p, t))
    }

    fn arg(&mut self, p: &Arg, t: &Arg) -> bool {
        match (p, t) {
            (Arg::Value(p), Arg::Value(t)) => self.value(*p, *t),
            (Arg::Host(p), Arg::Host(t)) => self.host(p, t),
            (Arg::List(p), Arg::List(t)) => {
                p.len() == t.len() && p.iter().zip(t).all(|(p, t)| self.arg(p, t))
            }
            (Arg::None, Arg::None) => true,
            _ => false,
        }
    }

    fn value(&mut self, p: Value, t: Value) -> bool {
        match self.pattern.graph.node(p.node).kind {
            NodeKind::Call(..) => {
                self.pending.push((p.node, t.node));
                p.index == t.index
            }
            NodeKind::Input(i) => match self.found.values.get(&p.node) {
                Some(v) => *v == t,
                None => {
                    self.found.values.insert(p.node, t);
                    let spec = self.pattern.specs.get(i as usize).and_then(Option::as_ref);
                    !self.edit.work.graph.is_list(t) && spec.is_none_or(|s| self.fits(s, t))
                }
            },
        }
    }

    /// Whether a value is surely of a spec.
    fn fits(&mut self, spec: &TensorType, v: Value) -> bool {
        let edit = self.edit;
        let got = edit.work.graph.ty(v);
        if spec.dtype.is_some() && spec.dtype != got.dtype {
            return false;
        }
        let (want, got) = match (&spec.shape, &got.shape) {
            (None, _) => return true,
            (Some(_), None) => return false,
            (Some(want), Some(got)) => (want, got),
        };
        want.len() == got.len() && want.iter().zip(got).all(|(w, g)| self.dim_fits(*w, *g))
    }

    fn dim_fits(&mut self, want: Dim, got: Dim) -> bool {
        match want {
            Dim::Unknown => true,
            Dim::Known(_) => want == got,
            Dim::Symbol(s) => {
                let bounds = |d: Dim| match d {
                    Dim::Known(n) => (n, Some(n)),
                    Dim::Symbol(s) => {
                        let symbol = self.edit.work.symbols.get(s as usize);
                        symbol.map_or((0, None), |s| (s.lo, s.hi))
                    }
                    Dim::Unknown => (0, None),
                };
                let Some(symbol) = self.pattern.symbols.get(s as usize) else {
                    return false;
                };
                let (lo, hi) = bounds(got);
                let inside = lo >= symbol.lo && symbol.hi.is_none_or(|most| hi.is_some_and(|hi| hi <= most));
                inside
                    && match self.found.symbols.insert(s, got) {
                        None => true,
                        Some(before) => before.same(got),
                    }
            }
        }
    }

    fn host(&mut self, p: &Expr, t: &Expr) -> bool {
        match (p, t) {
            (Expr::Param(i, ty), t) => {
                if !stands_for(*ty, t.host_type()) {
                    return false;
                }
                match self.found.scalars.get(i) {
                    Some(bound) => same(bound, t),
                    None => {
                        self.found.scalars.insert(*i, t.clone());
                        true
                    }
                }
            }
            (Expr::Literal(p), Expr::Literal(t)) => p == t,
            (Expr::Dim(v, i), Expr::Dim(w, j)) => self.value(*v, *w) && self.host(i, j),
            (Expr::Rank(v), Expr::Rank(w))
            | (Expr::ElemCount(v), Expr::ElemCount(w))
            | (Expr::DTypeOf(v), Expr::DTypeOf(w)) => self.value(*v, *w),
            (Expr::SameShape(a, b), Expr::SameShape(c, d)) => self.value(*a, *c) && self.value(*b, *d),
            (Expr::Cast(p, a), Expr::Cast(t, b)) => p == t && self.host(a, b),
            (Expr::Unary(p, a), Expr::Unary(t, b)) => p == t && self.host(a, b),
            (Expr::Binary(p, a, b), Expr::Binary(t, c, d)) => p == t && self.host(a, c) && self.host(b, d),
            _ => false,
        }
    }
}

/// Whether an expression may be bound to a scalar of that type.
fn stands_for(scalar: HostType, got: HostType) -> bool {
    scalar == got
        || match got {
            HostType::IntLiteral => scalar.is_int(),
            HostType::FloatLiteral => matches!(scalar, HostType::F32 | HostType::F64),
            _ => false,
        }
}

/// Whether two expressions are the same, floats bit for bit.
fn same(a: &Expr, b: &Expr) -> bool {
    match (a, b) {
        (Expr::Literal(a), Expr::Literal(b)) => a == b,
        (Expr::Dim(v, i), Expr::Dim(w, j)) => v == w && same(i, j),
        (Expr::Cast(t, a), Expr::Cast(u, b)) => t == u && same(a, b),
        (Expr::Unary(t, a), Expr::Unary(u, b)) => t == u && same(a, b),
        (Expr::Binary(t, a, b), Expr::Binary(u, c, d)) => t == u && same(a, c) && same(b, d),
        (a, b) => a == b,
    }
}
