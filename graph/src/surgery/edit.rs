//! `Edit`: a session of changes to one graph.

use super::EditError;
use super::names::Names;
use super::order::Order;
use super::users::{User, Users};
use crate::verify::{infer_node, verify_call};
use crate::{
    Arg, Graph, GraphModule, Location, Node, NodeId, NodeKind, Op, TensorType, Value, VerifyErrorKind, verify,
};
use std::collections::{BTreeMap, HashMap};

/// A session of changes to a graph; see the [module](crate::surgery).
#[derive(Debug)]
pub struct Edit<'a> {
    target: &'a mut GraphModule,
    /// The module, with nodes by handle instead of in order.
    pub(super) work: GraphModule,
    pub(super) order: Order,
    pub(super) users: Users,
    alive: Vec<bool>,
    names: Names,
    places: HashMap<Location, u32>,
}

/// What a session was at some time.
pub(super) struct Snapshot(
    GraphModule,
    Order,
    Users,
    Vec<bool>,
    Names,
    HashMap<Location, u32>,
);

/// From the handles of a session to the ids of the finished graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renumbering(Vec<Option<NodeId>>);

impl Renumbering {
    /// The id of a node; `None` if it was erased.
    pub fn node(&self, handle: NodeId) -> Option<NodeId> {
        self.0.get(handle.index()).copied().flatten()
    }

    /// The value; `None` if its node was erased.
    pub fn value(&self, v: Value) -> Option<Value> {
        self.node(v.node).map(|node| Value { node, ..v })
    }
}

impl<'a> Edit<'a> {
    pub(super) fn new(target: &'a mut GraphModule) -> Result<Edit<'a>, EditError> {
        verify(target).map_err(EditError::Invalid)?;
        let work = target.clone();
        let n = work.graph.nodes.len();
        Ok(Edit {
            order: Order::new(n),
            users: Users::of(&work.graph),
            alive: vec![true; n],
            names: Names::new(work.nodes().iter().map(|n| n.name.as_str())),
            places: (0..).zip(&work.locations).map(|(i, l)| (l.clone(), i)).collect(),
            work,
            target,
        })
    }

    /// The handles of all nodes in order.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> {
        self.order.iter().map(NodeId)
    }

