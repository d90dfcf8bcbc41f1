//! `Locals`: what the locals in reach are, between the statements of a function that is not captured whole.
//!
//! Problem: a segment begins in the middle of a function, and macros see no types. Method: the static type of a local
//! never changes, so what it is follows from the form of its first value: an operation makes a tensor, `item::<f32>()`
//! an `f32`. Invariant: a local of which that is not certain is opaque, and what uses it stays Rust.

use super::names::Names;
use crate::parameter::{Param, ParamTree};
use crate::spec::Spec;
use crate::walk::Seen;
use proc_macro2::{Ident, TokenStream};
use tensorplay_graph::{Expr, HostType};

/// What a local is.
#[derive(Clone, Debug)]
pub enum Local {
    /// A tensor behind so many references.
    Tensor {
        /// 0 is an owned tensor.
        refs: u8,
    },
    /// A number, flag or dtype.
    Number(Number),
    /// A parameter of another structure.
    Parts(ParamTree),
    /// Anything else.
    Opaque,
}

/// A number, flag or dtype.
#[derive(Clone, Debug)]
pub struct Number {
    /// Its type.
    pub ty: HostType,
    /// Its value, if the build knows it.
    pub value: Option<Expr>,
    /// Whether it follows from parameters and metadata alone. Others change from call to call, so
    /// that no branch or size of a graph may depend on them.
    pub stable: bool,
}

impl Number {
    /// A number of which only the type is known.
    pub fn of(ty: HostType, stable: bool) -> Number {
        let ty = match ty {
            // what rustc makes of such a literal is open
            HostType::IntLiteral | HostType::FloatLiteral => HostType::Number,
            ty => ty,
        };
        Number {
            ty,
            value: None,
            stable,
        }
    }
}

/// A local with its name.
#[derive(Clone, Debug)]
pub struct Known {
    /// The name, as it was bound.
    pub ident: Ident,
    /// What it is.
    pub local: Local,
    /// The specs of a parameter that nobody assigned; what is known of the sizes of another tensor.
    pub specs: Vec<Spec>,
    /// The parameter that it is, as written.
    pub param: Option<(Param, TokenStream)>,
    /// The break that gives it, by number.
    pub origin: Option<usize>,
}

impl Known {
    /// How many tensors it holds.
    pub fn tensors(&self) -> usize {
        match &self.local {
            Local::Tensor { .. } => 1,
            Local::Parts(tree) => tree.tensors(),
            Local::Number(_) | Local::Opaque => 0,
        }
    }

    /// How many numbers it holds that the build does not know.
    pub fn numbers(&self) -> usize {
        match &self.local {
            Local::Number(n) => usize::from(n.value.is_none()),
            Local::Parts(tree) => tree.hosts(),
            Local::Tensor { .. } | Local::Opaque => 0,
        }
    }

    /// Whether the caller lends a part of it for assignment.
    fn is_lent(&self) -> bool {
        self.param.as_ref().is_some_and(|(p, _)| p.tree.lends())
    }
}

/// The local that a parameter is.
fn of_tree(tree: &ParamTree) -> Local {
    match tree {
        ParamTree::Tensor(_) => Local::Tensor { refs: 0 },
        ParamTree::Host(ty, _) => Local::Number(Number::of(*ty, true)),
        ParamTree::Reference(_, to) => match of_tree(to) {
            Local::Tensor { refs } => Local::Tensor { refs: refs + 1 },
            Local::Parts(_) => Local::Parts(tree.clone()),
            local => local,
        },
        ParamTree::Tuple(_) | ParamTree::Array(_) | ParamTree::Optional(_) | ParamTree::Opaque => {
            Local::Parts(tree.clone())
        }
        ParamTree::List(..) => Local::Opaque,
    }
}

impl Local {
    /// Its parts, if it is a tuple or an array, as they are behind the references to it.
    pub fn parts(&self) -> Option<Vec<Local>> {
        let Local::Parts(tree) = self else { return None };
        let (mut tree, mut borrowed) = (tree, false);
        while let ParamTree::Reference(_, to) = tree {
            (tree, borrowed) = (to, true);
        }
        let (ParamTree::Tuple(trees) | ParamTree::Array(trees)) = tree else {
            return None;
        };
        let part = |tree| match of_tree(tree) {
            Local::Tensor { refs } => Local::Tensor {
                refs: refs + u8::from(borrowed),
            },
            local => local,
        };
        Some(trees.iter().map(part).collect())
    }
}

