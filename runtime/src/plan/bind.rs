//! Binding: a function's graph and the metadata of one call become a plan.

use super::arena::{Draft, place};
use super::check::{self, Divisor};
use super::space::{IterSpace, Shapes, broadcast_strides};
use super::spec::Binding;
use super::{DrawStep, Fallback, KernelStep, Param, Place, Plan, Step, StepCounts, contract, copy};
use crate::kernels::nest::{Nest, View};
use crate::kernels::strip::Strip;
use crate::kernels::tier::isa;
use crate::layout::{Layout, Sizes};
use crate::shape::normal_dim;
use crate::tensor::create;
use crate::{DType, Error, Result, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;
use tensorplay_graph::op::row::{ArgType, Call, LaneClass, Lowering, ParamKind};
use tensorplay_graph::op::shape::slice_bounds;
use tensorplay_graph::{
    Arg, Code, Env, EvalError, Expr, Graph, Host, HostError, Interpreter, NodeId, NodeKind, Op, OpError,
    OpErrorKind, Scalar, TensorType, TypeError, TypeInterpreter, Value,
};
use tensorplay_stax::blob::{Blob, Instance};
use tensorplay_stax::kernel::Space;
use tensorplay_stax::lower::{Lowered, lower};
use tensorplay_stax::schedule::{Member, Unit, UnitKind};
use tensorplay_stax::typing::Typing;

/// Which kernels a group may run on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kernels {
    /// Emitted where the binary has them, the tile VM elsewhere.
    #[default]
    Any,
    /// Emitted only; a group without is an error.
    Emitted,
    /// The tile VM only.
    Tile,
}

/// What binding reads of a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Meta {
    pub dtype: DType,
    pub shape: Sizes,
    pub strides: Sizes,
}

impl Meta {
    pub(crate) fn of(t: &Tensor) -> Meta {
        Meta {
            dtype: t.dtype(),
            shape: t.shape().into(),
            strides: t.strides().into(),
        }
    }
}

/// Binds `blob` to inputs. `scalars` holds the values that are part of the key. With the scalars of a `call`, the rules
/// of the operations that the user wrote are checked first, so that errors name these.
pub(crate) fn bind(
    blob: &Blob,
    strips: &'static [Strip],
    inputs: &[Meta],
    scalars: &[Option<Host>],
    call: Option<&[Host]>,
    kernels: Kernels,
) -> Result<Plan> {
    let module = &blob.module;
    let dtypes: Vec<DType> = inputs.iter().map(|m| m.dtype).collect();
    let mut specs = Binding::new(module);
    for (i, (spec, meta)) in module.specs.iter().zip(inputs).enumerate() {
        if let Some(spec) = spec {
            let name = &module.graph.node(module.graph.inputs[i]).name;
            specs.check(name, spec, meta.dtype, &meta.shape)?;
        }
    }
    if let Some(call) = call {
        check_written(&blob.written, inputs, call)?;
    }
    let typing =
        Typing::infer(module, &dtypes, scalars).map_err(|e| match module.graph.node(e.node).op() {
            Some(op) => e.error.within(blob.written_op(e.node, op)),
            None => e.error,
        })?;
    let mut b = Binder {
        blob,
        strips,
        typing,
        scalars,
        kernels,
        instance: blob.instances.iter().find(|i| i.inputs == dtypes),
        shapes: Vec::with_capacity(module.graph.nodes.len()),
        places: vec![Vec::new(); module.graph.nodes.len()],
        inputs,
        drafts: Vec::new(),
        constants: Vec::new(),
        steps: Vec::new(),
        draws: 0,
        wide: Vec::new(),
        counts: StepCounts::default(),
        fallbacks: Vec::new(),
    };
    b.infer_shapes()?;
    for (i, v) in module.graph.outputs.iter().enumerate() {
        if let Some(Some(spec)) = module.output_specs.get(i) {
            specs.check("return", spec, b.typing.dtype(*v), b.shape(*v))?;
        }
    }
    for (u, unit) in blob.schedule.units.iter().enumerate() {
        b.unit(u as u32, unit)?;
    }
    b.finish()
}

