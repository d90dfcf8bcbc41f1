//! Matching of a pattern, a graph whose inputs stand for any values and whose scalars stand for any host values.
//!
//! Method: from a call that may be the pattern's first output, arguments are compared backwards. Calls of the pattern that this
//! does not reach (other outputs) are looked for among the users of what is matched, the first that fits; which users
//! of what is planned once for the pattern.

use super::users::{User, reads};
use super::{Edit, EditError};
use crate::op::row::Lowering;
use crate::{Arg, Dim, Expr, Graph, GraphModule, HostType, NodeId, NodeKind, TensorType, Value};
use std::collections::{HashMap, HashSet};

/// A pattern with the order in which its calls are looked for.
pub(super) struct Pattern<'a> {
    pub(super) module: &'a GraphModule,
    /// The call of the first output.
    pub(super) anchor: NodeId,
    /// Calls to look for among the users of what is matched.
    forward: Vec<(NodeId, NodeId)>,
}

/// A match: what each part of the pattern stands for.
#[derive(Clone)]
pub(super) struct Match {
    /// The call behind each call of the pattern, the value behind each input.
    values: HashMap<NodeId, Value>,
    pub(super) scalars: HashMap<u32, Expr>,
    symbols: HashMap<u32, Dim>,
}

impl<'a> Pattern<'a> {
    pub(super) fn new(module: &'a GraphModule) -> Result<Pattern<'a>, EditError> {
        crate::verify(module).map_err(EditError::Invalid)?;
        let graph = &module.graph;
        let special = |n: &crate::Node| {
            let lowering = n.op().map(|op| op.row().lowering);
            matches!(lowering, Some(Lowering::Region | Lowering::Link))
        };
        if !graph.guards.is_empty() || graph.nodes.iter().any(special) || !module.aggregates.is_empty() {
            let what = "a pattern is calls alone; write it without guards, regions, loops and structs";
            return Err(EditError::Pattern(what));
        }
        let outputs = &graph.outputs;
        let is_call = |v: &Value| graph.node(v.node).op().is_some();
        let Some(first) = outputs.first().filter(|_| outputs.iter().all(is_call)) else {
            let what = "each output of a pattern, one at least, is the result of a call; return one";
            return Err(EditError::Pattern(what));
        };
        let mut covered = vec![false; graph.nodes.len()];
        cover(graph, first.node, &mut covered);
        let mut forward = Vec::new();
        let users = super::users::Users::of(graph);
        let mut at = 0;
        let mut reached: Vec<NodeId> = graph.ids().filter(|n| covered[n.index()]).collect();
        while let Some(&from) = reached.get(at) {
            at += 1;
            for user in users.get(from) {
                let User::Node(user) = *user else { continue };
                if !covered[user.index()] {
                    forward.push((from, user));
                    let before = covered.clone();
                    cover(graph, user, &mut covered);
                    reached.extend(graph.ids().filter(|n| covered[n.index()] && !before[n.index()]));
                }
            }
        }
        if !covered.iter().all(|c| *c) {
            let what =
                "the parts of a pattern hang together; take out inputs and calls that lead to no output";
            return Err(EditError::Pattern(what));
        }
        let dead = |n: NodeId| users.get(n).is_empty();
        if graph.ids().any(dead) || !module.all_scalars_read() {
            let what = "every input, scalar and call of a pattern is used; take out the others";
            return Err(EditError::Pattern(what));
        }
        Ok(Pattern {
            module,
            anchor: first.node,
            forward,
        })
    }
}

impl GraphModule {
    fn all_scalars_read(&self) -> bool {
        let mut read = HashSet::new();
        fn params(arg: &Arg, read: &mut HashSet<u32>) {
            match arg {
                Arg::Host(e) => e.params(&mut |i| {
                    read.insert(i);
                }),
                Arg::List(l) => l.iter().for_each(|a| params(a, read)),
                Arg::Value(_) | Arg::Field(_) | Arg::None => {}
            }
        }
        let args = self.nodes().iter().flat_map(crate::Node::args);
        args.for_each(|a| params(a, &mut read));
        read.len() == self.scalars.len()
    }
}

/// Marks a call and all that it depends on.
fn cover(graph: &Graph, from: NodeId, covered: &mut [bool]) {
    let mut stack = vec![from];
    while let Some(n) = stack.pop() {
        if !std::mem::replace(&mut covered[n.index()], true) {
            let args = graph.node(n).args();
            args.iter().for_each(|a| a.values(&mut |v| stack.push(v.node)));
        }
    }
}

impl Match {
    /// What a value of the pattern stands for.
    pub(super) fn value(&self, pattern: &GraphModule, v: Value) -> Option<Value> {
        let found = *self.values.get(&v.node)?;
        Some(match pattern.graph.node(v.node).kind {
            NodeKind::Input(_) => found,
            NodeKind::Call(..) => Value {
                index: v.index,
                ..found
            },
        })
    }

