//! `Interpreter`: a graph on tensors, operation by operation.

use super::eval::Eval;
use crate::{DType, Error, Result, Tensor};
use tensorplay_graph::{
    Arg, EvalArg, EvalError, Expr, GraphModule, Host, HostError, HostType, Meta, Node, NodeId, Op, Scalar,
    ScalarInput,
};

impl Meta for Tensor {
    fn dtype(&self) -> Option<DType> {
        Some(Tensor::dtype(self))
    }
    fn rank(&self) -> Option<usize> {
        Some(Tensor::rank(self))
    }
    fn dim(&self, axis: usize) -> Option<usize> {
        self.shape().get(axis).copied()
    }
}

/// Runs graphs on tensors, call by call. What is not overridden is the eager operation.
///
/// ```
/// # mod tensorplay {
/// #     pub mod prelude { pub use tensorplay_runtime::{Tensor, Result, graph_api::Eval}; }
/// #     pub use tensorplay_runtime::graph_api as graph;
/// # }
/// use tensorplay::{graph::{GraphModule, Interpreter, Node}, prelude::*};
///
/// /// Counts what it runs.
/// struct Counter(usize);
///
/// impl Interpreter for Counter {
///     fn call_op(&mut self, node: &Node, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
///         self.0 += 1;
///         node.eval(inputs)
///     }
/// }
///
/// let g: GraphModule = "graph f(x: _[..]) { %1 = relu(%0) %2 = add(%1, %1) return %2 }".parse()?;
/// let mut counter = Counter(0);
/// let y = counter.run(&g, &[Tensor::from_slice(&[-1.0f32, 2.0], 2)])?;
/// assert_eq!((y[0].to_vec::<f32>(), counter.0), (vec![0.0, 4.0], 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Interpreter {
    /// Performs one operation on its tensor arguments in order; the numbers among the node's arguments are literals.
    ///
    /// # Errors
    /// Ends the run.
    fn call_op(&mut self, node: &Node, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        node.eval(inputs)
    }

    /// The results for `inputs`: the tensor parameters in order, then the scalars as tensors of one element.
    ///
    /// # Errors
    /// The first error of an operation, a broken spec, or another number of inputs than the graph takes.
    fn run(&mut self, graph: &GraphModule, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let (inputs, hosts) = parted(graph, inputs)?;
        let mut specs = crate::plan::spec::Binding::new(graph);
        for (i, t) in inputs.iter().enumerate() {
            if let Some(Some(spec)) = graph.specs.get(i) {
                specs.check(
                    &graph.graph.node(graph.graph.inputs[i]).name,
                    spec,
                    t.dtype(),
                    t.shape(),
                )?;
            }
        }
        let mut walk = Walk {
            interpreter: self,
            module: graph,
            places: graph,
            of_root: true,
            scalars: &hosts,
        };
        // what a graph hands through is a value, not the caller's variable
        let inputs = inputs.iter().map(Tensor::snapshot).collect();
        let outputs = tensorplay_graph::Interpreter::run(&mut walk, &graph.graph, inputs, &hosts);
        let outputs = outputs.map_err(|stop| walk.error(stop))?;
        for (i, t) in outputs.iter().enumerate() {
            if let Some(Some(spec)) = graph.output_specs.get(i) {
                specs.check("return", spec, t.dtype(), t.shape())?;
            }
        }
        Ok(outputs)
    }
}

/// Runs graphs on tensors.
pub trait Run {
    /// The results for `inputs`: the tensor parameters in order, then the scalars as tensors of one element; operation by
    /// operation, as eager code. New values of variables and of `&mut` parameters follow what the function returns.
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
        struct Eager;
        impl Interpreter for Eager {}
        Eager.run(self, inputs)
    }
}

/// An error of the walk, and the node that it is of.
struct Stop(Error, Option<NodeId>);

impl From<EvalError> for Stop {
    fn from(e: EvalError) -> Stop {
        match e {
            EvalError::Host {
                op,
                node,
                error: HostError::Failed(message),
            } => Stop(crate::plan::bind::host_error(op.name(), message), Some(node)),
            e => Stop(Error::msg(e), None),
        }
    }
}

struct Walk<'a, I: ?Sized> {
    interpreter: &'a mut I,
    module: &'a GraphModule,
    /// What lists the locations of its nodes.
    places: &'a GraphModule,
    /// Whether that is as the whole graph does.
    of_root: bool,
    scalars: &'a [Host],
}