fn check_written(graph: &Graph, inputs: &[Meta], scalars: &[Host]) -> Result<()> {
    let types = inputs
        .iter()
        .map(|m| TensorType::known(m.dtype, &m.shape))
        .collect();
    match (TypeInterpreter { symbols: &[] }).run(graph, types, scalars) {
        Ok(_) => Ok(()),
        Err(TypeError::Op(_, e)) => Err(e.into()),
        Err(TypeError::Eval(EvalError::Host {
            op,
            error: HostError::Failed(message),
            ..
        })) => Err(host_error(op.name(), message)),
        Err(TypeError::Eval(e)) => Err(Error::msg(e)),
    }
}

/// A number that an operation takes does not exist.
pub(crate) fn host_error(op: &'static str, message: String) -> Error {
    let help = "change the operands so that the number exists";
    OpError::new(Code::VALUE, OpErrorKind::Value, op, message)
        .help(help)
        .into()
}

struct Binder<'a> {
    blob: &'a Blob,
    strips: &'static [Strip],
    typing: Typing,
    scalars: &'a [Option<Host>],
    kernels: Kernels,
    instance: Option<&'a Instance>,
    shapes: Vec<Vec<Sizes>>,
    places: Vec<Vec<Option<Place>>>,
    inputs: &'a [Meta],
    drafts: Vec<Draft>,
    constants: Vec<Tensor>,
    steps: Vec<Step>,
    draws: usize,
    /// Half-precision values inside a split group, kept in f32.
    wide: Vec<Value>,
    counts: StepCounts,
    fallbacks: Vec<Fallback>,
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

/// Base numbers: inputs, then constants and buffers in the order of their creation, told apart by the top bits.
const CONSTANT: u32 = 1 << 30;
const BUFFER: u32 = 1 << 31;

