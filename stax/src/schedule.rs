//! The schedule: which nodes become one kernel.
//!
//! Problem: fuse as much as is legal while ranks and sizes may be unknown.
//!
//! Method: one sweep in topological order. Every node belongs to a *unit*: a fused group, or a step
//! of its own (views, products, copies, creations). An element-wise node joins the group of one of its producers; a fold
//! joins the group that computes its operand, which becomes a row group. Element-wise groups that meet in a node are
//! merged. What the build cannot decide is assumed and checked when a layout is bound (`bind`): a
//! group whose assumption fails runs node by node.
//!
//! Invariants: the unit graph is acyclic (`reach` holds the transitive dependencies of every unit);
//! all folds of a group reduce the same dims; what a row value reads in its group is a row value too, unless it is a fold;
//! a group has at most [`MAX_OPERANDS`] tensors and [`MAX_NODES`] nodes.

use crate::kernel::Space;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tensorplay_graph::op::row::Lowering;
use tensorplay_graph::{Arg, Dim, Graph, NodeId, NodeKind, Op, Shape, Value};

/// The largest number of tensors that a group reads.
pub const MAX_OPERANDS: usize = 12;
/// The largest number of nodes in a group.
pub const MAX_NODES: usize = 64;

/// How a unit is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum UnitKind {
    /// Element-wise nodes: one kernel, one pass.
    Map,
    /// Element-wise nodes and folds over the same dims: one kernel.
    Row,
    /// A metadata change.
    View,
    /// A matrix product.
    Contract,
    /// Joined elements: copies.
    Copy,
    /// A runtime kernel that the operation's row names.
    Op,
    /// Graphs inside the module.
    Region,
    /// A callee, whose units take this one's place when a function is bound.
    Link,
    /// A tensor from host values.
    Create,
}

impl UnitKind {
    /// Whether the unit becomes a kernel.
    pub fn is_kernel(self) -> bool {
        matches!(self, UnitKind::Map | UnitKind::Row)
    }
}

/// A member of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Member {
    /// The node.
    pub node: NodeId,
    /// One value an element, or one a row.
    pub space: Space,
    /// For a row value: whether the reduced dims are kept at size 1.
    pub kept: bool,
}

/// Nodes that are executed together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Unit {
    /// How.
    pub kind: UnitKind,
    /// The nodes in topological order.
    pub members: Vec<Member>,
    /// Values that others read, in order.
    pub outputs: Vec<Value>,
}

/// The units of a graph in execution order.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Schedule {
    /// The units.
    pub units: Vec<Unit>,
}

/// Groups the nodes of a graph whose composites are expanded.
pub fn schedule(graph: &Graph) -> Schedule {
    let mut fused = Scheduler::new(graph);
    graph.ids().for_each(|id| fused.place(id));
    // calls alone rarely draw: to keep them in order is not worth the fusion of all else
    let may_wait = || !graph.nodes.iter().any(|n| n.op().is_some_and(Op::is_random));
    let order = fused.order(true);
    match order.or_else(|| may_wait().then(|| fused.order(false)).flatten()) {
        Some(order) => fused.finish(order),
        None => one_by_one(graph),
    }
}

/// One unit a node, which is right for any graph.
fn one_by_one(graph: &Graph) -> Schedule {
    let mut s = Scheduler::new(graph);
    graph.ids().for_each(|id| s.place_alone(id));
    let order = (0..s.units.len()).collect();
    s.finish(order)
}

/// The dims argument of a fold, as a key: folds of one group have one key.
pub fn fold_dims(op: Op, args: &[Arg]) -> Option<&Arg> {
    match op {
        Op::SumAll | Op::WideSumAll | Op::MaxAll | Op::MinAll => None,
        _ => args.get(1),
    }
}

fn dims_key(op: Op, args: &[Arg]) -> String {
    fold_dims(op, args).map_or_else(|| "all".to_string(), |a| format!("{a:?}"))
}

/// Whether a fold keeps its dims at size 1.
pub fn keeps_dims(op: Op) -> bool {
    matches!(
        op,
        Op::SumKeepdim
            | Op::WideSumKeepdim
            | Op::MaxKeepdim
            | Op::MinKeepdim
            | Op::ArgmaxKeepdim
            | Op::ArgminKeepdim
            | Op::RowMax
    )
}

