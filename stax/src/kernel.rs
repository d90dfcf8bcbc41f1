//! The kernel IR: what one fused group computes, typed and lane-neutral.
//!
//! Problem: one description of a group must serve the Rust emitter, the CUDA emitter and the tile VM,
//! and stay valid for every shape, stride and thread count that the group meets at run time.
//!
//! Method: a kernel iterates over an *element space* `S`, split into rows by the axes that its
//! reductions remove. It is a list of steps over named buffers. A [`Step::Map`] evaluates a
//! [`Program`] (straight-line SSA) on every lane of its space: over the elements of a row, or over
//! one value a row. A [`Step::Reduce`] folds an element buffer into one value a row. An element-wise
//! group is a kernel with one `Map` and no rows.
//!
//! Invariants:
//! * steps run in order; a step reads only operands and buffers that earlier steps wrote;
//! * a `Map` in row space reads row buffers only; one in element space reads row buffers as
//!   [`Access::Splat`];
//! * every buffer is written exactly once, and no `Map` reads a buffer that it writes, but for updates: an output
//!   may also hold, until the last element pass, a value of its own type that folds and that pass read. The
//!   `Map` that replaces it has that buffer as its last input ([`Access::Update`]) and as its first output;
//! * a `Reduce` source is never f16, bf16 (a `Map` converts it before), and its destination is a row buffer;
//! * program values have a compute type ([`DType::compute`]): f16 and bf16 exist in buffers only.

use serde::{Deserialize, Serialize};
use tensorplay_graph::{DType, Op, Scalar};

/// Whether a buffer has one value an element or one value a row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Space {
    /// One value per element of the iteration space.
    Elem,
    /// One value per row: the iteration space without its reduced axes.
    Row,
}

/// A tensor, or an intermediate, that a kernel touches.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Buffer {
    /// The name in the user's source, or a derived one.
    pub name: String,
    /// How values are stored.
    pub dtype: DType,
    /// Element or row.
    pub space: Space,
}

/// A host scalar that reaches the kernel at run time. Stored in `dtype`, a compute type.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Param {
    /// The name in the user's source.
    pub name: String,
    /// A compute type.
    pub dtype: DType,
}

/// A reference to a buffer of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Buf {
    /// `Kernel::operands[i]`: a tensor that exists before the kernel runs.
    Operand(u16),
    /// `Kernel::outputs[i]`.
    Output(u16),
    /// `Kernel::scratch[i]`: lives while one block of rows is processed.
    Scratch(u16),
}

/// How a `Map` reads an input.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Access {
    /// One value a lane.
    Lanes,
    /// One value for all lanes of the call (a row buffer read in element space).
    Splat,
    /// One value a lane, of the buffer that the program's first output replaces. Only the last input has it.
    Update,
}

/// Inputs, params and outputs of an emitted program. One with more runs on the tile VM.
pub const MAX_STRIP_OPERANDS: usize = 64;

/// A value of a program: inputs come first, then params, then one value an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Var(pub u16);

/// What an instruction does with its arguments.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum LaneOp {
    /// A literal of the instruction's dtype.
    Const(Scalar),
    /// Conversion of the argument to the instruction's dtype; saturates as Rust's `as`, `!= 0` for bool.
    Cast,
    /// Rounding of an f32 to f16 precision.
    RoundF16,
    /// Rounding of an f32 to bf16 precision.
    RoundBF16,
    /// The lane method of that op's name; all arguments have one compute type (but for the mask
    /// of `where_cond`, which is Bool and comes first).
    Op(Op),
    /// `a * b + c`, rounded once where the instruction set can and twice elsewhere; floats.
    Fmuladd,
}

/// One SSA instruction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Inst {
    /// The operation.
    pub op: LaneOp,
    /// Earlier values.
    pub args: Vec<Var>,
    /// The result's compute type.
    pub dtype: DType,
    /// The name in emitted code, unique in the program.
    pub name: String,
}

/// An input of a program.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Input {
    /// The name in emitted code, unique in the program.
    pub name: String,
    /// The storage type; the value has `dtype.compute()`.
    pub dtype: DType,
    /// One value a lane, or one for all.
    pub access: Access,
}

/// An output of a program.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Output {
    /// What is stored.
    pub value: Var,
    /// The storage type; `dtype.compute()` is the value's type, rounding happens on store.
    pub dtype: DType,
    /// The name in emitted code, unique among the outputs.
    pub name: String,
}

/// A straight-line program over lanes: the unit that is emitted as one strip.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    /// The name of the strip, unique in its function.
    pub name: String,
    /// What is loaded.
    pub inputs: Vec<Input>,
    /// Run-time scalars.
    pub params: Vec<Param>,
    /// The instructions in order.
    pub insts: Vec<Inst>,
    /// What is stored.
    pub outputs: Vec<Output>,
}

