//! Values that take the place of others.

use super::users::reads;
use super::{Edit, EditError, User};
use crate::{Arg, NodeId, NodeKind, Value, VerifyErrorKind};

/// What a user was before a change.
enum Saved {
    Args(NodeId, Vec<Arg>),
    Output(u32, Value),
    Guard(u32, crate::Expr),
}

impl Edit<'_> {
    /// Lets everything that uses one value use another: arguments, sizes read of it, outputs and guards. The node of
    /// the new value keeps what it uses itself, so that a value can be replaced by a function of it. Returns the number of
    /// users.
    ///
    /// # Errors
    /// A new value that is later in the graph than a user; a type that breaks a rule, or the spec of a result, behind
    /// the change.
    pub fn replace_all_uses(&mut self, old: Value, new: Value) -> Result<usize, EditError> {
        self.replace_uses(old, new, |user| user != User::Node(new.node))
    }

    /// Like [`replace_all_uses`](Edit::replace_all_uses), for the users that `choose` names.
    ///
    /// # Errors
    /// The same.
    pub fn replace_uses(
        &mut self,
        old: Value,
        new: Value,
        mut choose: impl FnMut(User) -> bool,
    ) -> Result<usize, EditError> {
        self.check_value(old)?;
        self.check_value(new)?;
        if old == new {
            return Ok(0);
        }
        if self.work.graph.is_list(old) != self.work.graph.is_list(new) {
            return Err(EditError::List(new));
        }
        let mut users = Vec::new();
        for &user in self.users.get(old.node) {
            let mut uses = false;
            reads(&self.work.graph, user, &mut |v| uses |= v == old);
            if !uses || !choose(user) {
                continue;
            }
            match user {
                User::Node(n) => self.check_order(new, Some(n))?,
                User::Output(i) => self.check_output(i as usize, new)?,
                User::Guard(_) => {}
            }
            users.push(user);
        }
        let exposed = !self.work.graph.is_interior(old);
        let mut saved = Vec::new();
        for &user in &users {
            saved.push(self.map_user(user, old, new));
        }
        if self.work.graph.ty(old) != self.work.graph.ty(new) {
            let nodes: Vec<NodeId> = users.iter().filter_map(|u| as_node(*u)).collect();
            if let Err(e) = self.settle(nodes) {
                saved.into_iter().for_each(|s| self.restore(s));
                return Err(e);
            }
        }
        if exposed && !users.is_empty() {
            self.work.graph.expose(new);
        }
        Ok(users.len())
    }

    /// Gives a call other arguments.
    ///
    /// # Errors
    /// A broken rule at the call or behind it, an argument that is later in the graph, or a node that is no call.
    pub fn set_args(&mut self, id: NodeId, args: Vec<Arg>) -> Result<(), EditError> {
        self.check(id)?;
        self.check_args(&args, Some(id))?;
        let NodeKind::Call(op, _) = self.work.graph.node(id).kind else {
            return Err(EditError::Input(id));
        };
        if args.len() != op.row().params.len() {
            return Err(VerifyErrorKind::ArgumentCount { op, got: args.len() }.into());
        }
        let saved = self.swap_args(id, args);
        self.settle([id]).inspect_err(|_| {
            self.swap_args(id, saved);
        })
    }

    fn swap_args(&mut self, id: NodeId, mut args: Vec<Arg>) -> Vec<Arg> {
        self.users.remove_node(id, &self.work.graph.nodes[id.index()]);
        if let NodeKind::Call(_, old) = &mut self.work.graph.nodes[id.index()].kind {
            std::mem::swap(old, &mut args);
        }
        self.users.add_node(id, &self.work.graph.nodes[id.index()]);
        args
    }

    fn map_user(&mut self, user: User, old: Value, new: Value) -> Saved {
        let mut map = |v: Value| if v == old { new } else { v };
        match user {
            User::Node(n) => {
                let mut args = self.work.graph.node(n).args().to_vec();
                args.iter_mut().for_each(|a| a.map_values(&mut map));
                Saved::Args(n, self.swap_args(n, args))
            }
            User::Output(i) => Saved::Output(i, self.swap_output(i, new)),
            User::Guard(i) => {
                let mut guard = self.work.graph.guards[i as usize].clone();
                guard.map_values(&mut map);
                Saved::Guard(i, self.swap_guard(i, guard))
            }
        }
    }

    fn restore(&mut self, saved: Saved) {
        match saved {
            Saved::Args(n, args) => {
                self.swap_args(n, args);
            }
            Saved::Output(i, v) => {
                self.swap_output(i, v);
            }
            Saved::Guard(i, guard) => {
                self.swap_guard(i, guard);
            }
        }
    }

    pub(super) fn swap_output(&mut self, i: u32, new: Value) -> Value {
        let old = std::mem::replace(&mut self.work.graph.outputs[i as usize], new);
        self.users.remove(old, User::Output(i));
        self.users.add(new, User::Output(i));
        old
    }

    fn swap_guard(&mut self, i: u32, guard: crate::Expr) -> crate::Expr {
        let old = std::mem::replace(&mut self.work.graph.guards[i as usize], guard);
        old.values(&mut |v| self.users.remove(v, User::Guard(i)));
        self.work.graph.guards[i as usize].values(&mut |v| self.users.add(v, User::Guard(i)));
        old
    }
}

pub(super) fn as_node(user: User) -> Option<NodeId> {
    match user {
        User::Node(n) => Some(n),
        _ => None,
    }
}
