//! The values of a walk: who still needs them, and what of them.

use super::{EvalError, Meta};
use crate::{Arg, DType, Env, Expr, Graph, Host, Node, NodeId, Value};

/// What is left of a value.
enum Slot<V> {
    Empty,
    Live(V),
    /// Only metadata is read from here on.
    Read(Metadata),
}

struct Metadata {
    dtype: Option<DType>,
    dims: Option<Vec<Option<usize>>>,
}

impl Metadata {
    fn of<V: Meta>(v: &V) -> Metadata {
        Metadata {
            dtype: v.dtype(),
            dims: v.rank().map(|r| (0..r).map(|i| v.dim(i)).collect()),
        }
    }
}

/// The values of a walk, with the number of uses to come.
pub(super) struct Values<'a, V> {
    /// Where the results of each node start; one entry more than nodes.
    base: Vec<usize>,
    slots: Vec<Slot<V>>,
    /// Uses as a tensor to come.
    uses: Vec<u32>,
    /// Metadata reads to come.
    reads: Vec<u32>,
    scalars: &'a [Host],
}

impl<'a, V: Meta> Values<'a, V> {
    pub(super) fn new(graph: &Graph, scalars: &'a [Host]) -> Self {
        let mut base = vec![0];
        let mut end = 0;
        for node in &graph.nodes {
            end += node.types.len();
            base.push(end);
        }
        let mut values = Values {
            base,
            slots: (0..end).map(|_| Slot::Empty).collect(),
            uses: vec![0; end],
            reads: vec![0; end],
            scalars,
        };
        graph
            .nodes
            .iter()
            .flat_map(Node::args)
            .for_each(|a| values.count(a));
        for &v in &graph.outputs {
            values.count(&Arg::Value(v));
        }
        values
    }

    fn count(&mut self, arg: &Arg) {
        match arg {
            Arg::Value(v) => {
                if let Some(at) = self.at(*v) {
                    self.uses[at] += 1;
                }
            }
            Arg::Host(e) => e.values(&mut |v| {
                if let Some(at) = self.at(v) {
                    self.reads[at] += 1;
                }
            }),
            Arg::List(l) => l.iter().for_each(|a| self.count(a)),
            Arg::Field(_) | Arg::None => {}
        }
    }

    fn at(&self, v: Value) -> Option<usize> {
        let (start, end) = (self.base.get(v.node.index())?, self.base.get(v.node.index() + 1)?);
        Some(start + v.index as usize).filter(|at| at < end)
    }

    /// Keeps the results of a node as far as they are used.
    pub(super) fn store(&mut self, id: NodeId, results: Vec<V>) {
        let start = self.base[id.index()];
        let end = self.base[id.index() + 1];
        for (at, v) in (start..end).zip(results) {
            self.slots[at] = match (self.uses[at], self.reads[at]) {
                (0, 0) => Slot::Empty,
                (0, _) => Slot::Read(Metadata::of(&v)),
                _ => Slot::Live(v),
            };
        }
    }

    /// One use of a value as a tensor: the last one moves it out.
    pub(super) fn take(&mut self, v: Value) -> Result<V, EvalError> {
        let missing = EvalError::Results { value: v };
        let at = self.at(v).ok_or(missing.clone())?;
        self.uses[at] = self.uses[at].saturating_sub(1);
        let Slot::Live(value) = &self.slots[at] else {
            return Err(missing);
        };
        if self.uses[at] > 0 {
            return Ok(value.clone());
        }
        let rest = match self.reads[at] {
            0 => Slot::Empty,
            _ => Slot::Read(Metadata::of(value)),
        };
        match std::mem::replace(&mut self.slots[at], rest) {
            Slot::Live(value) => Ok(value),
            _ => Err(missing),
        }
    }

    /// The metadata reads of an expression are done.
    pub(super) fn release(&mut self, e: &Expr) {
        e.values(&mut |v| {
            if let Some(at) = self.at(v) {
                self.reads[at] = self.reads[at].saturating_sub(1);
                if self.reads[at] == 0 && self.uses[at] == 0 {
                    self.slots[at] = Slot::Empty;
                }
            }
        });
    }

    fn read<T>(
        &self,
        v: Value,
        live: impl Fn(&V) -> Option<T>,
        rest: impl Fn(&Metadata) -> Option<T>,
    ) -> Option<T> {
        match self.slots.get(self.at(v)?)? {
            Slot::Empty => None,
            Slot::Live(v) => live(v),
            Slot::Read(m) => rest(m),
        }
    }
}

impl<V: Meta> Env for Values<'_, V> {
    fn param(&self, index: u32) -> Option<Host> {
        self.scalars.get(index as usize).copied()
    }
    fn rank(&self, v: Value) -> Option<usize> {
        self.read(v, V::rank, |m| m.dims.as_ref().map(Vec::len))
    }
    fn dim(&self, v: Value, i: usize) -> Option<usize> {
        self.read(v, |v| v.dim(i), |m| *m.dims.as_ref()?.get(i)?)
    }
    fn dtype(&self, v: Value) -> Option<DType> {
        self.read(v, V::dtype, |m| m.dtype)
    }
}
