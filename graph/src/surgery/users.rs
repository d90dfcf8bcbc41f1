//! `Users`: who uses the results of each node, kept while a graph is edited.

use crate::{Expr, Graph, Node, NodeId, Value};
use std::collections::BTreeSet;
use std::fmt;

/// What uses a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum User {
    /// A call, as an argument or by its metadata.
    Node(NodeId),
    /// The output of that number.
    Output(u32),
    /// The guard of that number.
    Guard(u32),
}

/// Prints `%3`, `output 0` or `guard 1`.
impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            User::Node(n) => write!(f, "%{}", n.0),
            User::Output(i) => write!(f, "output {i}"),
            User::Guard(i) => write!(f, "guard {i}"),
        }
    }
}

/// Calls `f` with every value that a user reads.
pub(super) fn reads(graph: &Graph, user: User, f: &mut impl FnMut(Value)) {
    match user {
        User::Node(n) => graph.node(n).args().iter().for_each(|a| a.values(f)),
        User::Output(i) => f(graph.outputs[i as usize]),
        User::Guard(i) => graph.guards[i as usize].values(f),
    }
}

/// The users of each node, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Users(Vec<BTreeSet<User>>);

impl Users {
    pub(super) fn of(graph: &Graph) -> Users {
        let mut users = Users(vec![BTreeSet::new(); graph.nodes.len()]);
        for (id, node) in graph.ids().zip(&graph.nodes) {
            users.add_node(id, node);
        }
        for (i, v) in graph.outputs.iter().enumerate() {
            users.add(*v, User::Output(i as u32));
        }
        for (i, guard) in graph.guards.iter().enumerate() {
            users.add_guard(i as u32, guard);
        }
        users
    }

    pub(super) fn get(&self, node: NodeId) -> &BTreeSet<User> {
        &self.0[node.index()]
    }

    /// Makes room for a node that was appended.
    pub(super) fn grow(&mut self) {
        self.0.push(BTreeSet::new());
    }

    /// Values that do not exist are left to the verifier.
    pub(super) fn add(&mut self, v: Value, user: User) {
        if let Some(users) = self.0.get_mut(v.node.index()) {
            users.insert(user);
        }
    }

    pub(super) fn remove(&mut self, v: Value, user: User) {
        if let Some(users) = self.0.get_mut(v.node.index()) {
            users.remove(&user);
        }
    }

    pub(super) fn add_node(&mut self, id: NodeId, node: &Node) {
        node.args()
            .iter()
            .for_each(|a| a.values(&mut |v| self.add(v, User::Node(id))));
    }

    pub(super) fn remove_node(&mut self, id: NodeId, node: &Node) {
        node.args()
            .iter()
            .for_each(|a| a.values(&mut |v| self.remove(v, User::Node(id))));
    }

    fn add_guard(&mut self, i: u32, guard: &Expr) {
        guard.values(&mut |v| self.add(v, User::Guard(i)));
    }
}
