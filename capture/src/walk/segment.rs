//! A run of statements in the middle of a function: a walk from locals to locals.
//!
//! Method: the locals in reach are inputs, as parameters are those of a function; the tensors that the run binds or
//! assigns, and that are read later, are its results. Invariant: all paths of a run end with the same sort of value in
//! each local, or it is no segment.

use super::lent::Cell;
use super::{Walk, Walked};
use crate::kind::Kind;
use crate::spec::Spec;
use proc_macro2::Ident;
use quote::ToTokens;
use std::collections::BTreeSet;
use syn::Stmt;
use tensorplay_graph::{Expr, Graph, HostType, ScalarInput};

/// What a local or the value of a run is.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    /// A tensor that an operation made.
    Tensor,
    /// An input as it came: as a result it would be another tensor, and a variable no variable.
    Input,
    Number(Expr),
    Unit,
    Other,
}

impl Seen {
    fn of(kind: &Kind, graph: &Graph) -> Seen {
        match kind {
            Kind::Tensor(v) if graph.node(v.node).op().is_some() => Seen::Tensor,
            Kind::Tensor(_) => Seen::Input,
            Kind::Host(e) => Seen::Number(e.clone()),
            Kind::List(l) if l.is_empty() => Seen::Unit,
            _ => Seen::Other,
        }
    }

    /// The same without a value that the build knows.
    fn open(&self) -> Seen {
        match self {
            Seen::Number(e) => Seen::Number(Expr::Param(u32::MAX, e.host_type())),
            other => other.clone(),
        }
    }

    /// What is seen of it on two paths, if it is of one sort.
    pub fn meet(&self, other: &Seen) -> Option<Seen> {
        match (self, other) {
            (Seen::Tensor, Seen::Input) | (Seen::Input, Seen::Tensor) => Some(Seen::Tensor),
            (Seen::Number(a), Seen::Number(b)) if a == b => Some(self.clone()),
            // the paths compute it differently
            (Seen::Number(a), Seen::Number(b)) if a.host_type() == b.host_type() => Some(self.open()),
            (Seen::Number(_), _) => None,
            (a, b) => (std::mem::discriminant(a) == std::mem::discriminant(b)).then(|| a.clone()),
        }
    }
}

/// How a run ended along one path.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    /// The locals that it bound.
    pub bound: Vec<(String, Seen)>,
    /// The locals from before that it assigned.
    pub assigned: Vec<(String, Seen)>,
    /// What is known of the sizes of tensors that it bound.
    pub promises: Vec<(String, Spec)>,
    /// What its last statement gives.
    pub value: Seen,
    /// Whether it was left by `return`, `break` or `continue`.
    pub leaves: bool,
}

impl Ended {
    /// How a run ends along two paths, if that is with one sort of value in each local.
    pub fn meet(&self, other: &Ended) -> Option<Ended> {
        let locals = |a: &[(String, Seen)], b: &[(String, Seen)]| {
            let pairs = a.iter().zip(b).filter(|(a, b)| a.0 == b.0);
            let met: Option<Vec<_>> = pairs.map(|(a, b)| Some((a.0.clone(), a.1.meet(&b.1)?))).collect();
            met.filter(|met| met.len() == a.len() && met.len() == b.len())
        };
        // what only one path assigns is on the other what it was
        let mut assigned = Vec::new();
        for (name, seen) in &self.assigned {
            let there = other.assigned.iter().find(|(n, _)| n == name);
            let there = there.map_or_else(|| seen.open(), |(_, s)| s.clone());
            assigned.push((name.clone(), seen.meet(&there)?));
        }
        let new = |(n, _): &&(String, Seen)| !self.assigned.iter().any(|(o, _)| o == n);
        assigned.extend(
            other
                .assigned
                .iter()
                .filter(new)
                .map(|(n, s)| (n.clone(), s.open())),
        );
        Some(Ended {
            bound: locals(&self.bound, &other.bound)?,
            promises: {
                let alike = |(n, s): &&(String, Spec)| other.promises.iter().any(|(m, o)| m == n && o.is(s));
                self.promises.iter().filter(alike).cloned().collect()
            },
            assigned,
            value: self.value.meet(&other.value)?,
            leaves: self.leaves || other.leaves,
        })
    }
}

