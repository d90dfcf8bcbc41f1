//! Concrete dtypes: every value of a graph, once the dtypes of its inputs are decided.

use tensorplay_graph::op::row::{ArgType, Call, Lowering, ParamKind, Signature};
use tensorplay_graph::{
    Arg, Code, DType, Env, Expr, Graph, GraphModule, Host, HostType, NodeId, NodeKind, Op, OpError,
    OpErrorKind, TensorType, TransformError, Value,
};

/// The dtype of every value, and the signature of every call.
#[derive(Clone, Debug)]
pub struct Typing {
    dtypes: Vec<Vec<DType>>,
    signatures: Vec<Option<(DType, DType)>>,
    params: Vec<Option<Host>>,
}

impl Typing {
    /// Infers all dtypes from those of the inputs, and from the scalar parameters that are known.
    ///
    /// # Errors
    /// The first broken dtype rule, or a dtype that depends on an unknown parameter.
    pub fn infer(
        module: &GraphModule,
        inputs: &[DType],
        params: &[Option<Host>],
    ) -> Result<Typing, TransformError> {
        let graph = &module.graph;
        let mut t = Typing {
            dtypes: Vec::with_capacity(graph.nodes.len()),
            signatures: Vec::new(),
            params: params.to_vec(),
        };
        for (id, node) in graph.ids().zip(&graph.nodes) {
            let at = |error| TransformError { node: id, error };
            match &node.kind {
                NodeKind::Input(i) => {
                    t.dtypes.push(vec![inputs[*i as usize]]);
                    t.signatures.push(None);
                }
                NodeKind::Call(op, _) if matches!(op.row().lowering, Lowering::Region) => {
                    let dtypes = t.regions(module, id, *op, params)?;
                    t.dtypes.push(dtypes);
                    t.signatures.push(None);
                }
                NodeKind::Call(op, args) if matches!(op.row().lowering, Lowering::Link) => {
                    let float = t.first_float(args);
                    let each = node.types.iter().map(|ty| ty.dtype.unwrap_or(float));
                    t.dtypes.push(each.collect());
                    t.signatures.push(None);
                }
                NodeKind::Call(op, args) => {
                    let Signature { compute, result } = t.signature(module, *op, args).map_err(at)?;
                    let result = result.ok_or_else(|| at(open(*op)))?;
                    let row = op.row();
                    let each = (0..node.types.len().max(1))
                        .map(|i| row.result_dtype(i, Some(result)).unwrap_or(result));
                    t.dtypes.push(each.collect());
                    t.signatures.push(Some((compute.unwrap_or(result), result)));
                }
            }
        }
        Ok(t)
    }

    /// What a callee most likely gives where its types do not tell: the first float that it takes. A kernel that was
    /// emitted for another dtype than the one that turns out is not used.
    fn first_float(&self, args: &[Arg]) -> DType {
        let mut found = None;
        let mut look = |v: Value| found = found.or(Some(self.dtype(v)).filter(|d| d.is_float()));
        args.iter().for_each(|a| a.tensors(&mut look));
        found.unwrap_or(DType::F32)
    }

    /// The result dtypes of a call of regions, which must agree.
    fn regions(
        &self,
        module: &GraphModule,
        id: NodeId,
        op: Op,
        params: &[Option<Host>],
    ) -> Result<Vec<DType>, TransformError> {
        let at = |error| TransformError { node: id, error };
        let node = module.graph.node(id);
        self.signature(module, op, node.args()).map_err(at)?;
        let Some(call) = node.region_call() else {
            return Err(at(open(op)));
        };
        let inputs: Vec<DType> = call.inputs.iter().map(|v| self.dtype(*v)).collect();
        let mut both = Vec::with_capacity(2);
        for r in call.regions {
            let Some(region) = module.regions.get(r) else {
                return Err(at(open(op)));
            };
            let typing = Typing::infer(region, &inputs, params).map_err(|e| at(e.error))?;
            both.push(
                region
                    .graph
                    .outputs
                    .iter()
                    .map(|v| typing.dtype(*v))
                    .collect::<Vec<_>>(),
            );
        }
        let (Some(results), Some(first)) = (both.pop(), both.pop()) else {
            return Err(at(open(op)));
        };
        let (what, expected) = match call.carried {
            0 => ("the branches give", first.as_slice()),
            n => ("the carried values and the body's are", &inputs[..n]),
        };
        if expected != results.as_slice() {
            let shown = |d: &[DType]| d.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let message = format!("{what} {} and {}", shown(expected), shown(&results));
            return Err(at(OpError::new(
                Code::DTYPE,
                OpErrorKind::DType,
                op.name(),
                message,
            )
            .help("convert one with to_dtype(..)")));
        }
        if call.carried > 0 && first != [DType::Bool] {
            let message = "the condition of a loop is one bool tensor";
            return Err(at(OpError::new(
                Code::DTYPE,
                OpErrorKind::DType,
                op.name(),
                message,
            )
            .help("compare, as in change.gt(tolerance)")));
        }
        Ok(results)
    }

