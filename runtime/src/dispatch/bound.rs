//! A plan in the table: what a call runs, and what it does with the results.

use super::counters;
use super::foreign::Foreign;
use super::key::Key;
use super::tally::Tally;
use crate::backend::Codegen;
use crate::plan::link::Locations;
use crate::plan::{Plan, Results};
use crate::{Error, Result, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tensorplay_graph::{GraphModule, Host, Write};
use tensorplay_stax::blob::Blob;

/// What a call of an entry runs.
#[derive(Debug)]
pub(super) enum Exec {
    Plan(Plan),
    Foreign(Foreign),
}

/// A plan in the table.
#[derive(Debug)]
pub(super) struct Bound {
    pub key: Key,
    pub path: usize,
    pub exec: Exec,
    /// The path, with its callees in it if it gives variables or `&mut` parameters new values.
    pub blob: BoundBlob,
    /// Those of the graph that was bound.
    pub locations: Locations<'static>,
    /// How many tensors each result of the path is, if some are lists.
    pub lengths: Vec<u32>,
    pub entry: u64,
    pub tally: Arc<Tally>,
    /// The mark of its last use.
    pub seen: AtomicU64,
}

#[derive(Debug)]
pub(super) enum BoundBlob {
    Own(&'static Blob),
    Linked(Arc<Blob>),
}

impl Bound {
    fn module(&self) -> &GraphModule {
        match (&self.exec, &self.blob) {
            (Exec::Foreign(f), _) => f.module(),
            (_, BoundBlob::Own(blob)) => &blob.module,
            (_, BoundBlob::Linked(blob)) => &blob.module,
        }
    }

    /// The plan, if the built-in compiler made it.
    pub(super) fn plan(&self) -> Option<&Plan> {
        match &self.exec {
            Exec::Plan(plan) => Some(plan),
            Exec::Foreign(_) => None,
        }
    }

    /// What runs, if another backend made it.
    pub(super) fn codegen(&self) -> Option<Codegen> {
        match &self.exec {
            Exec::Plan(_) => None,
            Exec::Foreign(f) => Some(f.codegen()),
        }
    }

    /// The places that it leaves new values in, in the order of the inputs.
    pub fn writes(&self) -> &[Write] {
        &self.module().writes
    }

    /// Whether one must know what ran to tell its results apart.
    pub(super) fn tells_results_apart(&self) -> bool {
        !self.lengths.is_empty() || !self.writes().is_empty()
    }

    #[inline]
    pub(super) fn run(&self, tensors: &[&Tensor], scalars: &[Host]) -> Result<Results> {
        self.tally.runs.add(1);
        let plan = match &self.exec {
            Exec::Plan(plan) => plan,
            Exec::Foreign(foreign) => return foreign.run(tensors, scalars),
        };
        let c = &plan.counts;
        counters::EMITTED.add(c.emitted);
        if c.tile > 0 {
            counters::TILE.add(c.tile);
        }
        let module = self.module();
        if !plan.reuses.is_empty() {
            // SAFETY: a path assigns nothing but `&mut` parameters of the function that calls this.
            unsafe { plan.run_lent(tensors, scalars) }
        } else if module.updates.is_empty() {
            plan.run(tensors, scalars)
        } else {
            let updated = updated(module, |i| tensors[i])?;
            plan.run(tensors, scalars)
                .and_then(|results| publish(module, &updated, results))
        }
        .map_err(|e| self.located(e))
    }

    #[cold]
    fn located(&self, e: Error) -> Error {
        e.located(|at| self.locations.place(at))
    }
}

/// The variables among the inputs of a graph that it gives new values.
pub(super) fn updated<'t>(
    module: &GraphModule,
    input: impl Fn(usize) -> &'t Tensor,
) -> Result<SmallVec<[&'t Tensor; 4]>> {
    let of = |&i: &u32| {
        let t = input(i as usize);
        if t.is_variable() {
            return Ok(t);
        }
        let name = &module.graph.node(module.graph.inputs[i as usize]).name;
        let message = format!("`{name}` is not a variable, so it cannot be updated");
        Err(Error::value("call", message).with_help("make it one with variable()"))
    };
    let updated: SmallVec<[&Tensor; 4]> = module.updates.iter().map(of).collect::<Result<_>>()?;
    let mut addresses: SmallVec<[usize; 8]> = updated.iter().map(|t| t.address()).collect();
    addresses.sort_unstable();
    if addresses.windows(2).any(|pair| pair[0] == pair[1]) {
        let message = "one variable is passed twice, and given two new values";
        return Err(Error::value("call", message).with_help("pass a variable of its own for each"));
    }
    Ok(updated)
}

/// Gives variables their new values, which stand behind what is returned; what is left is the function's own.
#[cold]
pub(super) fn publish(module: &GraphModule, updated: &[&Tensor], mut results: Results) -> Result<Results> {
    let returned = module.returned();
    for (t, new) in updated.iter().zip(&results[returned..]) {
        t.try_assign(new)?;
    }
    results.drain(returned..returned + updated.len());
    Ok(results)
}
