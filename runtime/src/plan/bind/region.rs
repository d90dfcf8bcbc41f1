//! Steps with regions: their plans, and the types of their results.

use super::*;
use crate::plan::region::{Control, OwnLocations, RegionStep};
use tensorplay_graph::{EvalArg, Node};

/// Shape evaluation of a path, which enters its regions.
pub(crate) struct PathTypes<'a> {
    blob: &'a Blob,
    scalars: &'a [Host],
}

impl<'a> PathTypes<'a> {
    pub(crate) fn new(blob: &'a Blob, scalars: &'a [Host]) -> Self {
        PathTypes { blob, scalars }
    }

    /// A broken rule of a graph, as a call reports it.
    pub(crate) fn error(e: TypeError, graph: &Graph) -> Error {
        let (id, e) = match e {
            TypeError::Op(id, e) => (id, e.into()),
            TypeError::Eval(EvalError::Host {
                node,
                op,
                error: HostError::Failed(message),
            }) => (node, infer::host_error(op.name(), message)),
            TypeError::Eval(e) => return Error::msg(e),
        };
        e.placed(graph.node(id).location)
    }
}

impl Interpreter<TensorType> for PathTypes<'_> {
    type Error = TypeError;

    fn call(
        &mut self,
        id: NodeId,
        node: &Node,
        op: Op,
        args: Vec<EvalArg<TensorType>>,
    ) -> std::result::Result<Vec<TensorType>, TypeError> {
        if node.link().is_some() {
            return Ok(node.types.clone());
        }
        let Some(call) = node.region_call() else {
            return TypeInterpreter { symbols: &[] }.call(id, node, op, args);
        };
        // the rule of the condition; the results are those of the regions
        TypeInterpreter { symbols: &[] }.call(id, node, op, args.clone())?;
        let mut inputs = Vec::new();
        for a in args {
            if let EvalArg::List(l) = a {
                inputs.extend(l.into_iter().filter_map(|a| match a {
                    EvalArg::Value(t) => Some(t),
                    _ => None,
                }));
            }
        }
        region_types(self.blob, &call.regions, call.carried, &inputs, self.scalars)
            .map_err(|e| TypeError::Op(id, e.named(op)))
    }

    fn unknown(&mut self, _: NodeId, _: Op, _: &Expr) -> std::result::Result<EvalArg<TensorType>, TypeError> {
        Ok(EvalArg::Unknown)
    }
}

/// Why the types of regions do not fit.
enum Misfit {
    Inside(Box<OpError>),
    Differ(String),
    DTypes(String),
}

impl Misfit {
    fn named(self, op: Op) -> OpError {
        match self {
            Misfit::Inside(e) => *e,
            Misfit::Differ(message) => OpError::new(Code::SIZES, OpErrorKind::Shape, op.name(), message)
                .help("both branches, and a loop's carried values and body, have the same shapes and dtypes"),
            Misfit::DTypes(message) => OpError::new(Code::DTYPE, OpErrorKind::DType, op.name(), message)
                .help("convert one with to_dtype(..)"),
        }
    }
}

/// Whether places in a region are among those of the graph around it.
fn shares_locations(around: &GraphModule, region: &GraphModule) -> bool {
    region.locations.is_empty() || region.locations == around.locations
}

/// The result types of two regions for inputs of known types.
fn region_types(
    blob: &Blob,
    regions: &[usize; 2],
    carried: usize,
    inputs: &[TensorType],
    scalars: &[Host],
) -> std::result::Result<Vec<TensorType>, Misfit> {
    let of = |r: usize| {
        let Some(region) = blob.regions.get(r) else {
            return Ok(Vec::new());
        };
        let mut types = PathTypes::new(region, scalars);
        types
            .run(&region.written, inputs.to_vec(), scalars)
            .map_err(|e| match e {
                TypeError::Op(id, mut e) => {
                    e.set_place(region.written.node(id).location);
                    if !shares_locations(&blob.module, &region.module) {
                        e.locate(|at| region.module.place(at));
                    }
                    Misfit::Inside(Box::new(e))
                }
                TypeError::Eval(e) => Misfit::Differ(e.to_string()),
            })
    };
    let (first, results) = (of(regions[0])?, of(regions[1])?);
    let (what, expected) = match carried {
        0 => ("the branches give", first.as_slice()),
        n => ("the carried values and the body's are", &inputs[..n]),
    };
    let shown = |l: &[TensorType]| {
        let each = l.iter().map(|t| t.display(&[]).to_string());
        each.collect::<Vec<_>>().join(", ")
    };
    if expected != results.as_slice() {
        let message = format!("{what} {} and {}", shown(expected), shown(&results));
        let dtypes = |l: &[TensorType]| l.iter().map(|t| t.dtype).collect::<Vec<_>>();
        return Err(match dtypes(expected) == dtypes(&results) {
            true => Misfit::Differ(message),
            false => Misfit::DTypes(message),
        });
    }
    if carried > 0 {
        condition(&first)?;
    }
    Ok(results)
}

