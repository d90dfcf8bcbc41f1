//! Replacement of the matches of a pattern.

use super::pattern::{Match, Pattern, leaks};
use super::replace::as_node;
use super::{Edit, EditError};
use crate::{Expr, GraphModule, NodeId, Value};
use std::collections::{HashMap, HashSet};

impl Edit<'_> {
    /// Replaces every match of a pattern, and returns how many there were.
    ///
    /// * An input of the pattern stands for any value, the same one wherever it is used; with a spec, for those that are
    ///   surely of that type. A scalar stands for any host value of its type.
    /// * Operations and all other host arguments are equal, floats bit for bit, and in the same order.
    /// * Values inside a match that are no output of the pattern are not used outside of it.
    /// * Matches do not overlap: the first in order counts. What replaces one is not matched again; call it again for that.
    ///   Regions are not entered.
    ///
    /// The replacement takes the inputs and scalars of the pattern in order, and gives its outputs. Its nodes have the place
    /// in the source of the pattern's first output, and the nodes of its outputs have the names of those they stand for.
    ///
    /// Takes time linear in the sizes of graph and pattern for patterns of one output; further outputs are looked for
    /// among the users of what is matched.
    ///
    /// # Errors
    /// A pattern that cannot be looked for, or a replacement that does not fit it or breaks a rule where it is put;
    /// nothing is changed then.
    pub fn replace_pattern(
        &mut self,
        pattern: &GraphModule,
        replacement: &GraphModule,
    ) -> Result<usize, EditError> {
        let pattern = Pattern::new(pattern)?;
        fitting(pattern.module, replacement)?;
        let matches = self.matches(&pattern);
        if matches.is_empty() {
            return Ok(0);
        }
        let before = self.snapshot();
        let mut moved = HashMap::new();
        let mut replaced = 0;
        for found in &matches {
            match self.put(&pattern, found, replacement, &mut moved) {
                Ok(done) => replaced += usize::from(done),
                Err(e) => {
                    self.restore_snapshot(before);
                    return Err(e);
                }
            }
        }
        Ok(replaced)
    }

    fn matches(&self, pattern: &Pattern<'_>) -> Vec<Match> {
        let op = pattern.module.graph.node(pattern.anchor).op();
        let mut taken = HashSet::new();
        let mut matches = Vec::new();
        for id in self.ids() {
            if self.work.graph.node(id).op() != op {
                continue;
            }
            let Some(found) = pattern.matched(self, id) else {
                continue;
            };
            let calls = found.calls(pattern.module);
            if calls.is_disjoint(&taken) && self.place_of(pattern, &found, &calls, &HashMap::new()).is_some()
            {
                taken.extend(calls);
                matches.push(found);
            }
        }
        matches
    }

    /// The node in front of which a replacement goes: behind all that it uses and in front of all that use it. `None` if
    /// there is no such place, or if a value inside the match is used outside.
    fn place_of(
        &self,
        pattern: &Pattern<'_>,
        found: &Match,
        calls: &HashSet<NodeId>,
        moved: &HashMap<Value, Value>,
    ) -> Option<NodeId> {
        let label = |n: &NodeId| self.order.label(n.0);
        let outputs = found.outputs(pattern)?;
        let mut place = calls.iter().copied().max_by_key(label)?;
        for &call in calls {
            for &user in self.users.get(call) {
                if leaks(&self.work.graph, user, call, calls, &outputs) {
                    return None;
                }
                if let Some(n) = as_node(user).filter(|n| !calls.contains(n))
                    && label(&n) < label(&place)
                {
                    place = n;
                }
            }
        }
        let mut fits = true;
        let mut check = |v: Value| {
            let v = resolve(moved, v);
            fits &= !calls.contains(&v.node) && label(&v.node) < label(&place);
        };
        found.inputs(pattern)?.into_iter().for_each(&mut check);
        found.scalars.values().for_each(|e| e.values(&mut check));
        fits.then_some(place)
    }

    /// Puts the replacement in the place of a match, unless an earlier one has left no place for it.
    fn put(
        &mut self,
        pattern: &Pattern<'_>,
        found: &Match,
        replacement: &GraphModule,
        moved: &mut HashMap<Value, Value>,
    ) -> Result<bool, EditError> {
        let calls = found.calls(pattern.module);
        let place = self.place_of(pattern, found, &calls, moved);
        let (Some(place), Some(inputs), Some(outputs)) =
            (place, found.inputs(pattern), found.outputs(pattern))
        else {
            return Ok(false);
        };
        let inputs: Vec<Value> = inputs.into_iter().map(|v| resolve(moved, v)).collect();
        let scalars = found.bound_scalars(pattern.module, moved);
        let first = self.work.graph.node(outputs[0].node);
        let (location, interior) = (first.location, first.interior);
        let copied = self.copy_nodes(Some(place), replacement, &inputs, &scalars, &mut |_, node| {
            node.location = location;
            node.interior |= interior;
            node.name.clear();
        })?;
        for (&old, &new) in outputs.iter().zip(&copied.outputs) {
            self.replace_uses(old, new, |user| as_node(user).is_none_or(|n| !calls.contains(&n)))?;
            moved.insert(old, new);
            let name = std::mem::take(&mut self.work.graph.nodes[old.node.index()].name);
            let node = &mut self.work.graph.nodes[new.node.index()];
            if node.name.is_empty() && !inputs.contains(&new) {
                node.name = name;
            }
        }
        let mut calls: Vec<NodeId> = calls.into_iter().collect();
        calls.sort_by_key(|n| std::cmp::Reverse(self.order.label(n.0)));
        calls.into_iter().try_for_each(|n| self.erase(n))?;
        Ok(true)
    }
}