impl<'a> Binder<'a> {
    fn infer_shapes(&mut self) -> Result<()> {
        let module = &self.blob.module;
        for (id, node) in module.graph.ids().zip(&module.graph.nodes) {
            let shapes = match &node.kind {
                NodeKind::Input(i) => vec![self.inputs[*i as usize].shape.clone()],
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
                    let found =
                        (op.row().shape)(&call).map_err(|e| e.within(self.blob.written_op(id, *op)))?;
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
                        .into());
                    }
                    found
                        .into_iter()
                        .map(|s| sizes(s).ok_or_else(|| unsized_error(self.blob.written_op(id, *op))))
                        .collect::<Result<_>>()?
                }
            };
            self.shapes.push(shapes);
        }
        Ok(())
    }

    fn arg_type(&self, (id, op): (NodeId, Op), arg: &Arg) -> Result<ArgType> {
        Ok(match arg {
            Arg::Value(v) => ArgType::Tensor(TensorType::known(self.typing.dtype(*v), self.shape(*v))),
            Arg::Host(e) => ArgType::Host(match e.eval(self) {
                Ok(h) => Some(h),
                Err(HostError::Unknown) => None,
                Err(HostError::Failed(message)) => {
                    return Err(host_error(self.blob.written_op(id, op).name(), message));
                }
            }),
            Arg::List(l) => ArgType::List(
                l.iter()
                    .map(|a| self.arg_type((id, op), a))
                    .collect::<Result<_>>()?,
            ),
            Arg::None => ArgType::None,
        })
    }

    /// The operation that takes a number of a group.
    fn taker(&self, unit: &Unit, e: &Expr) -> &'static str {
        let takes = |m: &&Member| {
            let args = self.graph().node(m.node).args();
            args.iter().any(|a| matches!(a, Arg::Host(x) if x == e))
        };
        let member = unit.members.iter().find(takes).or(unit.members.first());
        let op = member.and_then(|m| Some(self.blob.written_op(m.node, self.graph().node(m.node).op()?)));
        op.map_or("scalar", Op::name)
    }

    fn host(&self, arg: &Arg) -> Option<Host> {
        if let Arg::Host(e) = arg {
            e.eval(self).ok()
        } else {
            None
        }
    }

    fn int(&self, arg: &Arg) -> i64 {
        self.host(arg).and_then(Host::as_int).unwrap_or(0)
    }

    fn scalar(&self, arg: &Arg) -> Scalar {
        self.host(arg).and_then(Host::as_scalar).unwrap_or(Scalar::Int(0))
    }

    /// Whether a half-precision value is kept in f32.
    fn is_wide(&self, v: Value) -> bool {
        self.wide.contains(&v) || self.graph().is_interior(v)
    }

    fn stored(&self, v: Value) -> DType {
        let d = self.typing.dtype(v);
        if self.is_wide(v) { d.compute() } else { d }
    }

    /// The place of a value; inputs are placed on first use.
    fn place(&mut self, v: Value) -> Result<Place> {
        if let Some(Some(p)) = self.places[v.node.index()].get(v.index as usize) {
            return Ok(p.clone());
        }
        let node = self.graph().node(v.node);
        let NodeKind::Input(i) = node.kind else {
            return Err(Error::msg(format!(
                "`{}` has no place; this is a bug, please report it",
                node.op_name()
            )));
        };
        let meta = &self.inputs[i as usize];
        let layout = Layout::new(meta.shape.clone(), meta.strides.clone(), 0)?;
        let place = Place {
            base: i,
            layout,
            dtype: meta.dtype,
        };
        self.put(v, place.clone());
        Ok(place)
    }

    fn put(&mut self, v: Value, p: Place) {
        let of = &mut self.places[v.node.index()];
        if of.len() <= v.index as usize {
            of.resize(v.index as usize + 1, None);
        }
        of[v.index as usize] = Some(p);
    }

    /// A new buffer with a row-major layout.
    fn allocate(&mut self, shape: &[usize], dtype: DType) -> Result<Place> {
        let layout = Layout::contiguous(shape)?;
        let bytes = layout.elem_count() * dtype.size();
        let base = BUFFER | self.drafts.len() as u32;
        self.drafts.push(Draft {
            base,
            bytes,
            escapes: false,
        });
        Ok(Place { base, layout, dtype })
    }

    fn unit(&mut self, u: u32, unit: &'a Unit) -> Result<()> {
        match unit.kind {
            UnitKind::Map | UnitKind::Row => self.group(u, unit),
            UnitKind::View => self.view(unit.members[0].node),
            UnitKind::Contract => self.product(unit.members[0].node),
            UnitKind::Copy => self.join(unit.members[0].node),
            UnitKind::Create => self.create(unit.members[0].node),
        }
    }

    fn group(&mut self, u: u32, unit: &'a Unit) -> Result<()> {
        let emitted = self.instance.and_then(|i| i.kernels[u as usize].as_ref());
        let space = match IterSpace::of(unit, self) {
            Ok(space) if unit.members.len() == 1 || !self.divides_integers(unit) => space,
            Ok(_) => {
                return self.split(
                    unit,
                    "integer divisors are checked before the group writes".into(),
                );
            }
            Err(reason) => return self.split(unit, reason),
        };
        let shared = match emitted {
            Some((lowered, first)) if self.kernels != Kernels::Tile => {
                let n = lowered.kernel.maps().count();
                let strips = &self.strips[*first as usize..*first as usize + n];
                strips.iter().all(Strip::runs).then(|| (lowered.clone(), strips))
            }
            _ => None,
        };
        let (lowered, strips) = match shared {
            Some((lowered, strips)) => (lowered, Some(strips)),
            None => {
                let lowered = match emitted {
                    Some((lowered, _)) => lowered.clone(),
                    None => {
                        let interior = |v| self.graph().is_interior(v);
                        Arc::new(lower(&self.blob.module, &self.typing, unit, &interior))
                    }
                };
                let lacking = if emitted.is_some() {
                    format!("the {} instruction set", isa())
                } else {
                    let dtypes: Vec<String> = self.inputs.iter().map(|m| m.dtype.to_string()).collect();
                    format!("inputs of {}", dtypes.join(", "))
                };
                if self.kernels == Kernels::Emitted {
                    return Err(Error::msg(format!(
                        "group `{}` has no emitted kernel for {lacking}, and TENSORPLAY_KERNELS=emitted forbids the tile VM",
                        lowered.kernel.name,
                    )));
                }
                if self.kernels == Kernels::Any && !self.blob.instances.is_empty() {
                    self.fallbacks.push(Fallback {
                        group: lowered.kernel.name.clone(),
                        reason: format!("no kernel was emitted for {lacking}"),
                    });
                }
                (lowered, None)
            }
        };
        self.kernel(unit, &space, lowered, strips)
    }

    /// Runs a group's nodes one by one on the tile VM, with intermediates in their compute type.
    fn split(&mut self, unit: &'a Unit, reason: String) -> Result<()> {
        self.counts.splits += 1;
        let name = self
            .graph()
            .node(unit.members[unit.members.len() - 1].node)
            .op_name()
            .to_string();
        self.fallbacks.push(Fallback { group: name, reason });
        for m in &unit.members {
            let v: Value = m.node.into();
            if !unit.outputs.contains(&v) && self.typing.dtype(v).is_half() {
                self.wide.push(v);
            }
        }
        for m in &unit.members {
            let fold = matches!(
                self.graph().node(m.node).op().map(|o| o.row().lowering),
                Some(Lowering::Reduce(_))
            );
            let space = if fold { Space::Row } else { Space::Elem };
            let kind = if fold { UnitKind::Row } else { UnitKind::Map };
            let single = Unit {
                kind,
                members: vec![Member {
                    node: m.node,
                    space,
                    kept: m.kept,
                }],
                outputs: vec![m.node.into()],
            };
            let space = IterSpace::of(&single, self).map_err(|reason| {
                Error::msg(format!(
                    "a single node does not fit its own space: {reason}; this is a bug, please report it"
                ))
            })?;
            let lowered = lower(&self.blob.module, &self.typing, &single, &|v| self.is_wide(v));
            self.kernel(&single, &space, Arc::new(lowered), None)?;
        }
        Ok(())
    }

    fn divides_integers(&self, unit: &Unit) -> bool {
        unit.members
            .iter()
            .any(|m| self.integer_division(m.node).is_some())
    }

    /// The divisor argument of an integer division.
    fn integer_division(&self, node: NodeId) -> Option<(Op, &Arg)> {
        let n = self.graph().node(node);
        let op = n.op()?;
        let (compute, _) = self.typing.call(node.index())?;
        (matches!(op, Op::FloorDiv | Op::Fmod | Op::Remainder) && compute.is_int())
            .then(|| (op, &n.args()[1]))
    }

    fn kernel(
        &mut self,
        unit: &Unit,
        space: &IterSpace,
        lowered: Arc<Lowered>,
        strips: Option<&'static [Strip]>,
    ) -> Result<()> {
        let kernel = &lowered.kernel;
        let mut operands = SmallVec::new();
        let mut views: Vec<View> = Vec::with_capacity(kernel.operands.len());
        for (v, buffer) in lowered.operands.iter().zip(&kernel.operands) {
            let place = self.place(*v)?;
            operands.push(place.at());
            let strides = match buffer.space {
                Space::Elem => space.elem_strides(&place.layout),
                Space::Row => {
                    let reader = self.row_reader(unit, *v);
                    space.row_strides(&place.layout, &reader)
                }
            };
            views.push(View { strides });
        }
        let mut outputs = SmallVec::new();
        let mut out_views = Vec::with_capacity(kernel.outputs.len());
        for (v, buffer) in lowered.outputs.iter().zip(&kernel.outputs) {
            let shape: Sizes = self.shape(*v).into();
            let place = self.allocate(&shape, buffer.dtype)?;
            outputs.push(place.at());
            let strides = match buffer.space {
                Space::Elem => space.elem_strides(&place.layout),
                Space::Row => space.row_strides(&place.layout, &shape),
            };
            out_views.push(View { strides });
            self.put(*v, place);
        }
        let mut params = Vec::with_capacity(lowered.params.len());
        for e in &lowered.params {
            params.push(match e.eval(self) {
                Ok(h) => Param::Known(h.as_scalar().unwrap_or(Scalar::Int(0))),
                Err(HostError::Unknown) => Param::Call(self.closed(e), self.taker(unit, e)),
                Err(HostError::Failed(message)) => return Err(host_error(self.taker(unit, e), message)),
            });
        }
        let mut divisors = Vec::new();
        if let [m] = &unit.members[..]
            && let Some((op, arg)) = self.integer_division(m.node)
            && !self.shape(m.node.into()).contains(&0)
        {
            match arg.clone() {
                Arg::Value(v) => {
                    let p = self.place(v)?;
                    divisors.push(Divisor::new(op.name(), p.at(), p.dtype, &p.layout));
                }
                arg if self.host(&arg).and_then(Host::as_int) == Some(0) => {
                    return Err(check::by_zero(op.name()));
                }
                _ => {}
            }
        }
        let nest = Nest::bind(kernel, &space.permuted(), space.reduced.len(), &views, &out_views);
        match strips {
            Some(_) => self.counts.emitted += 1,
            None => self.counts.tile += 1,
        }
        self.steps.push(Step::Kernel(Box::new(KernelStep {
            lowered: lowered.clone(),
            nest,
            strips,
            operands,
            outputs,
            params,
            divisors,
        })));
        Ok(())
    }

    /// The shape of the row value that reads `v`.
    fn row_reader(&self, unit: &Unit, v: Value) -> Sizes {
        let reads = |m: &&Member| {
            let mut found = false;
            self.graph()
                .node(m.node)
                .args()
                .iter()
                .for_each(|a| a.tensors(&mut |t| found |= t == v));
            m.space == Space::Row && found
        };
        unit.members
            .iter()
            .find(reads)
            .map_or_else(Sizes::new, |m| self.shape(m.node.into()).into())
    }

    /// The expression with everything that is known now replaced by its value.
    fn closed(&self, e: &Expr) -> Expr {
        if let Ok(h) = e.eval(self) {
            return match (h, e.host_type()) {
                (Host::Float(_), tensorplay_graph::HostType::F32) => {
                    Expr::Cast(tensorplay_graph::HostType::F32, Box::new(Expr::Literal(h)))
                }
                _ => Expr::Literal(h),
            };
        }
        match e {
            Expr::Cast(t, a) => Expr::Cast(*t, Box::new(self.closed(a))),
            Expr::Unary(op, a) => Expr::Unary(*op, Box::new(self.closed(a))),
            Expr::Binary(op, a, b) => Expr::Binary(*op, Box::new(self.closed(a)), Box::new(self.closed(b))),
            other => other.clone(),
        }
    }

    fn view(&mut self, id: NodeId) -> Result<()> {
        let node = self.graph().node(id).clone();
        let (Some(op), Some(Arg::Value(x))) = (node.op(), node.args().first()) else {
            return Ok(());
        };
        let x = self.place(*x)?;
        let args = node.args();
        let i = |k: usize| self.int(&args[k]);
        let layout = match op {
            Op::Reshape | Op::Flatten | Op::FlattenAll => {
                let shape: Sizes = self.shape(id.into()).into();
                match x.layout.reshaped(&shape) {
                    Some(layout) => layout,
                    None => {
                        let dense = self.dense(&x)?;
                        let layout = Layout::contiguous(&shape)?;
                        self.put(id.into(), Place { layout, ..dense });
                        return Ok(());
                    }
                }
            }
            Op::Contiguous if !x.layout.is_contiguous() => {
                let dense = self.dense(&x)?;
                self.put(id.into(), dense);
                return Ok(());
            }
            Op::Contiguous | Op::Detach => x.layout.clone(),
            Op::Transpose => x.layout.transpose(i(1), i(2))?,
            Op::T => x.layout.t()?,
            Op::Permute => x.layout.permute(&self.ints(&args[1]))?,
            Op::Unsqueeze => x.layout.unsqueeze(i(1))?,
            Op::Squeeze => x.layout.squeeze(i(1))?,
            Op::Narrow => x.layout.narrow(i(1), i(2), i(3))?,
            Op::Select => x.layout.select(i(1), i(2))?,
            Op::Slice => {
                let dim = i(1);
                let at = if dim < 0 {
                    dim + x.layout.rank() as i64
                } else {
                    dim
                };
                let n = x.layout.shape().get(at as usize).copied().unwrap_or(0);
                let (start, len) = slice_bounds(n, i(2), i(3), i(4));
                x.layout.slice(
                    dim,
                    start as i64,
                    (start + (len * i(4) as usize)).min(n) as i64,
                    i(4),
                )?
            }
            Op::Expand => x.layout.broadcast_to("expand", self.shape(id.into()))?,
            Op::Movedim => x.layout.movedim(i(1), i(2))?,
            Op::Chunk | Op::Split => return self.pieces(id, &x, i(2)),
            op => {
                return Err(Error::msg(format!(
                    "`{op}` is not a view; this is a bug, please report it"
                )));
            }
        };
        self.put(id.into(), Place { layout, ..x });
        Ok(())
    }

    fn pieces(&mut self, id: NodeId, x: &Place, dim: i64) -> Result<()> {
        let axis = normal_dim("chunk", dim, x.layout.rank())?;
        let mut start = 0;
        for index in 0..self.shapes[id.index()].len() {
            let len = self.shapes[id.index()][index][axis];
            let layout = x.layout.narrow(dim, start as i64, len as i64)?;
            start += len;
            self.put(
                Value {
                    node: id,
                    index: index as u32,
                },
                Place { layout, ..x.clone() },
            );
        }
        Ok(())
    }

    /// A row-major copy.
    fn dense(&mut self, x: &Place) -> Result<Place> {
        let shape: Sizes = x.layout.shape().into();
        let out = self.allocate(&shape, x.dtype)?;
        self.counts.copies += 1;
        self.steps.push(Step::Copy(Box::new(copy::copy(x, &out))));
        Ok(out)
    }

    fn product(&mut self, id: NodeId) -> Result<()> {
        let node = self.graph().node(id).clone();
        let [Arg::Value(a), Arg::Value(b)] = node.args() else {
            return Ok(());
        };
        let (a, b) = (self.place(*a)?, self.place(*b)?);
        let shape: Sizes = self.shape(id.into()).into();
        let out = self.allocate(&shape, self.stored(id.into()))?;
        self.steps
            .push(Step::Matmul(Box::new(contract::matmul(&a, &b, &out))));
        self.counts.contractions += 1;
        self.put(id.into(), out);
        Ok(())
    }

    fn join(&mut self, id: NodeId) -> Result<()> {
        let node = self.graph().node(id).clone();
        let [Arg::List(xs), dim] = node.args() else {
            return Ok(());
        };
        let dim = self.int(dim);
        let shape: Sizes = self.shape(id.into()).into();
        let out = self.allocate(&shape, self.stored(id.into()))?;
        let axis = normal_dim("cat", dim, shape.len())?;
        let mut start = 0;
        for x in xs {
            let Arg::Value(v) = x else { continue };
            let x = self.place(*v)?;
            let len = x.layout.shape()[axis];
            let part = Place {
                layout: out.layout.narrow(dim, start as i64, len as i64)?,
                ..out.clone()
            };
            start += len;
            if len == 0 {
                continue;
            }
            self.counts.copies += 1;
            if x.dtype == out.dtype {
                self.steps.push(Step::Copy(Box::new(copy::copy(&x, &part))));
                continue;
            }
            let lowered = Arc::new(copy::cast(x.dtype, out.dtype));
            let rank = shape.len();
            let view = |p: &Place| View {
                strides: broadcast_strides(&p.layout, rank),
            };
            let (from, to) = (view(&x), view(&part));
            let nest = Nest::bind(&lowered.kernel, x.layout.shape(), 0, &[from], &[to]);
            self.steps.push(Step::Kernel(Box::new(KernelStep {
                lowered,
                nest,
                strips: None,
                operands: SmallVec::from_slice(&[x.at()]),
                outputs: SmallVec::from_slice(&[part.at()]),
                params: Vec::new(),
                divisors: Vec::new(),
            })));
        }
        self.put(id.into(), out);
        Ok(())
    }

    fn create(&mut self, id: NodeId) -> Result<()> {
        let node = self.graph().node(id).clone();
        let Some(op) = node.op() else { return Ok(()) };
        let (shape, dtype): (Sizes, DType) = (self.shape(id.into()).into(), self.typing.dtype(id.into()));
        let args = node.args();
        if matches!(op, Op::Rand | Op::Randn) {
            let place = self.allocate(&shape, dtype)?;
            self.steps.push(Step::Draw(Box::new(DrawStep {
                op,
                shape,
                dtype,
                number: self.draws as u64,
                base: place.base,
            })));
            self.draws += 1;
            self.counts.ops += 1;
            self.put(id.into(), place);
            return Ok(());
        }
        let tensor = match op {
            Op::Zeros | Op::ZerosLike => create::zeros(&shape, dtype)?,
            Op::Ones | Op::OnesLike => create::ones(&shape, dtype)?,
            Op::Full => create::full(&shape, self.scalar(&args[1]), dtype)?,
            Op::Arange => create::arange(self.scalar(&args[0]), self.scalar(&args[1]), dtype)?,
            Op::Linspace => {
                let n = self.int(&args[2]).max(0) as usize;
                create::linspace(self.scalar(&args[0]), self.scalar(&args[1]), n, dtype)?
            }
            Op::Eye => create::eye(self.int(&args[0]).max(0) as usize, dtype)?,
            op => {
                return Err(Error::msg(format!(
                    "`{op}` does not create; this is a bug, please report it"
                )));
            }
        };
        let layout = tensor.layout().clone();
        let base = CONSTANT | self.constants.len() as u32;
        self.constants.push(tensor);
        self.put(id.into(), Place { base, layout, dtype });
        Ok(())
    }

    fn finish(mut self) -> Result<Plan> {
        let outputs: Vec<Value> = self.graph().outputs.clone();
        let mut places = Vec::with_capacity(outputs.len());
        let mut handles = Vec::with_capacity(outputs.len());
        for v in outputs {
            handles.push(match self.graph().node(v.node).kind {
                NodeKind::Input(i) => Some(i),
                NodeKind::Call(..) => None,
            });
            let place = self.place(v)?;
            if let Some(d) = self.drafts.iter_mut().find(|d| d.base == place.base) {
                d.escapes = true;
            }
            places.push(place);
        }
        let (buffers, arena) = place(&self.drafts, &self.steps);
        let (inputs, constants) = (self.inputs.len() as u32, self.constants.len() as u32);
        let renumber = |base: &mut u32| {
            *base = if *base & BUFFER != 0 {
                (*base & !BUFFER) + inputs + constants
            } else if *base & CONSTANT != 0 {
                (*base & !CONSTANT) + inputs
            } else {
                *base
            }
        };
        for step in &mut self.steps {
            match step {
                Step::Kernel(k) => {
                    k.operands
                        .iter_mut()
                        .chain(&mut k.outputs)
                        .for_each(|r| renumber(&mut r.base));
                    k.divisors.iter_mut().for_each(|d| renumber(&mut d.at.base));
                }
                Step::Matmul(m) => [&mut m.a, &mut m.b, &mut m.out]
                    .into_iter()
                    .for_each(|r| renumber(&mut r.base)),
                Step::Copy(c) => [&mut c.src, &mut c.dst]
                    .into_iter()
                    .for_each(|r| renumber(&mut r.base)),
                Step::Draw(d) => renumber(&mut d.base),
            }
        }
        places.iter_mut().for_each(|p| renumber(&mut p.base));
        Ok(Plan {
            inputs: self.inputs.len(),
            buffers,
            constants: self.constants,
            draws: self.draws,
            steps: self.steps,
            outputs: places,
            handles,
            arena,
            counts: self.counts,
            fallbacks: self.fallbacks,
        })
    }
}