/// What a loop asks before every step is what a branch asks: one bool.
fn condition(results: &[TensorType]) -> std::result::Result<(), Misfit> {
    let [asked] = results else {
        return Err(Misfit::Differ(format!(
            "the condition is {} tensors",
            results.len()
        )));
    };
    let call = Call {
        op: Op::WhileLoop,
        args: &[ArgType::Tensor(asked.clone())],
        symbols: &[],
    };
    let rule = Op::Cond.row();
    let checked = (rule.dtype)(&call).and_then(|_| (rule.shape)(&call));
    checked.map(drop).map_err(|e| Misfit::Inside(Box::new(e)))
}

impl Binder<'_> {
    /// The scalars that are known, up to the first that is not.
    fn known_scalars(&self) -> Vec<Host> {
        self.scalars.iter().map_while(|s| *s).collect()
    }

    /// The result shapes of a call of regions.
    pub(super) fn region_shapes(&self, id: NodeId, op: Op) -> Result<Vec<Sizes>> {
        let Some(call) = self.graph().node(id).region_call() else {
            return Ok(Vec::new());
        };
        let inputs: Vec<TensorType> = call
            .inputs
            .iter()
            .map(|v| TensorType::known(self.typing.dtype(*v), self.shape(*v)))
            .collect();
        let scalars = self.known_scalars();
        let types = region_types(self.blob, &call.regions, call.carried, &inputs, &scalars)
            .map_err(|e| e.named(op))?;
        types
            .into_iter()
            .map(|t| t.sizes().map(Sizes::from).ok_or_else(|| infer::unsized_error(op)))
            .collect()
    }

    /// A call of regions: their plans are bound to the places of the inputs.
    pub(super) fn regions(&mut self, u: u32, id: NodeId) -> Result<()> {
        let node = self.graph().node(id).clone();
        let (Some(op), Some(call)) = (node.op(), node.region_call()) else {
            return Ok(());
        };
        let mut inputs = Vec::with_capacity(call.inputs.len());
        for (i, v) in call.inputs.iter().enumerate() {
            let mut place = self.place(*v)?;
            // the values that a loop carries are dense, as those of its body are made
            if i < call.carried && !place.layout.is_contiguous() {
                place = self.dense(&place)?;
            }
            inputs.push(place);
        }
        let metas: Vec<Meta> = inputs
            .iter()
            .map(|p| Meta {
                dtype: p.dtype,
                shape: p.layout.shape().into(),
                strides: p.layout.strides().into(),
            })
            .collect();
        let blob = self.blob;
        let inside = call.regions.map(|r| blob.regions.get(r).map(|b| &b.module));
        let shares = |r: &GraphModule| shares_locations(&blob.module, r);
        let own_locations = match inside {
            [Some(first), Some(second)] if !(shares(first) && shares(second)) => {
                Some(Box::new([first, second].map(OwnLocations::of)))
            }
            _ => None,
        };
        let strips = Strips::One(self.strips.of(u));
        let mut plan = |r: usize| -> Result<Plan> {
            let region = blob.regions.get(r).ok_or_else(|| {
                Error::msg(format!(
                    "`{op}` has no region {r}; this is a bug, please report it"
                ))
            })?;
            let plan = bind(region, &strips, &metas, self.scalars, None, self.how)?;
            self.fallbacks.extend(plan.fallbacks.iter().cloned());
            Ok(plan)
        };
        let (first, second) = (plan(call.regions[0])?, plan(call.regions[1])?);
        let control = match (op, node.args().first()) {
            (Op::Cond, Some(Arg::Value(pred))) => Control::Cond {
                pred: self.place(*pred)?,
                yes: first,
                no: second,
            },
            _ => Control::While {
                carried: call.carried,
                pred: first,
                body: second,
            },
        };
        let outputs = self.results(id)?;
        self.counts.ops += 1;
        self.steps.push(Step::Region(Arc::new(RegionStep {
            control,
            inputs,
            outputs,
            place: node.location,
            own_locations,
        })));
        Ok(())
    }

    /// A call of a region with a backend of its own.
    pub(super) fn opaque(&mut self, id: NodeId) -> Result<()> {
        let node = self.graph().node(id).clone();
        let call = node.link().and_then(|link| {
            let call = self.strips.opaque(link.site)?;
            Some((call.clone(), link.tensors.to_vec()))
        });
        let Some((call, tensors)) = call else {
            return Err(Error::msg(
                "a call was not linked; this is a bug, please report it",
            ));
        };
        let mut inputs = Vec::with_capacity(tensors.len());
        for a in &tensors {
            if let Arg::Value(v) = a {
                inputs.push(self.place(*v)?);
            }
        }
        let outputs = self.results(id)?;
        self.counts.ops += 1;
        self.steps.push(Step::Region(Arc::new(RegionStep {
            control: Control::Call(call),
            inputs,
            outputs,
            place: node.location,
            own_locations: None,
        })));
        Ok(())
    }

    /// Buffers for the results of a step with graphs inside.
    fn results(&mut self, id: NodeId) -> Result<SmallVec<[Dense; 2]>> {
        let mut outputs = SmallVec::new();
        for index in 0..self.shapes[id.index()].len() as u32 {
            let v = Value { node: id, index };
            let shape: Sizes = self.shape(v).into();
            let place = self.allocate(&shape, self.typing.dtype(v))?;
            outputs.push(Dense {
                at: place.at(),
                dtype: place.dtype,
                shape,
            });
            self.put(v, place);
        }
        Ok(outputs)
    }
}
