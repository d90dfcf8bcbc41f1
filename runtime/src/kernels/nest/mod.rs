//! Nests: a kernel bound to real shapes and strides, as data, and its execution.
//!
//! Problem: strips run contiguous lanes only; tensors come broadcast, transposed, sliced, and rows of any length
//! must be folded. Method: [`Nest::bind`] orders and collapses the axes into *outer* axes, one axis of *rows*
//! and *lanes*, and decides for every buffer whether strips read it in place or through an L1-resident tile.
//! [`Nest::run`] walks blocks of rows (or of lanes) with [`par`](super::par) and executes the steps block by
//! block (`exec`); tiles are filled and written back by `copy`.
//!
//! Invariants: a nest holds no data pointers, so it is shared between threads and calls; the borders at which
//! floats are folded depend on the shapes only; nothing is allocated on the run path but scratch from the
//! thread's `arena`; a space without elements touches no memory, except that folds over an
//! empty axis write their identity.

mod bind;
mod copy;
mod exec;
#[cfg(test)]
mod speed;
#[cfg(test)]
mod tests;

use super::reduce::{Folder, MomentsFn};
use super::strip::Strip;
use super::vm::Tile;
use smallvec::SmallVec;
use std::sync::OnceLock;
use tensorplay_graph::{DType, Scalar};
use tensorplay_stax::kernel::{Kernel, Space};

pub(crate) use bind::value_bytes;

/// How a tensor lies over the iteration space.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct View {
    /// In elements, one an axis of the space (of its outer axes for a row buffer); 0 broadcasts.
    pub strides: SmallVec<[isize; 6]>,
}

/// What runs the programs of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Code<'a> {
    /// Emitted strips, one for each `Map` step in order.
    Emitted(&'a [Strip]),
    /// The tile VM.
    Tile,
}

/// Where strips find a buffer.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In the tensor itself.
    Direct,
    /// In a tile of one chunk of a block's rows, at this offset of the thread's area; `lone`: all rows are the same
    /// and the tile has one.
    Chunk { at: usize, lone: bool },
    /// In a tile of a block's whole rows, at this offset of the block's area.
    Full { at: usize },
    /// One value a row of the block, at this offset of the block's area.
    RowTile { at: usize },
}

/// One buffer: strides in bytes.
#[derive(Clone, Debug)]
struct Plan {
    size: usize,
    space: Space,
    outer: SmallVec<[isize; 6]>,
    row: isize,
    lane: SmallVec<[isize; 6]>,
    place: Place,
}

/// An operand of a strip call.
#[derive(Clone, Copy, Debug)]
struct Input {
    buffer: u16,
    splat: bool,
    size: usize,
}

#[derive(Clone, Debug)]
struct MapPlan {
    /// Which of the kernel's maps.
    number: usize,
    inputs: SmallVec<[Input; 4]>,
    params: SmallVec<[u16; 4]>,
    outputs: SmallVec<[Input; 2]>,
    /// Whether the first output is updated in place; it is not among the inputs.
    updates: bool,
}

/// How a sum and the squares around its mean share one reading of the row.
#[derive(Clone, Copy, Debug)]
enum Share {
    /// A fold of its own.
    No,
    /// A sum that also leaves its rows' moments at this offset of the block's area.
    Give { at: usize, fns: [MomentsFn; 3] },
    /// Squares that take the moments from there.
    Take { at: usize },
}

#[derive(Clone, Copy, Debug)]
struct ReducePlan {
    folder: Folder,
    src: u16,
    dst: u16,
    dtype: DType,
    center: Option<(u16, DType)>,
    share: Share,
}

#[derive(Clone, Debug)]
enum Elem {
    Map(MapPlan),
    Reduce(ReducePlan),
}

/// Steps that run chunk by chunk in one pass over a block's rows.
#[derive(Clone, Debug)]
struct ElemPhase {
    steps: Vec<Elem>,
    /// Operands whose tiles the pass fills, and outputs whose tiles it writes back.
    gathers: SmallVec<[u16; 4]>,
    scatters: SmallVec<[u16; 4]>,
}

#[derive(Clone, Debug)]
enum Phase {
    Elem(ElemPhase),
    Row(MapPlan),
}

impl Phase {
    fn touches(&self, b: usize) -> bool {
        let map = |m: &MapPlan| {
            m.inputs
                .iter()
                .chain(&m.outputs)
                .any(|i| usize::from(i.buffer) == b)
        };
        match self {
            Phase::Row(m) => map(m),
            Phase::Elem(p) => p.steps.iter().any(|s| match s {
                Elem::Map(m) => map(m),
                Elem::Reduce(r) => usize::from(r.src) == b,
            }),
        }
    }