fn sizes(shape: tensorplay_graph::Shape) -> Option<Sizes> {
    shape.and_then(|s| s.iter().map(|d| d.known()).collect::<Option<Sizes>>())
}

fn unsized_error(op: Op) -> Error {
    Error::value(op.name(), "a size is not known when the call is bound")
        .with_help("sizes are computed from metadata, literals and integer parameters")
}

/// Whether a scalar parameter belongs to the key: it is a size, an index, or a value that a creation needs.
pub(crate) fn key_params(blob: &Blob) -> Vec<bool> {
    let mut key = vec![false; blob.module.scalars.len()];
    // integer attributes of composites decide rules and expansions, whatever becomes of them there
    for node in &blob.written.nodes {
        let NodeKind::Call(op, args) = &node.kind else {
            continue;
        };
        for (a, p) in args.iter().zip(op.row().params) {
            if !matches!(p.kind, ParamKind::Operand | ParamKind::Scalar | ParamKind::Float) {
                all_params(a, &mut key);
            }
        }
    }
    for node in &blob.module.graph.nodes {
        let NodeKind::Call(op, args) = &node.kind else {
            continue;
        };
        let lane = matches!(op.row().lowering, Lowering::Lane(c) if c != LaneClass::Cast);
        for a in args {
            match a {
                Arg::Host(e) if lane => inner_params(e, &mut key),
                a => all_params(a, &mut key),
            }
        }
    }
    key
}

fn all_params(a: &Arg, key: &mut [bool]) {
    match a {
        Arg::Host(e) => e.params(&mut |i| key[i as usize] = true),
        Arg::List(l) => l.iter().for_each(|a| all_params(a, key)),
        Arg::Value(_) | Arg::None => {}
    }
}

/// Parameters that pick a dim of a metadata read; the others are kernel arguments.
fn inner_params(e: &Expr, key: &mut [bool]) {
    match e {
        Expr::Dim(_, i) => i.params(&mut |p| key[p as usize] = true),
        Expr::Cast(_, a) | Expr::Unary(_, a) => inner_params(a, key),
        Expr::Binary(_, a, b) => {
            inner_params(a, key);
            inner_params(b, key);
        }
        _ => {}
    }
}