    /// A node, with handles as its arguments; `None` if it was erased or never there.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.check(id).ok().map(|()| self.work.graph.node(id))
    }

    /// The values that a node computes.
    ///
    /// # Errors
    /// A node that is not there.
    pub fn results(&self, id: NodeId) -> Result<Vec<Value>, EditError> {
        self.check(id)?;
        let n = self.work.graph.node(id).types.len() as u32;
        Ok((0..n).map(|index| Value { node: id, index }).collect())
    }

    /// The type of a value, as far as known.
    ///
    /// # Errors
    /// A value that is not there.
    pub fn ty(&self, v: Value) -> Result<&TensorType, EditError> {
        self.check_value(v)?;
        Ok(self.work.graph.ty(v))
    }

    /// Who uses the results of a node.
    ///
    /// # Errors
    /// A node that is not there.
    pub fn users(&self, id: NodeId) -> Result<Vec<User>, EditError> {
        self.check(id)?;
        Ok(self.users.get(id).iter().copied().collect())
    }

    /// The results of the function in order, and behind them the new values of its parameters.
    pub fn outputs(&self) -> &[Value] {
        &self.work.graph.outputs
    }

    /// Adds a call in front of a node, with inferred types and that node's place in the source.
    ///
    /// # Errors
    /// A broken rule, an argument that is later in the graph, or a node that is not there.
    pub fn insert_before(&mut self, node: NodeId, op: Op, args: Vec<Arg>) -> Result<NodeId, EditError> {
        self.check(node)?;
        let location = self.work.graph.node(node).location;
        self.insert(Some(node), call(op, args, location, 1))
    }

    /// Adds a call behind a node, with inferred types and that node's place in the source.
    ///
    /// # Errors
    /// A broken rule, an argument that is later in the graph, or a node that is not there.
    pub fn insert_after(&mut self, node: NodeId, op: Op, args: Vec<Arg>) -> Result<NodeId, EditError> {
        self.check(node)?;
        let location = self.work.graph.node(node).location;
        let next = self.order.after(node.0).map(NodeId);
        self.insert(next, call(op, args, location, 1))
    }

    /// Adds a call behind all nodes.
    ///
    /// # Errors
    /// A broken rule, or an argument that is not there.
    pub fn append(&mut self, op: Op, args: Vec<Arg>) -> Result<NodeId, EditError> {
        self.insert(None, call(op, args, 0, 1))
    }

    /// Adds a node in front of another, or at the end. The types that it brings count where the rules know none.
    pub(super) fn insert(&mut self, before: Option<NodeId>, node: Node) -> Result<NodeId, EditError> {
        self.check_args(node.args(), before)?;
        let id = self.work.graph.push(node);
        match self.inferred(id) {
            Ok(types) => self.work.graph.nodes[id.index()].types = types,
            Err(e) => {
                self.work.graph.nodes.pop();
                // the new node has no number that the caller knows
                return Err(match e {
                    EditError::Rule(_, e) => EditError::Rule(None, e),
                    e => e,
                });
            }
        }
        self.order.insert(before.map(|n| n.0));
        self.alive.push(true);
        self.users.grow();
        self.users.add_node(id, self.work.graph.node(id));
        Ok(id)
    }

    /// Takes out a call that nothing uses.
    ///
    /// # Errors
    /// A node that is used, is an input, or is gone already.
    pub fn erase(&mut self, id: NodeId) -> Result<(), EditError> {
        self.check(id)?;
        let node = self.work.graph.node(id);
        if matches!(node.kind, NodeKind::Input(_)) {
            return Err(EditError::Input(id));
        }
        if !self.users.get(id).is_empty() {
            let users = self.users.get(id).iter().copied().collect();
            return Err(EditError::Used { node: id, users });
        }
        self.users.remove_node(id, node);
        self.order.remove(id.0);
        self.alive[id.index()] = false;
        Ok(())
    }

    /// Names a node, and returns the name: that of the stem with `_` for what an identifier does not have, and with a
    /// number behind it if another node has or had it. The empty name takes the name away.
    ///
    /// # Errors
    /// A node that is not there.
    pub fn rename(&mut self, id: NodeId, stem: &str) -> Result<String, EditError> {
        self.check(id)?;
        let name = match stem {
            "" => String::new(),
            same if same == self.work.graph.node(id).name => return Ok(same.to_string()),
            stem => self.names.take(stem),
        };
        self.work.graph.nodes[id.index()].name.clone_from(&name);
        Ok(name)
    }

    /// Says which place in the source a node comes from.
    ///
    /// # Errors
    /// A node that is not there.
    pub fn set_location(&mut self, id: NodeId, location: Location) -> Result<(), EditError> {
        self.check(id)?;
        self.work.graph.nodes[id.index()].location = self.place(location);
        Ok(())
    }

    /// The number of a place in the source.
    pub(super) fn place(&mut self, location: Location) -> u32 {
        let locations = &mut self.work.locations;
        *self.places.entry(location).or_insert_with_key(|l| {
            if locations.is_empty() {
                locations.push(Location::default());
            }
            locations.push(l.clone());
            locations.len() as u32 - 1
        })
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let Edit {
            work,
            order,
            users,
            alive,
            names,
            places,
            ..
        } = self;
        let (work, order, users) = (work.clone(), order.clone(), users.clone());
        Snapshot(work, order, users, alive.clone(), names.clone(), places.clone())
    }

    pub(super) fn restore_snapshot(&mut self, before: Snapshot) {
        let Edit {
            work,
            order,
            users,
            alive,
            names,
            places,
            ..
        } = self;
        Snapshot(*work, *order, *users, *alive, *names, *places) = before;
    }

    /// Ends the session: the graph is replaced by the edited one.
    ///
    /// # Errors
    /// A graph that does not verify, or a result that its spec excludes; the graph is left as it was.
    pub fn finish(mut self) -> Result<Renumbering, EditError> {
        for (i, v) in self.work.graph.outputs.iter().enumerate() {
            self.check_output(i, *v)?;
        }
        let mut ids = vec![None; self.work.graph.nodes.len()];
        for (new, old) in self.order.iter().enumerate() {
            ids[old as usize] = Some(NodeId(new as u32));
        }
        let old = std::mem::take(&mut self.work.graph);
        // erased nodes have no users, so every value that is read has an id
        let map = |v: Value| Value {
            node: ids[v.node.index()].unwrap_or(v.node),
            ..v
        };
        let mut nodes: Vec<Option<Node>> = old.nodes.into_iter().map(Some).collect();
        let mut new = Graph::default();
        for handle in self.order.iter() {
            let Some(mut node) = nodes[handle as usize].take() else {
                continue;
            };
            node.args_mut()
                .iter_mut()
                .for_each(|a| a.map_values(&mut |v| map(v)));
            new.push(node);
        }
        new.inputs = old.inputs.iter().map(|&i| map(i.into()).node).collect();
        new.outputs = old.outputs.iter().map(|&v| map(v)).collect();
        new.guards = old.guards;
        new.guards.iter_mut().for_each(|g| g.map_values(&mut |v| map(v)));
        self.work.graph = new;
        verify(&self.work).map_err(EditError::Invalid)?;
        *self.target = self.work;
        Ok(Renumbering(ids))
    }

    pub(super) fn check(&self, id: NodeId) -> Result<(), EditError> {
        match self.alive.get(id.index()) {
            None => Err(EditError::Unknown(id)),
            Some(false) => Err(EditError::Erased(id)),
            Some(true) => Ok(()),
        }
    }

    pub(super) fn check_value(&self, v: Value) -> Result<(), EditError> {
        self.check(v.node)?;
        let results = self.work.graph.node(v.node).types.len();
        if v.index as usize >= results {
            return Err(VerifyErrorKind::ResultIndex { value: v, results }.into());
        }
        Ok(())
    }

    /// Whether a value is there, and before a node.
    pub(super) fn check_order(&self, value: Value, before: Option<NodeId>) -> Result<(), EditError> {
        self.check_value(value)?;
        match before {
            Some(user) if self.order.label(value.node.0) >= self.order.label(user.0) => {
                Err(EditError::Later { value, user })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check_args(&self, args: &[Arg], before: Option<NodeId>) -> Result<(), EditError> {
        let mut result = Ok(());
        for arg in args {
            arg.values(&mut |v| {
                if result.is_ok() {
                    result = self.check_order(v, before);
                }
            });
        }
        result
    }

    /// The types that the rules give a node whose arguments are there; its form is checked too.
    fn inferred(&self, id: NodeId) -> Result<Vec<TensorType>, EditError> {
        let mut errors = Vec::new();
        verify_call(&self.work, id, &mut errors);
        // handles are not in order, and the order is checked already
        let form = errors
            .into_iter()
            .map(|e| e.kind)
            .find(|kind| !matches!(kind, VerifyErrorKind::Order(_)));
        if let Some(kind) = form {
            return Err(kind.into());
        }
        infer_node(&self.work, id).map_err(|e| EditError::Rule(Some(id), e))
    }

    /// Infers again the types of some nodes, and of all that depend on them.
    ///
    /// # Errors
    /// A rule that breaks; all types are as before then.
    pub(super) fn settle(&mut self, nodes: impl IntoIterator<Item = NodeId>) -> Result<(), EditError> {
        let mut undo: Vec<(NodeId, Vec<TensorType>)> = Vec::new();
        let at = |order: &Order, n: NodeId| (order.label(n.0), n);
        let mut pending: BTreeMap<u64, NodeId> = nodes.into_iter().map(|n| at(&self.order, n)).collect();
        while let Some((_, id)) = pending.pop_first() {
            let settled = self.inferred(id).and_then(|types| {
                self.check_results(id, types.len())?;
                Ok(types)
            });
            let types = match settled {
                Ok(types) => types,
                Err(e) => {
                    for (id, types) in undo.into_iter().rev() {
                        self.work.graph.nodes[id.index()].types = types;
                    }
                    return Err(e);
                }
            };
            let recorded = &mut self.work.graph.nodes[id.index()].types;
            if *recorded == types {
                continue;
            }
            undo.push((id, std::mem::replace(recorded, types)));
            let users = self.users.get(id).iter();
            pending.extend(users.filter_map(|u| match u {
                User::Node(n) => Some(at(&self.order, *n)),
                _ => None,
            }));
        }
        Ok(())
    }

    /// Whether so many results are as many as are used.
    fn check_results(&self, id: NodeId, results: usize) -> Result<(), EditError> {
        if results >= self.work.graph.node(id).types.len() {
            return Ok(());
        }
        let mut lost = None;
        for user in self.users.get(id) {
            super::users::reads(&self.work.graph, *user, &mut |v| {
                if v.node == id && v.index as usize >= results {
                    lost = Some(v);
                }
            });
        }
        lost.map_or(Ok(()), |value| {
            Err(VerifyErrorKind::ResultIndex { value, results }.into())
        })
    }
}

fn call(op: Op, args: Vec<Arg>, location: u32, results: usize) -> Node {
    Node {
        kind: NodeKind::Call(op, args),
        name: String::new(),
        location,
        types: vec![TensorType::default(); results],
        interior: false,
    }
}