    fn writes(&self, b: usize) -> bool {
        let map = |m: &MapPlan| m.outputs.iter().any(|i| usize::from(i.buffer) == b);
        match self {
            Phase::Row(m) => map(m),
            Phase::Elem(p) => p.steps.iter().any(|s| matches!(s, Elem::Map(m) if map(m))),
        }
    }

    fn folds(&mut self) -> impl Iterator<Item = &mut ReducePlan> {
        let steps = match self {
            Phase::Row(_) => &mut [],
            Phase::Elem(p) => p.steps.as_mut_slice(),
        };
        steps.iter_mut().filter_map(|s| match s {
            Elem::Reduce(r) => Some(r),
            Elem::Map(_) => None,
        })
    }

    fn reduces(&self) -> usize {
        match self {
            Phase::Row(_) => 0,
            Phase::Elem(p) => p.steps.iter().filter(|s| matches!(s, Elem::Reduce(_))).count(),
        }
    }
}

/// A kernel bound to shapes and strides. Plan data: no pointers to tensors.
#[derive(Debug)]
pub struct Nest {
    phases: Vec<Phase>,
    operands: usize,
    outputs: usize,
    rows_matter: bool,
    /// Axes outside the row axis.
    outer: SmallVec<[usize; 6]>,
    rows: usize,
    /// Axes of a row; element-wise kernels have at most one.
    lanes: SmallVec<[usize; 6]>,
    len: usize,
    plans: Vec<Plan>,
    /// Rows of a block, and rows that a pass of several steps takes at a time.
    block: usize,
    abreast: usize,
    /// Lanes of a chunk.
    chunk: usize,
    /// Long rows are folded in `pieces` of `piece` lanes, which are combined in order.
    piece: usize,
    pieces: usize,
    /// A row is one chunk, so that a fold reads it in one call.
    whole: bool,
    /// Blocks of work: outer x `blocks` x `chunks`.
    units: usize,
    blocks: usize,
    chunks: usize,
    /// Bytes of a block's area, the offset of its fold states, and bytes of a thread's area.
    shared: usize,
    accs: usize,
    local: usize,
    /// Offsets of the Bool row tiles.
    bool_rows: SmallVec<[usize; 2]>,
    /// One map over contiguous lanes: no blocks, no tiles.
    flat: bool,
    cost_ns: u64,
    params: SmallVec<[DType; 4]>,
    /// The maps' programs, compiled for the VM when it first runs them.
    tiles: Vec<OnceLock<Result<Tile, String>>>,
}

impl Nest {
    /// Binds a kernel to the iteration space `shape`, outer axes first. `reduced` trailing axes form a row; 0 for
    /// an element-wise kernel, whose whole space is elements. Views have strides over the space, or over the
    /// outer axes for a row buffer.
    pub fn bind(
        kernel: &Kernel,
        shape: &[usize],
        reduced: usize,
        operands: &[View],
        outputs: &[View],
    ) -> Nest {
        bind::bind(kernel, shape, reduced, operands, outputs)
    }

    /// Runs the kernel that was bound. Panics if there are not as many strips as maps, or the VM lacks an instruction.
    ///
    /// # Safety
    /// Operands are readable and outputs writable over the whole space with the bound strides, all aligned to
    /// their elements; Bool elements are 0 or 1; distinct elements of an output have distinct addresses; no
    /// output overlaps an operand or another output; `kernel` is the one that was bound, and strips fit its programs.
    pub unsafe fn run(
        &self,
        kernel: &Kernel,
        code: Code<'_>,
        operands: &[*const u8],
        outputs: &[*mut u8],
        params: &[Scalar],
    ) {
        assert!(
            operands.len() == self.operands
                && outputs.len() == self.outputs
                && params.len() == self.params.len(),
            "operands of kernel `{}`",
            kernel.name
        );
        if let Code::Emitted(strips) = code {
            assert_eq!(
                strips.len(),
                self.tiles.len(),
                "strips of kernel `{}`",
                kernel.name
            );
        }
        if self.units == 0 {
            return;
        }
        // SAFETY: the caller's contract.
        unsafe { exec::run(self, kernel, code, operands, outputs, params) }
    }

    /// Whether a space has no lanes.
    pub fn is_empty(&self, space: Space) -> bool {
        let no_rows = self.rows == 0 || self.outer.contains(&0);
        no_rows || (space == Space::Elem && self.len == 0)
    }

    /// Estimated nanoseconds on one thread.
    pub fn cost_ns(&self) -> u64 {
        self.cost_ns
    }
}