/// The locals in reach, innermost last.
#[derive(Clone, Debug, Default)]
pub struct Locals {
    list: Vec<Known>,
    blocks: Vec<usize>,
    /// Whether there is a `self`.
    pub receiver: bool,
}

impl Locals {
    /// Enters a block.
    pub fn enter(&mut self) {
        self.blocks.push(self.list.len());
    }

    /// Leaves it.
    pub fn leave(&mut self) {
        if let Some(n) = self.blocks.pop() {
            self.list.truncate(n);
        }
    }

    /// Binds a name.
    pub fn bind(&mut self, ident: Ident, local: Local) {
        let local = match local {
            Local::Parts(_) => Local::Opaque,
            local => local,
        };
        self.list.push(Known {
            ident,
            local,
            specs: Vec::new(),
            param: None,
            origin: None,
        });
    }

    /// Binds a parameter.
    pub fn bind_param(&mut self, p: &Param, written: TokenStream, specs: &[Spec]) {
        self.list.push(Known {
            ident: p.name.clone(),
            local: of_tree(&p.tree),
            specs: specs.to_vec(),
            param: Some((p.clone(), written)),
            origin: None,
        });
    }

    /// Those of these names that are lent: what they refer to may change wherever they are named.
    pub fn lent(&self, names: &Names) -> Names {
        let lent = |n: &&String| self.get(n).is_some_and(Known::is_lent);
        names.iter().filter(lent).cloned().collect()
    }

    /// A local is what a break gives.
    pub fn stems_from(&mut self, ident: &Ident, origin: usize) {
        if let Some(k) = self.list.iter_mut().rev().find(|k| k.ident == *ident) {
            k.origin = Some(origin);
        }
    }

    /// What a name is, if it is a local.
    pub fn get(&self, name: &str) -> Option<&Known> {
        self.list.iter().rev().find(|k| k.ident == name)
    }

    /// The locals that can be named, in the order in which they were bound.
    pub fn visible(&self) -> impl Iterator<Item = &Known> {
        let later = |i: usize, k: &Known| self.list[i + 1..].iter().any(|o| o.ident == k.ident);
        self.list
            .iter()
            .enumerate()
            .filter(move |(i, k)| !later(*i, k))
            .map(|(_, k)| k)
    }

    /// Some of these names were assigned: their types stay, their values are not known any more.
    pub fn change(&mut self, names: &Names) {
        for k in self
            .list
            .iter_mut()
            .filter(|k| names.contains(&k.ident.to_string()))
        {
            k.specs.clear();
            match &k.local {
                Local::Number(n) => k.local = Local::Number(Number::of(n.ty, false)),
                Local::Parts(tree) if tree.hosts() > 0 => k.local = Local::Opaque,
                _ => {}
            }
        }
    }

    /// What is known of the sizes of the tensor that was bound last.
    pub fn promise(&mut self, spec: &Spec) {
        if let Some(k) = self.list.last_mut()
            && matches!(k.local, Local::Tensor { .. })
        {
            k.specs = vec![spec.clone()];
        }
    }

    /// The sizes of these tensors may be others from here on.
    pub fn forget_sizes(&mut self, names: &Names) {
        let named = |k: &&mut Known| names.contains(&k.ident.to_string());
        self.list.iter_mut().filter(named).for_each(|k| k.specs.clear());
    }

    /// The first of these names that is opaque.
    pub fn opaque<'n>(&self, names: &'n Names) -> Option<&'n String> {
        names
            .iter()
            .find(|n| matches!(self.get(n), Some(k) if matches!(k.local, Local::Opaque)))
    }

    /// The name of a local, as it was bound.
    pub fn ident(&self, name: &str) -> Option<Ident> {
        self.get(name).map(|k| k.ident.clone())
    }

    /// What a local is that a walk bound, given what its form tells.
    pub fn of_seen(seen: Option<&Seen>, form: Local, stable: bool, mutable: bool) -> Local {
        match (seen, form) {
            (Some(Seen::Tensor | Seen::Input), Local::Tensor { refs }) => Local::Tensor { refs },
            // a tensor, but nobody can tell whether it is borrowed
            (Some(Seen::Tensor | Seen::Input), _) => Local::Tensor { refs: 1 },
            (Some(Seen::Number(e)), _) => Local::Number(match e.is_closed() && !mutable {
                true => Number {
                    ty: e.host_type(),
                    value: Some(e.clone()),
                    stable: true,
                },
                false => Number::of(e.host_type(), stable),
            }),
            _ => Local::Opaque,
        }
    }
}
