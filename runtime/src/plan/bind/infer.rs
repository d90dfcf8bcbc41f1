//! The real shape rules, over a call's sizes.

use super::*;

/// The rules of a graph as written, for a call.
pub(crate) fn check_written(blob: &Blob, inputs: &[Meta], scalars: &[Host]) -> Result<()> {
    let types = inputs
        .iter()
        .map(|m| TensorType::known(m.dtype, &m.shape))
        .collect();
    match PathTypes::new(blob, scalars).run(&blob.written, types, scalars) {
        // binding names the operation that has too few results
        Ok(_) | Err(TypeError::Eval(EvalError::Results { .. })) => Ok(()),
        Err(e) => Err(PathTypes::error(e, &blob.written)),
    }
}

/// A number that an operation takes does not exist.
pub(crate) fn host_error(op: &'static str, message: String) -> Error {
    let (message, help) = match message.split_once('\n') {
        Some((message, help)) => (message.to_string(), help.to_string()),
        None => (message, "change the operands so that the number exists".into()),
    };
    OpError::new(Code::VALUE, OpErrorKind::Value, op, message)
        .help(help)
        .into()
}

/// The scalars of the key, and those of a call whose types the build did not know, if one is not the float that it took
/// them for.
pub(super) fn told(
    module: &GraphModule,
    scalars: &[Option<Host>],
    call: Option<&[Host]>,
) -> Option<Vec<Option<Host>>> {
    let call = call?;
    let open = |s: &ScalarInput| s.ty == HostType::Number;
    let other = |(s, v): (&ScalarInput, &Host)| open(s) && !matches!(v, Host::Float(_));
    module.scalars.iter().zip(call).any(other).then(|| {
        let each = module.scalars.iter().zip(scalars).zip(call);
        each.map(|((s, key), value)| if open(s) { Some(*value) } else { *key })
            .collect()
    })
}

impl Env for Binder<'_> {
    fn param(&self, index: u32) -> Option<Host> {
        self.scalars.get(index as usize).copied().flatten()
    }
    fn rank(&self, v: Value) -> Option<usize> {
        Some(self.shape(v).len())
    }
    fn dim(&self, v: Value, i: usize) -> Option<usize> {
        self.shape(v).get(i).copied()
    }
    fn dtype(&self, v: Value) -> Option<DType> {
        Some(self.typing.dtype(v))
    }
}

impl Shapes for Binder<'_> {
    fn graph(&self) -> &Graph {
        &self.blob.module.graph
    }
    fn shape(&self, v: Value) -> &[usize] {
        self.shapes[v.node.index()]
            .get(v.index as usize)
            .map_or(&[], |s| &s[..])
    }
    fn ints(&self, arg: &Arg) -> Vec<i64> {
        let int = |e: &Expr| e.eval(self).ok().and_then(Host::as_int).unwrap_or(0);
        match arg {
            Arg::Host(e) => vec![int(e)],
            Arg::List(l) => l
                .iter()
                .map(|a| if let Arg::Host(e) = a { int(e) } else { 0 })
                .collect(),
            _ => Vec::new(),
        }
    }
}

impl Binder<'_> {
    pub(super) fn infer_shapes(&mut self) -> Result<()> {
        let graph = &self.blob.module.graph;
        for (id, node) in graph.ids().zip(&graph.nodes) {
            let shapes = self.node_shapes(id, node).map_err(|e| e.placed(node.location))?;
            Arc::make_mut(&mut self.shapes).push(shapes);
        }
        Ok(())
    }

    fn node_shapes(&self, id: NodeId, node: &tensorplay_graph::Node) -> Result<Vec<Sizes>> {
        match &node.kind {
            NodeKind::Input(i) => Ok(vec![self.inputs[*i as usize].shape.clone()]),
            NodeKind::Call(op, _) if matches!(op.row().lowering, Lowering::Region) => {
                self.region_shapes(id, *op)
            }
            NodeKind::Call(op, _) if matches!(op.row().lowering, Lowering::Link) => {
                let sizes = node.types.iter().map(|t| t.sizes().map(Sizes::from));
                sizes.map(|s| s.ok_or_else(|| unsized_error(*op))).collect()
            }
            NodeKind::Call(op, args) => {
                let args: Vec<ArgType> = args
                    .iter()
                    .map(|a| self.arg_type((id, *op), a))
                    .collect::<Result<_>>()?;
                let call = Call {
                    op: *op,
                    args: &args,
                    symbols: &[],
                };
                let found = (op.row().shape)(&call).map_err(|e| e.within(self.blob.written_op(id, *op)))?;
                if found.len() < node.types.len() {
                    let message = format!(
                        "result {} is used, but there are {}",
                        node.types.len() - 1,
                        found.len()
                    );
                    return Err(OpError::new(
                        Code::BOUNDS,
                        OpErrorKind::Index,
                        self.blob.written_op(id, *op).name(),
                        message,
                    )
                    .help("use the results that there are, or check the size before the call")
                    .into());
                }
                found
                    .into_iter()
                    .map(|s| sizes(s).ok_or_else(|| unsized_error(self.blob.written_op(id, *op))))
                    .collect()
            }
        }
    }

    pub(super) fn arg_type(&self, (id, op): (NodeId, Op), arg: &Arg) -> Result<ArgType> {
        Ok(match arg {
            Arg::Value(v) => ArgType::Tensor(TensorType::known(self.typing.dtype(*v), self.shape(*v))),
            Arg::Host(e) => ArgType::Host(match e.eval(self) {
                Ok(h) => Some(h),
                Err(HostError::Unknown) => None,
                Err(HostError::Failed(message)) => {
                    let e = host_error(self.blob.written_op(id, op).name(), message);
                    return Err(e.placed(self.graph().node(id).location));
                }
            }),
            Arg::List(l) => ArgType::List(
                l.iter()
                    .map(|a| self.arg_type((id, op), a))
                    .collect::<Result<_>>()?,
            ),
            Arg::Field(_) | Arg::None => ArgType::None,
        })
    }

    /// The operation that takes a number of a group.
    pub(super) fn taker(&self, unit: &Unit, e: &Expr) -> (&'static str, u32) {
        let takes = |m: &&Member| {
            let args = self.graph().node(m.node).args();
            args.iter().any(|a| matches!(a, Arg::Host(x) if x == e))
        };
        let member = unit.members.iter().find(takes).or(unit.members.first());
        let op = member.and_then(|m| Some(self.blob.written_op(m.node, self.graph().node(m.node).op()?)));
        let place = member.map_or(0, |m| self.graph().node(m.node).location);
        (op.map_or("scalar", Op::name), place)
    }
}

fn sizes(shape: tensorplay_graph::Shape) -> Option<Sizes> {
    shape.and_then(|s| s.iter().map(|d| d.known()).collect::<Option<Sizes>>())
}

pub(super) fn unsized_error(op: Op) -> Error {
    Error::value(op.name(), "a size is not known when the call is bound")
        .with_help("sizes are computed from metadata, literals and integer parameters")
}