    /// The calls that are matched.
    pub(super) fn calls(&self, pattern: &GraphModule) -> HashSet<NodeId> {
        let is_call = |n: &NodeId| pattern.graph.node(*n).op().is_some();
        let calls = self.values.iter().filter(|(n, _)| is_call(n));
        calls.map(|(_, v)| v.node).collect()
    }
}

/// A comparison that goes on.
struct Matcher<'a> {
    edit: &'a Edit<'a>,
    pattern: &'a GraphModule,
    found: Match,
    pending: Vec<(NodeId, NodeId)>,
}

impl Pattern<'_> {
    /// The match whose first output is a result of `at`.
    pub(super) fn matched(&self, edit: &Edit<'_>, at: NodeId) -> Option<Match> {
        let mut matcher = Matcher {
            edit,
            pattern: self.module,
            found: Match {
                values: HashMap::new(),
                scalars: HashMap::new(),
                symbols: HashMap::new(),
            },
            pending: Vec::new(),
        };
        if !matcher.run(self.anchor, at) {
            return None;
        }
        for &(from, user) in &self.forward {
            if matcher.found.values.contains_key(&user) {
                continue;
            }
            let source = matcher.found.values.get(&from)?.node;
            let fits = edit.users.get(source).iter().any(|candidate| {
                let User::Node(candidate) = *candidate else {
                    return false;
                };
                let saved = matcher.found.clone();
                let fits = matcher.run(user, candidate);
                if !fits {
                    matcher.found = saved;
                }
                fits
            });
            if !fits {
                return None;
            }
        }
        Some(matcher.found)
    }
}

impl Matcher<'_> {
    fn run(&mut self, pattern: NodeId, target: NodeId) -> bool {
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
            (Expr::Literal(p), Expr::Literal(t)) => p.same(*t),
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
        (Expr::Literal(a), Expr::Literal(b)) => a.same(*b),
        (Expr::Dim(v, i), Expr::Dim(w, j)) => v == w && same(i, j),
        (Expr::Cast(t, a), Expr::Cast(u, b)) => t == u && same(a, b),
        (Expr::Unary(t, a), Expr::Unary(u, b)) => t == u && same(a, b),
        (Expr::Binary(t, a, b), Expr::Binary(u, c, d)) => t == u && same(a, c) && same(b, d),
        (a, b) => a == b,
    }
}

/// Whether a user outside of `calls` reads a result of `node` that is not among `outputs`.
pub(super) fn leaks(
    graph: &Graph,
    user: User,
    node: NodeId,
    calls: &HashSet<NodeId>,
    outputs: &[Value],
) -> bool {
    if matches!(user, User::Node(n) if calls.contains(&n)) {
        return false;
    }
    let mut leaks = false;
    reads(graph, user, &mut |v| {
        leaks |= v.node == node && !outputs.contains(&v)
    });
    leaks
}