impl Walk {
    /// A local becomes an input of the graph; of its sizes, what is above the break tells as much.
    pub fn bind_tensor(&mut self, name: &Ident, promise: Option<&Spec>) {
        self.at(name.span(), name.to_token_stream());
        self.tensors += 1;
        let spec = promise.map(|s| s.lower(&mut self.builder.module));
        let v = self.builder.input(name.to_string(), spec);
        if promise.is_some() {
            self.above.push(v);
        }
        self.scope.bind(name.to_string(), Kind::Tensor(v));
    }

    /// A local becomes a scalar of the graph, unless its value is known.
    pub fn bind_number(&mut self, name: &Ident, ty: HostType, value: Option<&Expr>) {
        let name = name.to_string();
        let e = value.cloned().unwrap_or_else(|| {
            let index = self.scalars as u32;
            self.scalars += 1;
            let name = name.clone();
            let source = None;
            self.builder.module.scalars.push(ScalarInput { name, ty, source });
            Expr::Param(index, ty)
        });
        self.scope.bind(name, Kind::Host(e));
    }

    /// The items among the statements of an enclosing block.
    pub fn bind_items(&mut self, block: &[Stmt]) {
        self.items_of(block);
    }

    /// Walks statements. The results are the locals `assigned`, then those of `live` that were bound to tensors, then the
    /// value of the last statement if it `gives` one.
    pub fn run(
        mut self,
        stmts: &[Stmt],
        assigned: &[String],
        live: &BTreeSet<String>,
        gives: bool,
    ) -> (Walked, Ended) {
        let first = self.scope.len();
        let value = self.statements(stmts);
        let value = self.load(value);
        let name = |(n, k): (&str, &Kind)| (n.to_string(), self.load(k.clone()));
        let bound: Vec<(String, Kind)> = self.scope.bound_since(first).into_iter().map(name).collect();
        let changed: Vec<(String, Kind)> = self.scope.assigned_before(first).into_iter().map(name).collect();
        let outer = assigned.iter().filter_map(|n| self.scope.before(first, n));
        let outer: Vec<Kind> = outer.map(|k| self.load(k.clone())).collect();
        if self.cells.iter().any(Cell::is_unknown) {
            self.silent(&stmts.first().to_token_stream());
        }
        let (graph, symbols) = (&self.builder.module.graph, &self.builder.module.symbols);
        let ended = Ended {
            bound: bound
                .iter()
                .map(|(n, k)| (n.clone(), Seen::of(k, graph)))
                .collect(),
            assigned: changed
                .iter()
                .map(|(n, k)| (n.clone(), Seen::of(k, graph)))
                .collect(),
            promises: bound
                .iter()
                .filter_map(|(n, k)| match k {
                    Kind::Tensor(v) => Some((n.clone(), Spec::of_type(self.builder.ty(*v), symbols)?)),
                    _ => None,
                })
                .collect(),
            value: Seen::of(&value, graph),
            leaves: self.leaves(),
        };
        let kept = bound.into_iter().filter(|(n, _)| live.contains(n));
        let results = outer.into_iter().chain(kept.map(|(_, k)| k));
        let results = results.chain(gives.then_some(value)).filter_map(|k| match k {
            Kind::Tensor(v) => Some(v),
            _ => None,
        });
        let results = results.collect();
        self.builder.module.graph.outputs = results;
        self.finish_updates();
        let module = self.errors.is_empty().then_some(self.builder.module);
        let walked = Walked {
            module,
            spans: self.spans,
            reads: self.reads,
            looped: self.looped,
            codes: Vec::new(),
            parameters: (self.tensors, self.scalars),
            decisions: self.decided.into_iter().map(|(_, taken)| taken).collect(),
        };
        (walked, ended)
    }
}
