//! Which path of a function a call takes.

use crate::plan::bind::{Meta, PathTypes};
use crate::{Error, Result};
use tensorplay_graph::{Demand, Host, HostError, TensorType};
use tensorplay_stax::blob::Blob;

/// The first path whose guards hold. Paths are complete, so that the last one needs no questions only if there is no other.
pub(super) fn select(paths: &[Blob], inputs: &[Meta], scalars: &[Host]) -> Result<usize> {
    if let [only] = paths
        && only.written.guards.is_empty()
    {
        return Ok(0);
    }
    for (i, blob) in paths.iter().enumerate() {
        if holds(blob, inputs, scalars)? {
            return Ok(i);
        }
    }
    Err(Error::msg(
        "no path of a compiled function fits the call; this is a bug, please report it",
    ))
}

fn holds(blob: &Blob, inputs: &[Meta], scalars: &[Host]) -> Result<bool> {
    let types = inputs.iter().map(|m| TensorType::known(m.dtype, &m.shape));
    let mut demand = Demand::new(&blob.written, types.collect(), scalars);
    let mut rules = PathTypes::new(blob, scalars);
    for guard in &blob.written.guards {
        match demand.host(&mut rules, guard).map_err(PathTypes::error)? {
            Ok(Host::Bool(true)) => {}
            Ok(_) => return Ok(false),
            Err(HostError::Failed(message)) => return Err(Error::value("branch", message)),
            Err(HostError::Unknown) => {
                let message =
                    format!("the condition `{guard}` reads a size that is not known when the call is bound");
                return Err(Error::value("branch", message).with_help(
                    "branch on metadata of tensors whose shapes follow from those of the parameters",
                ));
            }
        }
    }
    Ok(true)
}
