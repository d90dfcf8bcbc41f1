//! `Locals`: what the locals in reach are, between the statements of a function that is not captured whole.
//!
//! Problem: a segment begins in the middle of a function, and macros see no types. Method: the static type of a local
//! never changes, so what it is follows from the form of its first value: an operation makes a tensor, `item::<f32>()`
//! an `f32`. Invariant: a local of which that is not certain is opaque, and what uses it stays Rust.

use super::names::Names;
use crate::parameter::{Param, ParamKind};
use crate::spec::Spec;
use crate::walk::Seen;
use proc_macro2::Ident;
use syn::Type;
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
    /// The spec of a parameter that nobody assigned.
    pub spec: Option<Spec>,
    /// The type of a parameter, as written.
    pub written: Option<Type>,
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
        self.list.push(Known {
            ident,
            local,
            spec: None,
            written: None,
        });
    }

    /// Binds a parameter.
    pub fn bind_param(&mut self, p: &Param, spec: Option<&Spec>) {
        let local = match p.kind {
            ParamKind::Tensor { reference } => Local::Tensor {
                refs: u8::from(reference),
            },
            ParamKind::Host(ty) => Local::Number(Number::of(ty, true)),
        };
        self.list.push(Known {
            ident: p.name.clone(),
            local,
            spec: spec.cloned(),
            written: Some(p.ty.clone()),
        });
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
            k.spec = None;
            if let Local::Number(n) = &k.local {
                k.local = Local::Number(Number::of(n.ty, false));
            }
        }
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
            (Some(Seen::Number(e)), _) => Local::Number(match closed(e) && !mutable {
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

/// Whether an expression reads nothing.
fn closed(e: &Expr) -> bool {
    match e {
        Expr::Literal(_) => true,
        Expr::Cast(_, a) | Expr::Unary(_, a) => closed(a),
        Expr::Binary(_, a, b) => closed(a) && closed(b),
        _ => false,
    }
}