fn unit_kind(op: Op) -> UnitKind {
    match op.row().lowering {
        Lowering::Lane(_) | Lowering::Composite(_) => UnitKind::Map,
        Lowering::Reduce(_) => UnitKind::Row,
        Lowering::View => UnitKind::View,
        Lowering::Contract => UnitKind::Contract,
        Lowering::Copy => UnitKind::Copy,
        Lowering::Op => UnitKind::Op,
        Lowering::Region => UnitKind::Region,
        Lowering::Link => UnitKind::Link,
        Lowering::Create => UnitKind::Create,
    }
}

struct Draft {
    kind: UnitKind,
    members: Vec<Member>,
    /// The iteration shape as far as known.
    shape: Shape,
    /// The printed dims of the folds.
    dims: Option<String>,
    /// Tensors read from outside, with the space in which they are read.
    reads: Vec<(Value, Space)>,
    alive: bool,
}

struct Scheduler<'a> {
    graph: &'a Graph,
    units: Vec<Draft>,
    unit_of: Vec<Option<usize>>,
    member: BTreeMap<NodeId, (Space, bool)>,
    /// The transitive dependencies of every unit, as bits.
    reach: Vec<Vec<u64>>,
    /// The rank that every node's value has at least.
    rank: Vec<usize>,
}

fn has(bits: &[u64], i: usize) -> bool {
    bits.get(i / 64).is_some_and(|w| w >> (i % 64) & 1 == 1)
}

fn set(bits: &mut Vec<u64>, i: usize) {
    if bits.len() <= i / 64 {
        bits.resize(i / 64 + 1, 0);
    }
    bits[i / 64] |= 1 << (i % 64);
}

fn union(into: &mut Vec<u64>, from: &[u64]) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    into.iter_mut().zip(from).for_each(|(a, b)| *a |= b);
}

fn shapes_differ(a: &Shape, b: &Shape) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.len() != b.len() || a.iter().zip(b).any(|(x, y)| sizes_differ(*x, *y)),
        _ => false,
    }
}

/// A symbol beside a literal 1 is a broadcast in the making.
fn sizes_differ(a: Dim, b: Dim) -> bool {
    a.differs(b)
        || matches!(
            (a, b),
            (Dim::Known(1), Dim::Symbol(_)) | (Dim::Symbol(_), Dim::Known(1))
        )
        || matches!((a, b), (Dim::Symbol(p), Dim::Symbol(q)) if p != q)
}

impl<'a> Scheduler<'a> {
    fn new(graph: &'a Graph) -> Self {
        Scheduler {
            graph,
            units: Vec::new(),
            unit_of: vec![None; graph.nodes.len()],
            member: BTreeMap::new(),
            reach: Vec::new(),
            rank: vec![0; graph.nodes.len()],
        }
    }

    fn tensors(&self, id: NodeId) -> Vec<Value> {
        let mut values = Vec::new();
        for a in self.graph.node(id).args() {
            a.tensors(&mut |v| {
                if !values.contains(&v) {
                    values.push(v);
                }
            });
        }
        values
    }

    fn unit(&self, v: Value) -> Option<usize> {
        self.unit_of[v.node.index()]
    }

    fn place(&mut self, id: NodeId) {
        self.rank[id.index()] = self.least_rank(id);
        let NodeKind::Call(op, args) = &self.graph.node(id).kind else {
            return;
        };
        match unit_kind(*op) {
            UnitKind::Map => self.place_lane(id),
            UnitKind::Row => self.place_fold(id, *op, args),
            kind => {
                self.new_unit(kind, id, Space::Elem, false, None);
            }
        }
    }

    fn place_alone(&mut self, id: NodeId) {
        let NodeKind::Call(op, args) = &self.graph.node(id).kind else {
            return;
        };
        match unit_kind(*op) {
            UnitKind::Row => {
                self.new_unit(
                    UnitKind::Row,
                    id,
                    Space::Row,
                    keeps_dims(*op),
                    Some(dims_key(*op, args)),
                );
            }
            kind => {
                self.new_unit(kind, id, Space::Elem, false, None);
            }
        }
    }

