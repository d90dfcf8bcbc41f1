//! `Scope`: the locals in reach, innermost last.

use crate::kind::Kind;
use tensorplay_graph::NodeId;

/// The locals in reach. A later binding of a name shadows an earlier one.
#[derive(Debug, Default)]
pub struct Scope {
    locals: Vec<(String, Kind)>,
    blocks: Vec<usize>,
}

impl Scope {
    /// Enters a block.
    pub fn enter(&mut self) {
        self.blocks.push(self.locals.len());
    }

    /// Leaves it; its locals are gone.
    pub fn leave(&mut self) {
        if let Some(n) = self.blocks.pop() {
            self.locals.truncate(n);
        }
    }

    /// Binds a name.
    pub fn bind(&mut self, name: impl Into<String>, kind: Kind) {
        self.locals.push((name.into(), kind));
    }

    /// What a name is, if it is a local.
    pub fn get(&self, name: &str) -> Option<&Kind> {
        self.locals.iter().rev().find(|(n, _)| n == name).map(|(_, k)| k)
    }

    /// Whether a local in reach is a value of a node from `first` on; those locals are unknown from here on.
    pub fn mentions(&mut self, first: NodeId) -> bool {
        let mut found = false;
        for (_, kind) in &mut self.locals {
            if kind.mentions(first) {
                found = true;
                *kind = Kind::Unknown;
            }
        }
        found
    }

    /// Changes the local of that name, if there is one.
    pub fn assign(&mut self, name: &str, kind: Kind) -> bool {
        match self.locals.iter_mut().rev().find(|(n, _)| n == name) {
            Some((_, k)) => {
                *k = kind;
                true
            }
            None => false,
        }
    }
}
