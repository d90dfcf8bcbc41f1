//! Calls that are bound and run beside the table: for measuring, `bisect` and self tests.

use super::function::{Function, HostArg};
use super::how::how;
use super::key::Key;
use super::native;
use super::state::State;
use crate::backend::registry::STAX;
use crate::plan::bind::{How, Meta, bind};
use crate::plan::link::{Linked, link};
use crate::{Error, Result, Tensor};
use smallvec::SmallVec;
use tensorplay_graph::{GraphModule, Host, Value};
use tensorplay_stax::blob::Blob;

impl Function {
    /// Binds the call anew, as a miss does, and forgets the plan.
    #[doc(hidden)]
    pub fn rebind(&'static self, tensors: &[&Tensor], scalars: &[HostArg]) -> Result<()> {
        let state = self.state()?;
        let mut space = SmallVec::new();
        let (scalars, _) = state.scalars(scalars, &mut space);
        std::hint::black_box(native::prepare(state, tensors, scalars, (0, 0), false)?);
        Ok(())
    }
}

/// The graph of a call as it was written, and its inputs.
pub(crate) fn written(
    function: &'static Function,
    tensors: &[Tensor],
    scalars: &[HostArg],
) -> Result<(GraphModule, Vec<Tensor>)> {
    let state = function.state()?;
    let mut space = SmallVec::new();
    let (scalars, _) = state.scalars(scalars, &mut space);
    let tensors: Vec<&Tensor> = tensors.iter().collect();
    super::foreign::written(state, &tensors, scalars)
}

/// A call that can be run with some of its groups fused.
pub(crate) struct Rehearsal {
    linked: Linked<'static>,
    tensors: Vec<Tensor>,
    metas: Vec<Meta>,
    scalars: SmallVec<[Host; 4]>,
    known: Vec<Option<Host>>,
    how: How,
}

/// Links a call for the built-in compiler.
pub(crate) fn rehearsal(
    function: &'static Function,
    tensors: &[Tensor],
    scalars: &[HostArg],
) -> Result<Rehearsal> {
    let state: &'static State = function.state()?;
    let mut space = SmallVec::new();
    let (scalars, _) = state.scalars(scalars, &mut space);
    let metas: Vec<Meta> = tensors.iter().map(Meta::of).collect();
    let borrowed: Vec<&Tensor> = tensors.iter().collect();
    let key = Key::of(&borrowed, scalars, &state.key_params, (0, 0));
    Ok(Rehearsal {
        linked: link(state, &metas, scalars, STAX)?,
        tensors: tensors.to_vec(),
        metas,
        known: key.scalars.to_vec(),
        scalars: scalars.into(),
        how: how(&function.compile_options(), function.path())?,
    })
}

impl Rehearsal {
    pub(crate) fn blob(&self) -> &Blob {
        &self.linked.blob
    }

    /// The results with the first `fused` units of the schedule fused; or one value of the graph.
    pub(crate) fn run(&self, fused: u32, value: Option<Value>) -> Result<Vec<Tensor>> {
        let how = How {
            fused: fused.min(self.how.fused),
            ..self.how
        };
        let own;
        let blob = match value {
            None => self.blob(),
            Some(v) => {
                let mut part = self.blob().clone();
                part.module.graph.outputs = vec![v];
                part.module.updates.clear();
                part.module.writes.clear();
                part.module.output_specs.clear();
                own = part;
                &own
            }
        };
        let strips = &self.linked.strips;
        let plan = bind(blob, strips, &self.metas, &self.known, Some(&self.scalars), how)?;
        let tensors: Vec<&Tensor> = self.tensors.iter().collect();
        if tensors.len() != plan.inputs {
            return Err(Error::msg("a call has another number of tensors than its plan"));
        }
        Ok(plan.run(&tensors, &self.scalars)?.into_vec())
    }
}