    fn signature(&self, module: &GraphModule, op: Op, args: &[Arg]) -> Result<Signature, OpError> {
        let args: Vec<ArgType> = args.iter().map(|a| self.arg(a)).collect();
        op.row().signature(&Call {
            op,
            args: &args,
            symbols: &module.symbols,
        })
    }

    fn arg(&self, arg: &Arg) -> ArgType {
        match arg {
            Arg::Value(v) => ArgType::Tensor(TensorType {
                dtype: Some(self.dtype(*v)),
                shape: None,
            }),
            Arg::Host(e) => ArgType::Host(self.representative(e)),
            Arg::List(l) => ArgType::List(l.iter().map(|a| self.arg(a)).collect()),
            Arg::Field(_) | Arg::None => ArgType::None,
        }
    }

    /// The literal, or a value of the expression's type: dtype rules look at the type only.
    fn representative(&self, e: &Expr) -> Option<Host> {
        Some(match e {
            Expr::Literal(h) => *h,
            Expr::DTypeOf(v) => Host::DType(self.dtype(*v)),
            Expr::Param(i, HostType::DType) => self.params.get(*i as usize).copied().flatten()?,
            _ => match e.host_type() {
                HostType::F32 | HostType::F64 | HostType::FloatLiteral => Host::Float(1.0),
                HostType::Bool => Host::Bool(true),
                HostType::DType => return None,
                // kernels are emitted for floats; a call tells
                HostType::Number => e.eval(self).unwrap_or(Host::Float(1.0)),
                _ => Host::Int(1),
            },
        })
    }

    /// The dtype of a value.
    pub fn dtype(&self, v: Value) -> DType {
        let of = &self.dtypes[v.node.index()];
        of.get(v.index as usize)
            .or(of.first())
            .copied()
            .unwrap_or(DType::F32)
    }

    /// Whether all values and calls have the same dtypes.
    pub fn alike(&self, other: &Typing) -> bool {
        self.dtypes == other.dtypes && self.signatures == other.signatures
    }

    /// `(compute, result)` of a call.
    pub fn call(&self, node: usize) -> Option<(DType, DType)> {
        self.signatures[node]
    }
}

/// Scalar parameters alone: what typing knows of a call.
impl Env for Typing {
    fn param(&self, index: u32) -> Option<Host> {
        self.params.get(index as usize).copied().flatten()
    }
    fn rank(&self, _: Value) -> Option<usize> {
        None
    }
    fn dim(&self, _: Value, _: usize) -> Option<usize> {
        None
    }
    fn dtype(&self, v: Value) -> Option<DType> {
        self.dtypes.get(v.node.index()).map(|_| Typing::dtype(self, v))
    }
}

fn open(op: Op) -> OpError {
    OpError::new(
        Code::VALUE,
        OpErrorKind::Value,
        op.name(),
        "the dtype of the result is not known before a call",
    )
    .help("write the dtype as a literal, as in DType::F32")
}

/// The dtypes that inputs must have: their spec's, else what their uses force, else open (`None`).
pub fn input_dtypes(module: &GraphModule) -> Vec<Option<DType>> {
    let graph: &Graph = &module.graph;
    let mut dtypes: Vec<Option<DType>> = graph
        .inputs
        .iter()
        .map(|&id| graph.node(id).types.first().and_then(|t| t.dtype))
        .collect();
    // through views, whose elements are those of their operand
    let input = |v: Value| match graph.node(graph.source(v)).kind {
        NodeKind::Input(i) => Some(i as usize),
        NodeKind::Call(..) => None,
    };
    for node in &graph.nodes {
        let NodeKind::Call(op, args) = &node.kind else {
            continue;
        };
        for (k, (arg, param)) in args.iter().zip(op.row().params).enumerate() {
            let forced = match (op, k, param.kind) {
                (Op::WhereCond, 0, _) => DType::Bool,
                (Op::OneHot, 0, _) | (_, _, ParamKind::Index) => DType::I64,
                _ => continue,
            };
            if let Arg::Value(v) = arg
                && let Some(i) = input(*v)
            {
                dtypes[i].get_or_insert(forced);
            }
        }
    }
    dtypes
}
