//! Steps that run graphs inside a graph: one of two branches, or a body while a condition holds.

use super::link::Opaque;
use super::op::Dense;
use super::{Place, Plan, Results};
use crate::tensor::copy::strided_copy;
use crate::{Error, Result, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;
use tensorplay_graph::{GraphModule, Host};

/// What a step with regions does.
#[derive(Debug)]
pub(crate) enum Control {
    /// `pred` chooses one of two plans; both take all inputs.
    Cond { pred: Place, yes: Plan, no: Plan },
    /// The first inputs are carried; `pred` and `body` take them, then the others.
    While { carried: usize, pred: Plan, body: Plan },
    /// A function with a backend of its own.
    Call(Arc<Opaque>),
}

/// A graph of which there are only the file and the locations.
#[derive(Debug)]
pub(crate) struct OwnLocations(GraphModule);

impl OwnLocations {
    pub(crate) fn of(graph: &GraphModule) -> OwnLocations {
        OwnLocations(GraphModule {
            file: graph.file.clone(),
            locations: graph.locations.clone(),
            ..GraphModule::default()
        })
    }
}

#[derive(Debug)]
pub(crate) struct RegionStep {
    pub control: Control,
    pub inputs: Vec<Place>,
    pub outputs: SmallVec<[Dense; 2]>,
    /// Where it is, among the locations of the graph.
    pub place: u32,
    /// The locations of the two graphs inside, where these are not those of the graph around them.
    pub own_locations: Option<Box<[OwnLocations; 2]>>,
}

impl RegionStep {
    /// What is read.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Place> {
        let pred = match &self.control {
            Control::Cond { pred, .. } => Some(pred),
            Control::While { .. } | Control::Call(_) => None,
        };
        self.inputs.iter().chain(pred)
    }

    /// What is read, and then written, by base.
    pub(crate) fn bases_mut(&mut self) -> impl Iterator<Item = &mut u32> {
        let pred = match &mut self.control {
            Control::Cond { pred, .. } => Some(pred),
            Control::While { .. } | Control::Call(_) => None,
        };
        let read = self.inputs.iter_mut().chain(pred).map(|p| &mut p.base);
        read.chain(self.outputs.iter_mut().map(|d| &mut d.at.base))
    }

    /// An error of one of the graphs inside.
    fn inside(&self, which: usize, e: Error) -> Error {
        match &self.own_locations {
            Some(own) => e.located(|at| own[which].0.place(at)),
            None => e,
        }
    }

    /// Runs the regions on tensors; `pred` is the value of a condition.
    fn results(&self, inputs: Vec<Tensor>, pred: bool, scalars: &[Host]) -> Result<Results> {
        match &self.control {
            Control::Cond { yes, no, .. } => {
                let (which, plan) = if pred { (0, yes) } else { (1, no) };
                let inputs: SmallVec<[&Tensor; 8]> = inputs.iter().collect();
                plan.run(&inputs, scalars).map_err(|e| self.inside(which, e))
            }
            Control::Call(call) => Ok(call.run(&inputs)?.into()),
            Control::While { carried, pred, body } => {
                let mut values = inputs;
                loop {
                    let all: SmallVec<[&Tensor; 8]> = values.iter().collect();
                    let holds = pred.run(&all, scalars).map_err(|e| self.inside(0, e))?.pop();
                    let holds = holds.ok_or_else(|| Error::msg("while_loop: no condition"))?;
                    if !holds.try_item::<bool>()? {
                        break;
                    }
                    let next = body.run(&all, scalars).map_err(|e| self.inside(1, e))?;
                    drop(all);
                    for (value, new) in values.iter_mut().zip(next) {
                        *value = new.to_contiguous()?;
                    }
                }
                values.truncate(*carried);
                Ok(values.into_iter().collect())
            }
        }
    }

    /// Runs the step: `tensor` gives the tensor at a place, `at` the memory of a base.
    ///
    /// # Errors
    /// What the regions return.
    ///
    /// # Safety
    /// Places and outputs are those that the step was bound to; outputs are writable and overlap nothing.
    pub(crate) unsafe fn run(
        &self,
        tensor: impl Fn(&Place) -> Result<Tensor>,
        at: impl Fn(super::Ref) -> *mut u8,
        scalars: &[Host],
    ) -> Result<()> {
        let pred = match &self.control {
            // SAFETY: a condition is one readable Bool.
            Control::Cond { pred, .. } => unsafe { *at(pred.at()) != 0 },
            Control::While { .. } | Control::Call(_) => true,
        };
        let inputs = self.inputs.iter().map(tensor).collect::<Result<Vec<_>>>()?;
        let results = self.results(inputs, pred, scalars);
        let results = results.map_err(|e| e.placed(self.place))?;
        for (to, t) in self.outputs.iter().zip(&results) {
            if t.dtype() != to.dtype || t.shape() != &to.shape[..] {
                return Err(Error::msg("a region gives another tensor than it was bound to"));
            }
            let strides = crate::layout::Layout::contiguous(&to.shape)?;
            // SAFETY: the output was bound to this shape; the result is a tensor of its own.
            unsafe {
                strided_copy(
                    to.dtype.size(),
                    &to.shape,
                    t.value().data_ptr(),
                    t.strides(),
                    at(to.at),
                    strides.strides(),
                );
            }
        }
        Ok(())
    }
}
