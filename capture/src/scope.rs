//! `Scope`: the locals in reach, innermost last.

use crate::kind::Kind;

/// The locals in reach. A later binding of a name shadows an earlier one.
#[derive(Debug, Default)]
pub struct Scope {
    locals: Vec<(String, Kind)>,
    blocks: Vec<usize>,
    closures: Vec<Closure>,
    /// The positions of locals that were assigned.
    assigned: Vec<usize>,
}

/// A closure whose body is being walked.
#[derive(Debug)]
struct Closure {
    /// Its first local.
    first: usize,
    assigns: bool,
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

    /// How many locals there are.
    pub fn len(&self) -> usize {
        self.locals.len()
    }

    /// The locals that were bound from position `first` on, the last of each name.
    pub fn bound_since(&self, first: usize) -> Vec<(&str, &Kind)> {
        let new = self.locals.get(first..).unwrap_or_default();
        let last = |i: usize, name: &str| !new[i + 1..].iter().any(|(n, _)| n == name);
        let names = new.iter().enumerate().filter(|(i, (n, _))| last(*i, n));
        names.map(|(_, (n, k))| (n.as_str(), k)).collect()
    }

    /// The locals before position `first` that were assigned, in the order of their binding.
    pub fn assigned_before(&self, first: usize) -> Vec<(&str, &Kind)> {
        let old = self.locals.iter().enumerate().take(first);
        let assigned = old.filter(|(i, _)| self.assigned.contains(i));
        assigned.map(|(_, (n, k))| (n.as_str(), k)).collect()
    }

    /// What a local before position `first` is.
    pub fn before(&self, first: usize, name: &str) -> Option<&Kind> {
        let old = self.locals.get(..first).unwrap_or_default();
        old.iter().rev().find(|(n, _)| n == name).map(|(_, k)| k)
    }

    /// Enters the body of a closure.
    pub fn enter_closure(&mut self) {
        self.enter();
        self.closures.push(Closure {
            first: self.locals.len(),
            assigns: false,
        });
    }

    /// Leaves it; whether it assigns to a local from outside, which is unknown from there on.
    pub fn leave_closure(&mut self) -> bool {
        self.leave();
        self.closures.pop().is_some_and(|c| c.assigns)
    }

    /// Records an assignment to a place outside of every closure; whether it stands in one.
    pub fn assigns_outside(&mut self) -> bool {
        self.closures.iter_mut().for_each(|c| c.assigns = true);
        !self.closures.is_empty()
    }

    /// Changes the local of that name, if there is one.
    pub fn assign(&mut self, name: &str, kind: Kind) -> bool {
        let Some(at) = self.locals.iter().rposition(|(n, _)| n == name) else {
            return false;
        };
        self.assigned.push(at);
        let outside = self.closures.iter_mut().filter(|c| at < c.first);
        let outside = outside.map(|c| c.assigns = true).count() > 0;
        self.locals[at].1 = if outside { Kind::Unknown } else { kind };
        true
    }
}
