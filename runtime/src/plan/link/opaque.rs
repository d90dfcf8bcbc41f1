//! Calls of regions that have a backend of their own.
//!
//! They are not linked into their caller: the caller's graph keeps one node for each, with the types of its results. The
//! region's graph is linked for itself, closed over the numbers of the call, and compiled when it runs first.

use super::Callable;
use crate::{Error, Result, Tensor};
use std::sync::Arc;
use tensorplay_graph::{GraphModule, TensorType};

/// A call that runs on a backend of its own.
#[derive(Debug)]
pub(crate) struct Opaque {
    pub callable: &'static dyn Callable,
    pub graph: Arc<GraphModule>,
    pub results: Vec<TensorType>,
}

impl Opaque {
    /// Runs the region on dense tensors.
    ///
    /// # Errors
    /// What its backend reports, or results of other types than the shape rules say.
    pub(crate) fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let inputs = inputs
            .iter()
            .map(Tensor::to_contiguous)
            .collect::<Result<Vec<_>>>()?;
        let results = self.callable.run_on_own(&self.graph, &inputs)?;
        let fits = |(t, ty): (&Tensor, &TensorType)| {
            ty.dtype.is_none_or(|d| d == t.dtype()) && ty.sizes().is_none_or(|s| s == t.shape())
        };
        if results.len() != self.results.len() || !results.iter().zip(&self.results).all(fits) {
            let shown = |l: Vec<TensorType>| {
                let each = l.iter().map(|t| t.display(&[]).to_string());
                each.collect::<Vec<_>>().join(", ")
            };
            let got = results.iter().map(|t| TensorType::known(t.dtype(), t.shape()));
            return Err(Error::BackendCompilerFailed {
                backend: self.callable.declared().backend.unwrap_or_default().into(),
                function: self.callable.name().into(),
                node: None,
                source: Box::new(Error::msg(format!(
                    "it gave ({}), the graph gives ({})",
                    shown(got.collect()),
                    shown(self.results.clone())
                ))),
            });
        }
        Ok(results)
    }
}