impl Match {
    fn outputs(&self, pattern: &Pattern<'_>) -> Option<Vec<Value>> {
        let outputs = pattern.module.graph.outputs.iter();
        outputs.map(|v| self.value(pattern.module, *v)).collect()
    }

    fn inputs(&self, pattern: &Pattern<'_>) -> Option<Vec<Value>> {
        let inputs = pattern.module.graph.inputs.iter();
        inputs.map(|n| self.value(pattern.module, (*n).into())).collect()
    }

    /// What stands for the scalars: a literal takes the type of the scalar.
    fn bound_scalars(&self, pattern: &GraphModule, moved: &HashMap<Value, Value>) -> Vec<Expr> {
        let bound = (0..).zip(&pattern.scalars).map(|(i, scalar)| {
            let mut e = match self.scalars.get(&i) {
                Some(e) => e.clone(),
                None => Expr::Param(i, scalar.ty),
            };
            e.map_values(&mut |v| resolve(moved, v));
            if e.host_type() == scalar.ty {
                e
            } else {
                Expr::Cast(scalar.ty, Box::new(e))
            }
        });
        bound.collect()
    }
}

fn resolve(moved: &HashMap<Value, Value>, mut v: Value) -> Value {
    while let Some(next) = moved.get(&v) {
        v = *next;
    }
    v
}

/// Whether a replacement takes what a pattern takes, and gives what it gives.
fn fitting(pattern: &GraphModule, replacement: &GraphModule) -> Result<(), EditError> {
    crate::verify(replacement).map_err(EditError::Invalid)?;
    let types = |m: &GraphModule| m.scalars.iter().map(|s| s.ty).collect::<Vec<_>>();
    if pattern.graph.inputs.len() != replacement.graph.inputs.len() || types(pattern) != types(replacement) {
        let what = "a replacement has the inputs and scalars of its pattern; add those that it does not use";
        return Err(EditError::Pattern(what));
    }
    if pattern.graph.outputs.len() != replacement.graph.outputs.len() {
        let what = "a replacement has as many outputs as its pattern; return one for each";
        return Err(EditError::Pattern(what));
    }
    if !replacement.graph.guards.is_empty() || !replacement.aggregates.is_empty() {
        return Err(EditError::Pattern(
            "a replacement holds anywhere; write it without guards and structs",
        ));
    }
    Ok(())
}