    /// An element-wise value of unknown shape has at least the rank of each of its operands.
    fn least_rank(&self, id: NodeId) -> usize {
        let node = self.graph.node(id);
        if let Some(shape) = node.types.first().and_then(|t| t.shape.as_ref()) {
            return shape.len();
        }
        match node.op().map(|op| op.row().lowering) {
            Some(Lowering::Lane(_)) => {
                let of = |v: &Value| match &self.graph.ty(*v).shape {
                    Some(shape) => shape.len(),
                    None => self.rank[v.node.index()],
                };
                self.tensors(id).iter().map(of).max().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Whether a node's shape is surely not `shape`.
    fn differs(&self, id: NodeId, shape: &Shape) -> bool {
        shapes_differ(&self.graph.ty(id.into()).shape, shape)
            || shape.as_ref().is_some_and(|s| s.len() < self.rank[id.index()])
    }

    fn new_unit(
        &mut self,
        kind: UnitKind,
        id: NodeId,
        space: Space,
        kept: bool,
        dims: Option<String>,
    ) -> usize {
        let shape = match kind {
            UnitKind::Row => self
                .tensors(id)
                .first()
                .and_then(|v| self.graph.ty(*v).shape.clone()),
            _ => self.graph.node(id).types.first().and_then(|t| t.shape.clone()),
        };
        self.units.push(Draft {
            kind,
            members: Vec::new(),
            shape,
            dims,
            reads: Vec::new(),
            alive: true,
        });
        self.reach.push(Vec::new());
        let unit = self.units.len() - 1;
        self.join(unit, id, space, kept);
        unit
    }

    fn join(&mut self, unit: usize, id: NodeId, space: Space, kept: bool) {
        let mut deps = Vec::new();
        let fold = matches!(
            self.graph.node(id).op().map(|op| op.row().lowering),
            Some(Lowering::Reduce(_))
        );
        for v in self.tensors(id) {
            match self.unit(v) {
                Some(u) if u == unit => continue,
                Some(u) => {
                    set(&mut deps, u);
                    let of = self.reach[u].clone();
                    union(&mut deps, &of);
                }
                None => {}
            }
            let read = (v, if fold { Space::Elem } else { space });
            if !self.units[unit].reads.contains(&read) {
                self.units[unit].reads.push(read);
            }
        }
        union(&mut self.reach[unit], &deps);
        for u in 0..self.reach.len() {
            if has(&self.reach[u], unit) {
                union(&mut self.reach[u], &deps);
            }
        }
        self.units[unit].members.push(Member {
            node: id,
            space,
            kept,
        });
        self.unit_of[id.index()] = Some(unit);
        self.member.insert(id, (space, kept));
    }

    /// Whether adding `id` to `unit` leaves the unit graph acyclic and within the limits.
    fn can_join(&self, unit: usize, id: NodeId) -> bool {
        let u = &self.units[unit];
        let tensors = self.tensors(id);
        let new = tensors.iter().filter(|v| self.unit(**v) != Some(unit)).count();
        u.members.len() < MAX_NODES
            && u.reads.len() + new <= MAX_OPERANDS
            && tensors.iter().all(|v| match self.unit(*v) {
                Some(a) if a != unit => !has(&self.reach[a], unit),
                _ => true,
            })
    }

    fn place_lane(&mut self, id: NodeId) {
        let mut candidates: Vec<usize> = Vec::new();
        for v in self.tensors(id) {
            if let Some(u) = self.unit(v).filter(|&u| self.units[u].kind.is_kernel())
                && !candidates.contains(&u)
            {
                candidates.push(u);
            }
        }
        // row groups first: their space is fixed by their folds; then the latest
        candidates.sort_by_key(|&u| (self.units[u].kind != UnitKind::Row, usize::MAX - u));
        let mut home: Option<usize> = None;
        for u in candidates {
            match home {
                None => {
                    if let Some((space, kept)) = self.space_in(u, id)
                        && self.can_join(u, id)
                    {
                        self.join(u, id, space, kept);
                        home = Some(u);
                    }
                }
                Some(h) => self.merge(h, u),
            }
        }
        if home.is_none() {
            self.new_unit(UnitKind::Map, id, Space::Elem, false, None);
        }
    }

    /// The space of a lane node in a group, or `None` if its shape surely does not fit.
    fn space_in(&self, unit: usize, id: NodeId) -> Option<(Space, bool)> {
        let u = &self.units[unit];
        let shape = &self.graph.ty(id.into()).shape;
        let elem = (Space::Elem, false);
        if u.kind == UnitKind::Map {
            return (!self.differs(id, &u.shape)).then_some(elem);
        }
        let tensors = self.tensors(id);
        let inside: Vec<(Space, bool)> = tensors
            .iter()
            .filter(|v| self.unit(**v) == Some(unit))
            .filter_map(|v| self.member.get(&v.node).copied())
            .collect();
        let kept = inside.iter().any(|(_, kept)| *kept);
        let outside: Vec<Value> = tensors
            .iter()
            .copied()
            .filter(|v| self.unit(*v) != Some(unit))
            .collect();
        let space = if inside.iter().any(|(s, _)| *s == Space::Elem)
            || outside.iter().any(|v| u.reads.contains(&(*v, Space::Elem)))
        {
            Space::Elem
        } else if outside.is_empty() {
            Space::Row
        } else if let (Some(s), Some(t)) = (shape, &u.shape)
            && !shapes_differ(&Some(s.clone()), &Some(t.clone()))
        {
            Space::Elem
        } else if kept && shape.is_none() {
            Space::Elem
        } else {
            Space::Row
        };
        match space {
            Space::Elem => (!self.differs(id, &u.shape)).then_some(elem),
            Space::Row => {
                let of_row = inside.iter().any(|(s, _)| *s == Space::Row);
                let row_shape = tensors
                    .iter()
                    .find(|v| self.unit(**v) == Some(unit))
                    .and_then(|v| self.graph.ty(*v).shape.clone());
                (of_row && !self.differs(id, &row_shape)).then_some((Space::Row, kept))
            }
        }
    }

    fn place_fold(&mut self, id: NodeId, op: Op, args: &[Arg]) {
        let Some(Arg::Value(v)) = args.first() else {
            return;
        };
        let dims = dims_key(op, args);
        let kept = keeps_dims(op);
        let fits = |u: &Draft| u.dims.is_none() || u.dims.as_deref() == Some(&dims);
        let home = match self.unit(*v).filter(|&u| self.units[u].kind.is_kernel()) {
            Some(u) => {
                let elem = self.member.get(&v.node).is_some_and(|(s, _)| *s == Space::Elem);
                (elem && fits(&self.units[u]) && self.can_join(u, id)).then_some(u)
            }
            None => None,
        };
        // a fold of a tensor that a row group reads anyway
        let home = home.or_else(|| {
            (0..self.units.len()).rev().find(|&u| {
                let draft = &self.units[u];
                draft.alive
                    && draft.kind == UnitKind::Row
                    && draft.dims.as_deref() == Some(&dims)
                    && draft.reads.contains(&(*v, Space::Elem))
                    && !shapes_differ(&self.graph.ty(*v).shape, &draft.shape)
                    && self.can_join(u, id)
            })
        });
        match home {
            Some(u) => {
                self.units[u].kind = UnitKind::Row;
                self.units[u].dims = Some(dims);
                self.join(u, id, Space::Row, kept);
            }
            None => {
                self.new_unit(UnitKind::Row, id, Space::Row, kept, Some(dims));
            }
        }
    }

    /// Merges element-wise group `from` into `into` if that stays legal.
    fn merge(&mut self, into: usize, from: usize) {
        let (a, b) = (&self.units[into], &self.units[from]);
        let both_maps = a.kind == UnitKind::Map && b.kind == UnitKind::Map;
        let known_same = a.shape.is_some() && b.shape.is_some();
        // a value has one space in its group: `from` has elements only, so that its values are no operands of rows
        let read_by_row = |(v, s): &(Value, Space)| *s == Space::Row && self.unit(*v) == Some(from);
        let legal = b.kind == UnitKind::Map
            && (both_maps || known_same)
            && !shapes_differ(&a.shape, &b.shape)
            && !a.reads.iter().any(read_by_row)
            && a.members.len() + b.members.len() <= MAX_NODES
            && a.reads.len() + b.reads.len() <= MAX_OPERANDS
            && !self.between(into, from)
            && !self.between(from, into);
        if !legal {
            return;
        }
        if self.units[into].shape.is_none() {
            self.units[into].shape = self.units[from].shape.take();
        }
        let moved = std::mem::take(&mut self.units[from].members);
        let reads = std::mem::take(&mut self.units[from].reads);
        self.units[from].alive = false;
        for m in &moved {
            self.unit_of[m.node.index()] = Some(into);
        }
        let of = self.reach[from].clone();
        union(&mut self.reach[into], &of);
        for u in 0..self.reach.len() {
            if u != into && (has(&self.reach[u], from) || has(&self.reach[u], into)) {
                let of = self.reach[into].clone();
                union(&mut self.reach[u], &of);
                set(&mut self.reach[u], into);
            }
        }
        // a unit does not depend on itself, nor on one that it absorbed
        for gone in [into, from] {
            if let Some(w) = self.reach[into].get_mut(gone / 64) {
                *w &= !(1 << (gone % 64));
            }
        }
        let target = &mut self.units[into];
        target.members.extend(moved);
        target.members.sort_by_key(|m| m.node);
        for r in reads {
            if !target.reads.contains(&r) {
                target.reads.push(r);
            }
        }
        let unit_of = &self.unit_of;
        target
            .reads
            .retain(|(v, _)| unit_of[v.node.index()] != Some(into));
    }

    /// Whether a third unit lies on a path from `low` to `high`.
    fn between(&self, high: usize, low: usize) -> bool {
        has(&self.reach[high], low)
            && (0..self.units.len())
                .any(|x| x != high && x != low && has(&self.reach[high], x) && has(&self.reach[x], low))
    }

    fn finish(self, order: Vec<usize>) -> Schedule {
        let mut used: BTreeMap<Value, Vec<Option<usize>>> = BTreeMap::new();
        for id in self.graph.ids() {
            for v in self.tensors(id) {
                used.entry(v).or_default().push(self.unit_of[id.index()]);
            }
        }
        let mut units = Vec::new();
        for u in order {
            let draft = &self.units[u];
            let mut outputs = Vec::new();
            for m in &draft.members {
                for index in 0..self.graph.node(m.node).types.len().max(1) as u32 {
                    let v = Value { node: m.node, index };
                    // what nothing reads was left for its errors
                    let read = used.get(&v).is_none_or(|by| by.iter().any(|b| *b != Some(u)));
                    if read || self.graph.outputs.contains(&v) || !draft.kind.is_kernel() {
                        outputs.push(v);
                    }
                }
            }
            if !outputs.is_empty() {
                units.push(Unit {
                    kind: draft.kind,
                    members: draft.members.clone(),
                    outputs,
                });
            }
        }
        Schedule { units }
    }

    /// Dependencies first; among the ready ones, the order of the source, which units that draw random numbers, or may do
    /// so in regions and callees, always keep where `draws_in_order`. `None` if units need each other.
    fn order(&self, draws_in_order: bool) -> Option<Vec<usize>> {
        let draws = |unit: &Draft| {
            let mut nodes = unit.members.iter().map(|m| self.graph.node(m.node));
            nodes
                .any(|n| n.op().is_some_and(Op::is_random) || n.link().is_some() || n.region_call().is_some())
        };
        let draws: Vec<bool> = self.units.iter().map(|u| draws_in_order && draws(u)).collect();
        let mut left: Vec<usize> = (0..self.units.len()).filter(|&u| self.units[u].alive).collect();
        left.sort_by_key(|&u| self.units[u].members.last().map(|m| m.node));
        let mut done = vec![false; self.units.len()];
        let mut order = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let ready = |u: usize| {
                self.units[u]
                    .reads
                    .iter()
                    .all(|(v, _)| self.unit_of[v.node.index()].is_none_or(|d| d == u || done[d]))
            };
            let mut drawn_before = false;
            let at = left.iter().position(|&u| {
                let waits = draws[u] && std::mem::replace(&mut drawn_before, true);
                !waits && ready(u)
            })?;
            let u = left.remove(at);
            done[u] = true;
            order.push(u);
        }
        Some(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::lower;
    use crate::typing::Typing;
    use tensorplay_graph::{DType, GraphModule};

    #[test]
    fn a_unit_for_each_node() {
        let module: GraphModule = "graph f(x: f32[2, 3]) {
            %1 = exp(%0)
            %2 = sum_keepdim(%1, [1])
            %3 = t(%1)
            %4 = div(%1, %2)
            return %3, %4
        }"
        .parse()
        .unwrap();
        let typing = Typing::infer(&module, &[DType::F32], &[]).unwrap();
        let units = one_by_one(&module.graph).units;
        let kinds: Vec<UnitKind> = units.iter().map(|u| u.kind).collect();
        assert_eq!(
            kinds,
            [UnitKind::Map, UnitKind::Row, UnitKind::View, UnitKind::Map]
        );
        for unit in units.iter().filter(|u| u.kind.is_kernel()) {
            assert!(lower(&module, &typing, unit, &|_| false).is_ok());
        }
    }
}
