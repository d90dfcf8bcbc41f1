//! Parameters become inputs, and places that the caller lends become cells.
//!
//! Problem: `*keys = v` changes what every later mention of `keys` means, and what the caller finds there; so does an
//! assignment through any other name for the same place. Method: the place is a cell with its current value, and what names
//! it is [`Kind::Cell`]. A use loads it. Invariant: a kind that was loaded has no cells, so that it is a value.

use super::Walk;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::{Kind, PartOf, Record};
use crate::model::Ty;
use crate::parameter::{Param, ParamTree, Place};
use crate::reads::Part;
use crate::spec::Spec;
use proc_macro2::TokenStream;
use tensorplay_graph::{Expr, FieldPath, HostType, NodeKind, ScalarInput, Step, Value};

/// What the caller lends for assignment.
#[derive(Debug)]
pub(super) struct Cell {
    /// What it is when the function, or the step of a loop, starts.
    pub own: Own,
    /// Of which aggregate it is which part.
    part: Option<FieldPath>,
    /// What is there now.
    pub value: Kind,
    name: String,
}

/// What a cell holds before anything is assigned.
#[derive(Clone, Copy, Debug)]
pub(super) enum Own {
    /// No tensor, so nothing can be assigned yet.
    Other,
    /// The input of that number.
    Input(u32, Value),
    /// A tensor of the element that a loop has come to, by the number of the loop.
    Element(u32, Value),
}

/// A list of which a loop assigned a part of each element.
#[derive(Debug)]
pub(super) struct Rewritten {
    pub list: FieldPath,
    pub part: Vec<Step>,
    /// The new values, a list.
    pub values: Value,
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
            Slot::Cell(i) => self.cell_name(*i),
        }
    }

    fn cell_name(&self, cell: usize) -> String {
        self.cells.get(cell).map(|c| c.name.clone()).unwrap_or_default()
    }

    pub(super) fn fill(&mut self, slot: &Slot, kind: Kind) {
        match slot {
            Slot::Local(name) => {
                self.scope.assign(name, kind);
            }
            Slot::Cell(i) => self.set(*i, kind),
        }
    }

    fn set(&mut self, cell: usize, value: Kind) {
        if let Some(cell) = self.cells.get_mut(cell) {
            cell.value = value;
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
                (Own::Input(input, v), Kind::Tensor(v))
            }
            ParamTree::Host(ty, _) => (Own::Other, Kind::Host(self.scalar(name.clone(), *ty))),
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
                (Own::Other, Kind::Maybe(tag, Box::new(held)))
            }
            ParamTree::List(element, lent) => {
                let ty = Ty::List(Box::new(element.clone()));
                return self.aggregate(name, ty, place.tokens().clone(), *lent);
            }
            ParamTree::Opaque => (Own::Other, Kind::Opaque(place.tokens().clone())),
        };
        if !place.lent {
            return value;
        }
        let name = name.clone();
        self.cell(own, None, value, name)
    }

    fn cell(&mut self, own: Own, part: Option<FieldPath>, value: Kind, name: String) -> Kind {
        self.cells.push(Cell {
            own,
            part,
            value,
            name,
        });
        Kind::Cell(self.cells.len() - 1)
    }

    /// A tensor of a list that the caller lends.
    pub(super) fn lent_part(&mut self, part: &PartOf) -> Kind {
        if let Some(i) = self
            .cells
            .iter()
            .position(|c| c.part.as_ref() == Some(&part.path))
        {
            return Kind::Cell(i);
        }
        let read = Part {
            path: part.path.clone(),
            name: part.name.clone(),
        };
        let own = match self.element(&part.path) {
            Some(k) => Own::Element(k, self.read_element(k, read)),
            None if self.is_rewritten(part.path.root) => {
                let message = format!(
                    "`{}` was assigned by a loop over its list, and cannot be used behind it yet",
                    part.name
                );
                return self.fail(
                    Diagnostic::new(code::STATEMENT, &part.tokens, message)
                        .help("use the new value in the loop, or push it to a list there"),
                );
            }
            None => {
                let v = self.read_part(read, part.tokens.clone());
                match self.builder.module.graph.node(v.node).kind {
                    NodeKind::Input(input) => Own::Input(input, v),
                    NodeKind::Call(..) => Own::Other,
                }
            }
        };
        match own {
            Own::Input(_, v) | Own::Element(_, v) => {
                self.cell(own, Some(part.path.clone()), Kind::Tensor(v), part.name.clone())
            }
            Own::Other => Kind::Unknown,
        }
    }

    /// Whether a loop assigned elements of a list.
    pub(super) fn is_rewritten(&self, root: u32) -> bool {
        self.rewritten.iter().any(|r| r.list.root == root)
    }

    /// Whether a part of a list was assigned by its number.
    pub(super) fn is_changed(&self, root: u32) -> bool {
        let changed = |c: &Cell| match (&c.own, &c.value) {
            (Own::Input(_, own), Kind::Tensor(v)) => v != own,
            (_, value) => matches!(value, Kind::Unknown),
        };
        let of_list = |c: &&Cell| c.part.as_ref().is_some_and(|p| p.root == root);
        self.cells.iter().filter(of_list).any(changed)
    }

    /// What the step of a loop leaves in the parts of its elements that it assigned.
    pub(super) fn assigned_parts(&self, k: u32) -> impl Iterator<Item = (Part, Kind)> + '_ {
        self.cells.iter().filter_map(move |c| match (&c.own, &c.part) {
            (Own::Element(of, own), Some(path)) if *of == k => {
                let path = path.clone();
                let same = matches!(&c.value, Kind::Tensor(v) if v == own);
                let name = c.name.clone();
                (!same).then(|| (Part { path, name }, c.value.clone()))
            }
            _ => None,
        })
    }

    /// Forgets the cells from that number on: nothing outside of the step of a loop names them.
    pub(super) fn forget_cells(&mut self, from: usize) {
        self.cells.truncate(from);
    }

    pub(super) fn cells_so_far(&self) -> usize {
        self.cells.len()
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
            Kind::Cell(i) => self.cells.get(i).map_or(Kind::Unknown, |c| c.value.clone()),
            Kind::List(kinds) => Kind::List(all(kinds)),
            Kind::Record(r) => Kind::Record(Record {
                fields: r.fields.into_iter().map(|(n, k)| (n, self.load(k))).collect(),
                ..r
            }),
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
            Kind::Cell(i) => self.set(*i, Kind::Unknown),
            Kind::List(kinds) => kinds.iter().for_each(|k| self.spoil(k)),
            _ => {}
        }
    }

    fn can_store(&self, cell: usize) -> bool {
        self.cells.get(cell).is_some_and(|c| !matches!(c.own, Own::Other))
    }

    /// Puts a value in place of what is lent.
    pub(super) fn store(&mut self, into: Kind, value: Kind, at: &TokenStream) {
        match (into, value) {
            (Kind::Unknown, _) => {}
            (into, Kind::Unknown) => self.spoil(&into),
            (Kind::Cell(i), value) if self.can_store(i) => {
                // a closure of the same function is reported where it ends
                let outside = self.scope.assigns_outside();
                // a step's own element lies inside the loops around it
                let around = match self.cells[i].own {
                    Own::Element(k, _) => k as usize + 1,
                    _ => 0,
                };
                let mut loops = self.loops.iter().skip(around);
                if !outside && (self.in_closure > 0 || loops.any(|l| !l.cells.contains(&i))) {
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
                let name = self.cell_name(i);
                self.name(&name, &value);
                self.set(i, value);
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
