//! `Pattern`: a graph whose inputs stand for any values and whose scalars stand for any host values, and its matches.
//!
//! Method: from a call that may be the pattern's first output, arguments are compared backwards. Calls of the pattern that this
//! does not reach (other outputs) are looked for among the users of what is matched, the first that fits; which users
//! of what is planned once for the pattern.

use super::matcher::Matcher;
use super::users::{User, reads};
use super::{Edit, EditError};
use crate::op::row::Lowering;
use crate::{Arg, Dim, Expr, Graph, GraphModule, NodeId, NodeKind, Value};
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
#[derive(Clone, Default)]
pub(super) struct Match {
    /// The call behind each call of the pattern, the value behind each input.
    pub(super) values: HashMap<NodeId, Value>,
    pub(super) scalars: HashMap<u32, Expr>,
    pub(super) symbols: HashMap<u32, Dim>,
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

impl Pattern<'_> {
    /// The match whose first output is a result of `at`.
    pub(super) fn matched(&self, edit: &Edit<'_>, at: NodeId) -> Option<Match> {
        let mut matcher = Matcher::new(edit, self.module);
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
