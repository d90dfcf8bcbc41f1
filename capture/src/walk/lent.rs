//! Parameters become inputs, and places that the caller lends become cells.
//!
//! Problem: `*keys = v` changes what every later mention of `keys` means, and what the caller finds there; so does an
//! assignment through any other name for the same place. Method: the place is a cell with its current value, and what names
//! it is [`Kind::Cell`]. A use loads it. Invariant: a kind that was loaded has no cells, so that it is a value.

use super::Walk;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::Kind;
use crate::model::Ty;
use crate::parameter::{Param, ParamTree, Place};
use crate::spec::Spec;
use proc_macro2::TokenStream;
use tensorplay_graph::{Expr, HostType, ScalarInput, Value};

/// What the caller lends for assignment.
#[derive(Debug)]
pub(super) struct Cell {
    /// Which input it is, and that input's value; `None` if this is no tensor, which cannot be assigned yet.
    pub own: Option<(u32, Value)>,
    /// What is there now.
    pub value: Kind,
    name: String,
}

impl Cell {
    /// Whether nobody knows what is there.
    pub fn is_unknown(&self) -> bool {
        matches!(self.value, Kind::Unknown)
    }
}

/// Where a loop keeps a tensor that it carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// A local.
    Local(String),
    /// A place that the caller lends.
    Cell(usize),
}

impl Slot {
    /// The number of the place, if the caller lends it.
    pub fn cell(&self) -> Option<usize> {
        match self {
            Slot::Cell(i) => Some(*i),
            Slot::Local(_) => None,
        }
    }
}

impl Walk {
    /// The tensors that an assignment to a name, or to a part of what it names, may change; none if that is more than
    /// tensors.
    pub(super) fn slots(&self, name: &str) -> Vec<Slot> {
        fn cells(kind: &Kind, out: &mut Vec<Slot>) -> bool {
            match kind {
                Kind::Cell(i) => {
                    out.push(Slot::Cell(*i));
                    true
                }
                Kind::List(kinds) => kinds.iter().all(|k| cells(k, out)),
                _ => false,
            }
        }
        let mut out = Vec::new();
        match self.scope.get(name) {
            Some(Kind::Tensor(_)) => vec![Slot::Local(name.to_string())],
            Some(kind) if cells(kind, &mut out) => {
                out.retain(|s| self.slot(s).is_some());
                out
            }
            _ => Vec::new(),
        }
    }

    /// The tensor in a slot.
    pub(super) fn slot(&self, slot: &Slot) -> Option<Value> {
        let kind = match slot {
            Slot::Local(name) => self.scope.get(name)?,
            Slot::Cell(i) => &self.cells.get(*i)?.value,
        };
        match kind {
            Kind::Tensor(v) => Some(*v),
            _ => None,
        }
    }

    pub(super) fn slot_name(&self, slot: &Slot) -> String {
        match slot {
            Slot::Local(name) => name.clone(),
            Slot::Cell(i) => self.cells[*i].name.clone(),
        }
    }

    pub(super) fn fill(&mut self, slot: &Slot, kind: Kind) {
        match slot {
            Slot::Local(name) => {
                self.scope.assign(name, kind);
            }
            Slot::Cell(i) => self.cells[*i].value = kind,
        }
    }

    /// The tensors and numbers of a parameter become inputs of the graph.
    pub fn bind_param(&mut self, p: &Param, written: &TokenStream, specs: &[Spec]) {
        let mut specs = specs.iter();
        let kind = self.bind_part(&p.tree, &Place::of(&p.name), written, &mut specs);
        self.scope.bind(p.name.to_string(), kind);
    }

    /// A const parameter is a number behind the others.
    pub fn bind_generic(&mut self, p: &Param) {
        if let ParamTree::Host(ty, _) = p.tree {
            let name = p.name.to_string();
            let kind = Kind::Host(self.scalar(name.clone(), ty));
            self.scope.bind(name, kind);
        }
    }