impl Program {
    /// Whether the first output replaces the last input, lane by lane.
    pub fn updates(&self) -> bool {
        self.inputs.last().is_some_and(|i| i.access == Access::Update)
    }

    /// The program without names: two that differ in nothing else are one strip.
    #[must_use]
    pub fn nameless(&self) -> Program {
        let mut p = self.clone();
        p.name.clear();
        p.inputs.iter_mut().for_each(|i| i.name.clear());
        p.params.iter_mut().for_each(|s| s.name.clear());
        p.insts.iter_mut().for_each(|i| i.name.clear());
        p.outputs.iter_mut().for_each(|o| o.name.clear());
        p
    }

    /// The number of inputs, params and outputs; one that is updated counts once.
    pub fn operands(&self) -> usize {
        self.inputs.len() + self.params.len() + self.outputs.len() - usize::from(self.updates())
    }

    /// The compute type of a value.
    pub fn dtype(&self, v: Var) -> DType {
        let (i, n, p) = (usize::from(v.0), self.inputs.len(), self.params.len());
        if i < n {
            self.inputs[i].dtype.compute()
        } else if i < n + p {
            self.params[i - n].dtype
        } else {
            self.insts[i - n - p].dtype
        }
    }

    /// The name of a value in emitted code.
    pub fn value_name(&self, v: Var) -> &str {
        let (i, n, p) = (usize::from(v.0), self.inputs.len(), self.params.len());
        if i < n {
            &self.inputs[i].name
        } else if i < n + p {
            &self.params[i - n].name
        } else {
            &self.insts[i - n - p].name
        }
    }
}

/// A program applied to every lane of a space.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Map {
    /// Where it runs: per element of each row, or once over the rows.
    pub space: Space,
    /// One buffer per program input.
    pub inputs: Vec<Buf>,
    /// For each program param, its index in `Kernel::params`.
    pub params: Vec<u16>,
    /// The program.
    pub program: Program,
    /// One buffer per program output.
    pub outputs: Vec<Buf>,
}

/// How a row is folded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ReduceKind {
    /// Sum; integer and Bool sources accumulate in i64, f32 in blocks whose partial sums are added in f64.
    Sum,
    /// Product.
    Prod,
    /// Largest; NaN wins.
    Max,
    /// Smallest; NaN wins.
    Min,
    /// Index of the largest along the one reduced axis, first of ties, first NaN wins; i64.
    ArgMax,
    /// Index of the smallest, likewise.
    ArgMin,
    /// Whether any is true; Bool.
    Any,
    /// Whether all are true; Bool.
    All,
    /// `sum((x - center)^2)` with a row buffer as centre, or `sum(x^2)` without.
    SumSquares {
        /// The row buffer subtracted from every element.
        center: Option<Buf>,
    },
}

/// A fold of an element buffer into one value a row.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Reduce {
    /// The fold.
    pub kind: ReduceKind,
    /// An element buffer: an operand, scratch, or an output that a later `Map` updates.
    pub src: Buf,
    /// A row buffer; its dtype is the result's.
    pub dst: Buf,
}

/// One step of a kernel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Step {
    /// A program over all lanes of a space.
    Map(Map),
    /// A fold over rows.
    Reduce(Reduce),
}

/// What one fused group computes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Kernel {
    /// A name from the ops and the source, unique in its function: `matmul_add_gelu`.
    pub name: String,
    /// `file:line` and the source text of the group's last op.
    pub source: String,
    /// Tensors read. Two entries may be one tensor seen in both spaces.
    pub operands: Vec<Buffer>,
    /// Tensors written.
    pub outputs: Vec<Buffer>,
    /// Intermediates of one block of rows.
    pub scratch: Vec<Buffer>,
    /// Run-time scalars.
    pub params: Vec<Param>,
    /// The steps in order.
    pub steps: Vec<Step>,
}

impl Kernel {
    /// The buffer behind a reference.
    pub fn buffer(&self, b: Buf) -> &Buffer {
        match b {
            Buf::Operand(i) => &self.operands[usize::from(i)],
            Buf::Output(i) => &self.outputs[usize::from(i)],
            Buf::Scratch(i) => &self.scratch[usize::from(i)],
        }
    }

    /// Whether rows matter: some step folds, or some buffer has one value a row.
    pub fn has_rows(&self) -> bool {
        self.steps.iter().any(|s| matches!(s, Step::Reduce(_)))
            || self
                .operands
                .iter()
                .chain(&self.outputs)
                .any(|b| b.space == Space::Row)
    }

    /// The `Map` steps in order; strip `k` of a binary belongs to the `k`-th of them.
    pub fn maps(&self) -> impl Iterator<Item = &Map> {
        self.steps.iter().filter_map(|s| match s {
            Step::Map(m) => Some(m),
            Step::Reduce(_) => None,
        })
    }
}
