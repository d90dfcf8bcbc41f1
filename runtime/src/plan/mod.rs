//! Plans: one path of a function, bound to real sizes, as data.
//!
//! Problem: what depends on shapes (iteration spaces, views, buffer sizes, which kernels are legal) must be
//! worked out once, and a call with known shapes must do nothing but run kernels.
//!
//! Method: [`bind`](bind::bind) evaluates the shape and dtype rules over the inputs' real metadata, turns views into layouts,
//! checks the predicates of every scheduled group, and lists steps over numbered bases (inputs,
//! buffers, constants). [`Plan::run`] walks the list.
//!
//! Invariants: a plan holds no pointers; a step writes only buffers of this call, and inputs that [`reuse`] says; buffers of one
//! arena overlap only if their lives do not; an output that leaves the call has storage of its own, or is a view of an input.

mod arena;
pub(crate) mod bind;
mod check;
mod contract;
mod copy;
pub(crate) mod link;
mod op;
mod region;
mod reuse;
mod run;
mod space;
pub(crate) mod spec;

use crate::kernels::nest::Nest;
use crate::kernels::strip::Strip;
use crate::layout::{Layout, Sizes};
use crate::random::RandomKey;
use crate::{DType, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;
use tensorplay_graph::{Expr, Host, Op, Scalar};
use tensorplay_stax::lower::Lowered;

/// Memory of a step: a base of the call and a byte offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ref {
    pub base: u32,
    pub offset: usize,
}

/// Where a value lives.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub base: u32,
    /// Relative to the base, in elements.
    pub layout: Layout,
    pub dtype: DType,
}

impl Place {
    pub(crate) fn at(&self) -> Ref {
        Ref {
            base: self.base,
            offset: self.layout.offset() * self.dtype.size(),
        }
    }
}

/// A buffer of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Buffer {
    /// Bytes of the arena from an offset.
    Arena(usize),
    /// Storage of its own, of that many bytes.
    Fresh(usize),
}

/// A run-time scalar of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Param {
    Known(Scalar),
    /// Computed at the call; the operation that takes it, and where that is among the locations of the graph.
    Call(Expr, &'static str, u32),
}

#[derive(Debug)]
pub(crate) struct KernelStep {
    pub lowered: Arc<Lowered>,
    pub nest: Nest,
    /// Emitted strips; the tile VM runs the kernel if there are none.
    pub strips: Option<&'static [Strip]>,
    pub operands: SmallVec<[Ref; 6]>,
    pub outputs: SmallVec<[Ref; 2]>,
    pub params: Vec<Param>,
    /// Where the first of its operations is.
    pub place: u32,
    /// Integer divisors, which must not hold a zero: operand positions with their layouts.
    pub divisors: Vec<check::Divisor>,
}

#[derive(Debug)]
pub(crate) struct MatmulStep {
    pub dtype: DType,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: Ref,
    pub b: Ref,
    pub out: Ref,
    /// Row and column strides in elements.
    pub a_strides: [isize; 2],
    pub b_strides: [isize; 2],
    pub out_strides: [isize; 2],
    /// Element offsets of every product of the batch.
    pub batch: Vec<[usize; 3]>,
}

#[derive(Debug)]
pub(crate) struct CopyStep {
    pub size: usize,
    pub shape: Sizes,
    pub src: Ref,
    pub src_strides: Sizes,
    pub dst: Ref,
    pub dst_strides: Sizes,
}

/// A random tensor, drawn anew by every call.
#[derive(Debug)]
pub(crate) struct DrawStep {
    pub op: Op,
    pub shape: Sizes,
    pub dtype: DType,
    /// Which of the call's random numbers it takes.
    pub number: u64,
    pub base: u32,
}

/// One thing to do. Plans that differ in layouts alone share what is the same in them.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Kernel(Arc<KernelStep>),
    Matmul(Arc<MatmulStep>),
    Copy(Arc<CopyStep>),
    Draw(Arc<DrawStep>),
    Op(Arc<op::OpStep>),
    Region(Arc<region::RegionStep>),
}

/// How often the steps of a plan run on what.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StepCounts {
    /// Fused groups on emitted kernels.
    pub emitted: u64,
    /// Fused groups, or nodes of a split group, on the tile VM.
    pub tile: u64,
    /// Matrix products.
    pub contractions: u64,
    /// Copies.
    pub copies: u64,
    /// Runtime operations: those with a kernel of their own, and random tensors.
    pub ops: u64,
    /// Groups that run node by node because a predicate failed.
    pub splits: u64,
}

impl StepCounts {
    /// What was counted since.
    pub(crate) fn since(self, before: StepCounts) -> StepCounts {
        StepCounts {
            emitted: self.emitted - before.emitted,
            tile: self.tile - before.tile,
            contractions: self.contractions - before.contractions,
            copies: self.copies - before.copies,
            ops: self.ops - before.ops,
            splits: self.splits - before.splits,
        }
    }

    /// Adds those of so many runs.
    pub(crate) fn add(&mut self, c: StepCounts, runs: u64) {
        self.emitted += runs * c.emitted;
        self.tile += runs * c.tile;
        self.contractions += runs * c.contractions;
        self.copies += runs * c.copies;
        self.ops += runs * c.ops;
        self.splits += runs * c.splits;
    }
}

/// Why a scheduled group runs otherwise than its kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fallback {
    /// The group's kernel name, or its op.
    pub group: String,
    /// The reason, with shapes or dtypes.
    pub reason: String,
}

/// A path bound to real sizes.
#[derive(Debug)]
pub(crate) struct Plan {
    pub inputs: usize,
    pub buffers: Vec<Buffer>,
    pub constants: Vec<Tensor>,
    pub draws: usize,
    pub steps: Vec<Step>,
    pub outputs: Vec<Place>,
    /// For each output that is an input as it came: which.
    pub handles: Vec<Option<u32>>,
    /// The outputs that may be written where an input lies.
    pub reuses: Vec<reuse::Reuse>,
    pub arena: usize,
    pub counts: StepCounts,
    pub fallbacks: Vec<Fallback>,
}

/// The results of a call.
pub type Results = SmallVec<[Tensor; 2]>;

/// The values with which a call evaluates what is not bound.
pub(crate) struct CallScalars<'a>(pub &'a [Host]);

impl tensorplay_graph::Env for CallScalars<'_> {
    fn param(&self, index: u32) -> Option<Host> {
        self.0.get(index as usize).copied()
    }
    fn rank(&self, _: tensorplay_graph::Value) -> Option<usize> {
        None
    }
    fn dim(&self, _: tensorplay_graph::Value, _: usize) -> Option<usize> {
        None
    }
    fn dtype(&self, _: tensorplay_graph::Value) -> Option<DType> {
        None
    }
}

/// The random numbers of a call: `n` op numbers reserved at its start.
pub(crate) fn reserve(n: usize) -> Option<RandomKey> {
    (n > 0).then(|| crate::random::reserve_ops(n as u64))
}