    fn bind_part(
        &mut self,
        tree: &ParamTree,
        place: &Place,
        written: &TokenStream,
        specs: &mut std::slice::Iter<'_, Spec>,
    ) -> Kind {
        let name = &place.name;
        let (own, value) = match tree {
            ParamTree::Reference(mutable, to) => {
                return self.bind_part(to, &place.referred(*mutable), written, specs);
            }
            ParamTree::Tuple(parts) | ParamTree::Array(parts) => {
                let of_tuple = matches!(tree, ParamTree::Tuple(_));
                let part = |(i, tree)| self.bind_part(tree, &place.part(i, of_tuple), written, specs);
                return Kind::List(parts.iter().enumerate().map(part).collect());
            }
            ParamTree::Tensor(_) => {
                let spec = specs.next().map(|s| s.lower(&mut self.builder.module));
                self.at(place.at, written.clone());
                let (v, input) = (self.builder.input(name, spec), self.tensors as u32);
                self.tensors += 1;
                self.places.push(place.clone());
                (Some((input, v)), Kind::Tensor(v))
            }
            ParamTree::Host(ty, _) => (None, Kind::Host(self.scalar(name.clone(), *ty))),
            ParamTree::Optional(inner) => {
                let tag = self.scalar(format!("{name}.is_some()"), HostType::Bool);
                // what stands for an absent tensor has no spec to keep
                let absent = specs.len() > 0 && !self.decide(tag.clone());
                let inside = place.inside();
                let held = match absent {
                    true => {
                        specs.by_ref().take(inner.tensors()).for_each(drop);
                        self.bind_part(inner, &inside, written, &mut [].iter())
                    }
                    false => self.bind_part(inner, &inside, written, specs),
                };
                (None, Kind::Maybe(tag, Box::new(held)))
            }
            ParamTree::List(element) => {
                let ty = Ty::List(Box::new(element.clone()));
                return self.aggregate(name, ty, place.tokens().clone());
            }
            ParamTree::Opaque => (None, Kind::Opaque(place.tokens().clone())),
        };
        if !place.lent {
            return value;
        }
        let name = name.clone();
        self.cells.push(Cell { own, value, name });
        Kind::Cell(self.cells.len() - 1)
    }

    fn scalar(&mut self, name: String, ty: HostType) -> Expr {
        let index = self.scalars as u32;
        self.scalars += 1;
        self.builder.module.scalars.push(ScalarInput {
            name,
            ty,
            source: None,
        });
        Expr::Param(index, ty)
    }

    /// A value: what is in cells now.
    pub(super) fn load(&self, kind: Kind) -> Kind {
        let all = |kinds: Vec<Kind>| kinds.into_iter().map(|k| self.load(k)).collect();
        match kind {
            Kind::Cell(i) => self.cells[i].value.clone(),
            Kind::List(kinds) => Kind::List(all(kinds)),
            Kind::Some(held) => Kind::Some(Box::new(self.load(*held))),
            Kind::Try(held) => Kind::Try(Box::new(self.load(*held))),
            other => other,
        }
    }

    /// Whether assignments to it reach the caller.
    pub(super) fn is_lent(kind: &Kind) -> bool {
        match kind {
            Kind::Cell(_) => true,
            Kind::List(kinds) => !kinds.is_empty() && kinds.iter().all(Walk::is_lent),
            _ => false,
        }
    }

    /// The cells in it are unknown from here on.
    pub(super) fn spoil(&mut self, kind: &Kind) {
        match kind {
            Kind::Cell(i) => self.cells[*i].value = Kind::Unknown,
            Kind::List(kinds) => kinds.iter().for_each(|k| self.spoil(k)),
            _ => {}
        }
    }

    /// Puts a value in place of what is lent.
    pub(super) fn store(&mut self, into: Kind, value: Kind, at: &TokenStream) {
        match (into, value) {
            (Kind::Unknown, _) => {}
            (into, Kind::Unknown) => self.spoil(&into),
            (Kind::Cell(i), value) if self.cells[i].own.is_some() => {
                // a closure of the same function is reported where it ends
                let outside = self.scope.assigns_outside();
                if !outside && (self.in_closure > 0 || self.loops.iter().any(|l| !l.cells.contains(&i))) {
                    let message = "an assignment through a `&mut` parameter of another function cannot be captured yet in a closure or loop";
                    self.fail(
                        Diagnostic::new(code::STATEMENT, at, message)
                            .help("give the value back as a result, and assign it where the parameter is"),
                    );
                }
                let value = match self.as_tensor(value, at) {
                    Some(v) if !outside => Kind::Tensor(v),
                    _ => Kind::Unknown,
                };
                let name = self.cells[i].name.clone();
                self.name(&name, &value);
                self.cells[i].value = value;
            }
            (Kind::List(into), Kind::List(values)) if into.len() == values.len() => {
                for (into, value) in into.into_iter().zip(values) {
                    self.store(into, value, at);
                }
            }
            (into, value) => {
                self.spoil(&into);
                let message = format!(
                    "an assignment of {} through this cannot be captured yet",
                    value.describe()
                );
                self.fail(
                    Diagnostic::new(code::STATEMENT, at, message)
                        .help("of what a `&mut` parameter refers to, only tensors can be assigned"),
                );
            }
        }
    }
}
