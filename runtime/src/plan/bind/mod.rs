//! Binding: a function's graph and the metadata of one call become a plan.

mod group;
mod infer;
mod kept;
mod key;
mod library;
mod region;

pub(crate) use infer::{check_written, host_error};
pub(crate) use kept::{Kept, rebind};
pub(crate) use key::key_params;
pub(crate) use region::PathTypes;

use super::arena::{BUFFER, Draft, bases_mut, place};
use super::check::{self, Divisor};
use super::link::Strips;
use super::op::{Attribute, Dense, OpStep};
use super::reuse;
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
    Arg, Code, Env, EvalError, Expr, Graph, GraphModule, Host, HostError, HostType, Interpreter, NodeId,
    NodeKind, Op, OpError, OpErrorKind, Scalar, ScalarInput, TensorType, TypeError, TypeInterpreter, Value,
};
use tensorplay_stax::blob::{Blob, Instance};
use tensorplay_stax::kernel::{MAX_STRIP_OPERANDS, Space};
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

/// How groups are bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct How {
    /// What they may run on.
    pub kernels: Kernels,
    /// The groups of the schedule whose operations run together: those below this number.
    pub fused: u32,
    /// Whether half-precision values are rounded after every operation.
    pub rounds_each: bool,
}

impl From<Kernels> for How {
    fn from(kernels: Kernels) -> How {
        How {
            kernels,
            fused: u32::MAX,
            rounds_each: false,
        }
    }
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

    fn is_contiguous(&self) -> bool {
        Layout::new(self.shape.clone(), self.strides.clone(), 0).is_ok_and(|l| l.is_contiguous())
    }
}

/// Binds `blob` to inputs. `scalars` holds the values that are part of the key. The scalars of a `call`
/// tell the types of those that the build did not know. The rules of the operations that the user wrote have been checked
/// ([`check_written`], linking), so that errors name these.
pub(crate) fn bind(
    blob: &Blob,
    strips: &Strips,
    inputs: &[Meta],
    scalars: &[Option<Host>],
    call: Option<&[Host]>,
    how: impl Into<How>,
) -> Result<Plan> {
    bind_kept(blob, strips, inputs, scalars, call, how.into()).map(|(plan, _)| plan)
}

/// The same, with what binding another layout of the same sizes begins with.
pub(crate) fn bind_kept(
    blob: &Blob,
    strips: &Strips,
    inputs: &[Meta],
    scalars: &[Option<Host>],
    call: Option<&[Host]>,
    how: How,
) -> Result<(Plan, Kept)> {
    let module = &blob.module;
    let dtypes: Vec<DType> = inputs.iter().map(|m| m.dtype).collect();
    let mut specs = Binding::new(module);
    for (i, (spec, meta)) in module.specs.iter().zip(inputs).enumerate() {
        if let Some(spec) = spec {
            let name = &module.graph.node(module.graph.inputs[i]).name;
            specs.check(name, spec, meta.dtype, &meta.shape)?;
        }
    }
    let infer = |scalars: &[Option<Host>]| {
        Typing::infer(module, &dtypes, scalars).map_err(|e| {
            let node = module.graph.node(e.node);
            let error = match node.op() {
                Some(op) => e.error.within(blob.written_op(e.node, op)),
                None => e.error,
            };
            Error::from(error).placed(node.location)
        })
    };
    let (typing, instance) = match infer::told(module, scalars, call) {
        None => (
            infer(scalars)?,
            blob.instances.iter().find(|i| i.inputs == dtypes),
        ),
        Some(told) => {
            let typing = infer(&told)?;
            let instance = instance(blob, inputs, &typing, scalars);
            (typing, instance)
        }
    };
    let mut b = Binder {
        blob,
        strips,
        typing: Arc::new(typing),
        scalars,
        how,
        instance,
        shapes: Arc::new(Vec::with_capacity(module.graph.nodes.len())),
        places: vec![Vec::new(); module.graph.nodes.len()],
        kept: None,
        inputs,
        drafts: Vec::new(),
        bytes: 0,
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
    let number = instance.and_then(|i| blob.instances.iter().position(|other| std::ptr::eq(i, other)));
    let mut marks = Vec::with_capacity(blob.schedule.units.len());
    for (u, unit) in blob.schedule.units.iter().enumerate() {
        let before = b.counts;
        let fallbacks = b.fallbacks.len();
        b.unit(u as u32, unit)?;
        marks.push(b.mark(before, fallbacks));
    }
    b.finish(marks, number)
}

/// Where the first operation of a unit is.
fn first_place(blob: &Blob, unit: &Unit) -> u32 {
    let first = unit.members.first();
    first.map_or(0, |m| blob.module.graph.node(m.node).location)
}

/// The kernels that were emitted for inputs of these dtypes, with values of these types.
fn instance<'b>(
    blob: &'b Blob,
    inputs: &[Meta],
    typing: &Typing,
    scalars: &[Option<Host>],
) -> Option<&'b Instance> {
    let fits = |i: &&Instance| {
        let same = i.inputs.iter().copied().eq(inputs.iter().map(|m| m.dtype));
        same && Typing::infer(&blob.module, &i.inputs, scalars).is_ok_and(|t| t.alike(typing))
    };
    blob.instances.iter().find(fits)
}

