//! `tensorplay::graph`: graphs as values, and what runs them on tensors.

use crate::plan::bind::{Kernels, Meta, bind, check_written};
use crate::plan::link::Strips;
use crate::{Error, Result, Tensor};
pub use tensorplay_graph::{
    Arg, Builder, Code, Dim, EvalArg, Expr, Graph, GraphModule, Host, HostType, Interpreter, Location, Node,
    NodeId, NodeKind, Op, OpError, ParseError, Shape, Symbol, TensorType, Transformer, Value, VerifyError,
    op, passes, verify,
};
use tensorplay_graph::{Scalar, ScalarInput};

/// Runs graphs on tensors.
pub trait Run {
    /// The results for `inputs`: the tensor parameters in order, then the scalars as tensors of one element.
    ///
    /// ```
    /// # mod tensorplay {
    /// #     pub mod prelude { pub use tensorplay_runtime::{Tensor, graph_api::Run}; }
    /// #     pub use tensorplay_runtime::graph_api as graph;
    /// # }
    /// use tensorplay::{graph::GraphModule, prelude::*};
    /// let g: GraphModule = "graph double(x: _[..]) { %1 = add(%0, %0) return %1 }".parse()?;
    /// let y = g.run(&[Tensor::from_slice(&[1.0f32, 2.0], 2)])?;
    /// assert_eq!(y[0].to_vec::<f32>(), [2.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A broken rule or spec, or another number of inputs than the graph takes.
    fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>>;
}

impl Run for GraphModule {
    fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let (tensors, scalars) = (self.graph.inputs.len(), self.scalars.len());
        if inputs.len() != tensors + scalars {
            return Err(Error::msg(format!(
                "graph `{}` takes {tensors} tensors and {scalars} scalars, got {} inputs",
                self.name,
                inputs.len()
            )));
        }
        let hosts: Vec<Host> = self
            .scalars
            .iter()
            .zip(&inputs[tensors..])
            .map(|(s, t)| host(s, t))
            .collect::<Result<_>>()?;
        let blob = tensorplay_stax::analyse(self).map_err(|e| Error::GraphCapture(e.to_string()))?;
        let inputs: Vec<&Tensor> = inputs[..tensors].iter().collect();
        let metas: Vec<Meta> = inputs.iter().map(|t| Meta::of(t)).collect();
        let known: Vec<Option<Host>> = hosts.iter().copied().map(Some).collect();
        check_written(&blob.written, &metas, &hosts)?;
        let plan = bind(
            &blob,
            &Strips::One(&[]),
            &metas,
            &known,
            Some(&hosts),
            Kernels::Tile,
        )?;
        Ok(plan.run(&inputs, &hosts)?.into_vec())
    }
}

fn host(s: &ScalarInput, t: &Tensor) -> Result<Host> {
    let float = match s.ty {
        HostType::F32 | HostType::F64 | HostType::FloatLiteral => true,
        HostType::Number => t.dtype().is_float(),
        _ => false,
    };
    Ok(match s.ty {
        _ if float => Host::Float(t.try_to_dtype(crate::DType::F64)?.try_item::<f64>()?),
        HostType::Bool => Scalar::Bool(t.try_to_dtype(crate::DType::Bool)?.try_item::<bool>()?).into(),
        _ => Host::Int(t.try_to_dtype(crate::DType::I64)?.try_item::<i64>()?),
    })
}