impl<I: Interpreter + ?Sized> tensorplay_graph::Interpreter<Tensor> for Walk<'_, I> {
    type Error = Stop;

    fn call(
        &mut self,
        id: NodeId,
        node: &Node,
        op: Op,
        args: Vec<EvalArg<Tensor>>,
    ) -> std::result::Result<Vec<Tensor>, Stop> {
        let mut closed = node.clone();
        if !self.of_root {
            // the whole graph, which says where its nodes are, does not list this one's place
            closed.location = 0;
        }
        let mut inputs = Vec::new();
        for (arg, value) in closed.args_mut().iter_mut().zip(args) {
            close(arg, value, &mut inputs);
        }
        match node.region_call() {
            Some(call) => self.regions(op, &call, inputs),
            None => self.interpreter.call_op(&closed, &inputs),
        }
        .map_err(|e| Stop(e, Some(id)))
    }

    fn unknown(&mut self, id: NodeId, op: Op, e: &Expr) -> std::result::Result<EvalArg<Tensor>, Stop> {
        let message = format!("`{e}` is not known");
        Err(Stop(Error::value(op.name(), message), Some(id)))
    }
}

impl<I: Interpreter + ?Sized> Walk<'_, I> {
    /// The error with the place of its node.
    fn error(&self, Stop(e, node): Stop) -> Error {
        match node {
            Some(id) => {
                let place = self.module.graph.node(id).location;
                e.placed(place).located(|at| self.places.place(at))
            }
            None => e,
        }
    }

    fn region(&mut self, number: usize, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let Some(module) = self.module.regions.get(number) else {
            return Err(Error::msg(format!("the graph has no region {number}")));
        };
        let places = match module.locations.is_empty() {
            true => self.places,
            false => module,
        };
        let mut walk = Walk {
            interpreter: &mut *self.interpreter,
            module,
            places,
            of_root: self.of_root && places.locations == self.places.locations,
            scalars: self.scalars,
        };
        let scalars = self.scalars;
        tensorplay_graph::Interpreter::run(&mut walk, &module.graph, inputs.to_vec(), scalars)
            .map_err(|stop| walk.error(stop))
    }

    fn regions(
        &mut self,
        op: Op,
        call: &tensorplay_graph::RegionCall,
        mut inputs: Vec<Tensor>,
    ) -> Result<Vec<Tensor>> {
        let holds = |pred: Option<&Tensor>| match pred {
            Some(t) => crate::control::holds(op.name(), t),
            None => Err(Error::msg(format!("{op}: no condition"))),
        };
        if op == Op::Cond {
            let yes = holds(inputs.first())?;
            return self.region(call.regions[usize::from(!yes)], &inputs[1..]);
        }
        while holds(self.region(call.regions[0], &inputs)?.first())? {
            let next = self.region(call.regions[1], &inputs)?;
            for (value, new) in inputs.iter_mut().zip(next) {
                *value = new;
            }
        }
        inputs.truncate(call.carried);
        Ok(inputs)
    }
}

/// Puts literals in the places of numbers, and takes out the tensors.
fn close(arg: &mut Arg, value: EvalArg<Tensor>, inputs: &mut Vec<Tensor>) {
    match (arg, value) {
        (_, EvalArg::Value(t)) => inputs.push(t),
        (arg @ Arg::Host(_), EvalArg::Host(h)) => *arg = Arg::Host(Expr::Literal(h)),
        (Arg::List(args), EvalArg::List(values)) => {
            args.iter_mut().zip(values).for_each(|(a, v)| close(a, v, inputs));
        }
        _ => {}
    }
}

fn host(s: &ScalarInput, t: &Tensor) -> Result<Host> {
    let float = match s.ty {
        HostType::F32 | HostType::F64 | HostType::FloatLiteral => true,
        HostType::Number => t.dtype().is_float(),
        _ => false,
    };
    Ok(match s.ty {
        _ if float => Host::Float(t.try_to_dtype(DType::F64)?.try_item::<f64>()?),
        HostType::Bool => Scalar::Bool(t.try_to_dtype(DType::Bool)?.try_item::<bool>()?).into(),
        _ => Host::Int(t.try_to_dtype(DType::I64)?.try_item::<i64>()?),
    })
}

/// The tensors and the numbers among the inputs of a graph.
pub(crate) fn parted<'t>(graph: &GraphModule, inputs: &'t [Tensor]) -> Result<(&'t [Tensor], Vec<Host>)> {
    let (tensors, scalars) = (graph.graph.inputs.len(), graph.scalars.len());
    if inputs.len() != tensors + scalars {
        return Err(Error::msg(format!(
            "graph `{}` takes {tensors} tensors and {scalars} scalars, got {} inputs",
            graph.name,
            inputs.len()
        )));
    }
    let (tensors, numbers) = inputs.split_at(tensors);
    let hosts = graph.scalars.iter().zip(numbers).map(|(s, t)| host(s, t));
    Ok((tensors, hosts.collect::<Result<_>>()?))
}