struct Binder<'a> {
    blob: &'a Blob,
    strips: &'a Strips,
    typing: Arc<Typing>,
    scalars: &'a [Option<Host>],
    how: How,
    instance: Option<&'a Instance>,
    shapes: Arc<Vec<Vec<Sizes>>>,
    places: Vec<Vec<Option<Place>>>,
    /// A plan of the same sizes, whose places hold where there are no others.
    kept: Option<&'a Kept>,
    inputs: &'a [Meta],
    drafts: Vec<Draft>,
    /// The sizes of the drafts together.
    bytes: usize,
    constants: Vec<Tensor>,
    steps: Vec<Step>,
    draws: usize,
    /// Half-precision values inside a split group, kept in f32.
    wide: Vec<Value>,
    counts: StepCounts,
    fallbacks: Vec<Fallback>,
}

/// Base numbers: inputs, then constants and buffers in the order of their creation, told apart by the top bits.
const CONSTANT: u32 = 1 << 30;

impl<'a> Binder<'a> {
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

    fn stored(&self, v: Value) -> DType {
        let d = self.typing.dtype(v);
        if self.wide.contains(&v) || self.graph().is_interior(v) {
            d.compute()
        } else {
            d
        }
    }

    /// The place of a value; inputs are placed on first use.
    fn place(&mut self, v: Value) -> Result<Place> {
        if let Some(Some(p)) = self.places[v.node.index()].get(v.index as usize) {
            return Ok(p.clone());
        }
        let node = self.graph().node(v.node);
        let NodeKind::Input(i) = node.kind else {
            if let Some(p) = self.kept.and_then(|k| k.place(v)) {
                return Ok(p.clone());
            }
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
        let full = || Error::OutOfMemory { bytes: usize::MAX };
        let bytes = layout.elem_count().checked_mul(dtype.size()).ok_or_else(full)?;
        // far less than `usize::MAX` in all, so that offsets in the arena do not overflow
        let total = self.bytes.checked_add(bytes);
        self.bytes = total.filter(|&n| n <= isize::MAX as usize).ok_or_else(full)?;
        let base = BUFFER | self.drafts.len() as u32;
        self.drafts.push(Draft {
            bytes,
            escapes: false,
        });
        Ok(Place { base, layout, dtype })
    }

    fn unit(&mut self, u: u32, unit: &'a Unit) -> Result<()> {
        let done = match unit.kind {
            UnitKind::Map | UnitKind::Row => self.group(u, unit),
            UnitKind::View => self.view(unit.members[0].node),
            UnitKind::Contract => self.product(unit.members[0].node),
            UnitKind::Copy => self.join(unit.members[0].node),
            UnitKind::Op => self.operation(unit.members[0].node),
            UnitKind::Region => self.regions(u, unit.members[0].node),
            UnitKind::Link => self.opaque(unit.members[0].node),
            UnitKind::Create => self.create(unit.members[0].node),
        };
        done.map_err(|e| e.placed(first_place(self.blob, unit)))
    }

    fn finish(mut self, marks: Vec<kept::Mark>, instance: Option<usize>) -> Result<(Plan, Kept)> {
        let (mut outputs, handles) = self.outputs()?;
        for p in &outputs {
            if p.base & BUFFER != 0 {
                self.drafts[(p.base & !BUFFER) as usize].escapes = true;
            }
        }
        let (buffers, arena) = place(&self.drafts, &self.steps);
        let bases = Bases::of(&self);
        for step in &mut self.steps {
            bases_mut(step, &mut |base| *base = bases.last(*base));
        }
        outputs.iter_mut().for_each(|p| p.base = bases.last(p.base));
        let mut plan = Plan {
            inputs: self.inputs.len(),
            buffers,
            constants: self.constants,
            draws: self.draws,
            steps: self.steps,
            outputs,
            handles,
            reuses: Vec::new(),
            arena,
            counts: self.counts,
            fallbacks: self.fallbacks,
        };
        let contiguous: Vec<bool> = self.inputs.iter().map(Meta::is_contiguous).collect();
        plan.reuses = reuse::find(&self.blob.module, &plan, &contiguous);
        let kept = Kept {
            instance,
            typing: self.typing,
            shapes: self.shapes,
            inputs: self.inputs.to_vec(),
            scalars: self.scalars.to_vec(),
            how: self.how,
            places: self.places,
            drafts: self.drafts,
            marks,
            steps: plan.steps.clone(),
            buffers: plan.buffers.clone(),
            constants: plan.constants.clone(),
            outputs: plan.outputs.iter().map(|p| p.base).collect(),
            arena,
        };
        Ok((plan, kept))
    }

    /// Where the outputs are, and which of them are inputs as they came.
    fn outputs(&mut self) -> Result<(Vec<Place>, Vec<Option<u32>>)> {
        let blob = self.blob;
        let outputs = blob.module.graph.outputs.iter();
        let handle = |v: &Value| match blob.module.graph.node(v.node).kind {
            NodeKind::Input(i) => Some(i),
            NodeKind::Call(..) => None,
        };
        let handles = outputs.clone().map(handle).collect();
        let places = outputs.map(|v| self.place(*v)).collect::<Result<_>>()?;
        Ok((places, handles))
    }
}

/// How bases are numbered in a plan: inputs, constants, buffers.
#[derive(Clone, Copy)]
struct Bases {
    inputs: u32,
    constants: u32,
}

impl Bases {
    fn of(b: &Binder<'_>) -> Bases {
        Bases {
            inputs: b.inputs.len() as u32,
            constants: b.constants.len() as u32,
        }
    }

    /// The last number of a base.
    fn last(self, base: u32) -> u32 {
        if base & BUFFER != 0 {
            (base & !BUFFER) + self.inputs + self.constants
        } else if base & CONSTANT != 0 {
            (base & !CONSTANT) + self.inputs
        } else {
            base
        }
    }
}
