//! `Row`: one line of the op table, as data.

use super::options::OptionsRow;
use super::{decompose, dtype, options, shape};
use crate::error::{Code, OpErrorKind, count};
use crate::op::Op;
use crate::{Arg, Builder, DType, Host, HostType, OpError, Shape, Symbol, TensorType, Value};

/// What a parameter takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamKind {
    /// A tensor.
    Tensor,
    /// A tensor of integers: indices.
    Index,
    /// A tensor or nothing.
    OptTensor,
    /// A list of tensors.
    Tensors,
    /// A tensor or a scalar.
    Operand,
    /// A scalar.
    Scalar,
    /// A float.
    Float,
    /// An integer: a size, an index, a count.
    Int,
    /// An axis; negative counts from the end.
    Dim,
    /// Several axes.
    Dims,
    /// Several integers.
    Ints,
    /// Sizes, or a tensor whose sizes are meant: they may be more or fewer in each call.
    Shape,
    /// An element type.
    DType,
    /// A flag.
    Flag,
    /// The number of a graph inside the module.
    Region,
    /// What a callee takes: tensors, numbers, parts of aggregates, or nothing for an absent `Option`.
    Arguments,
    /// The number of a loop's steps, or the list that it goes over; none for one that goes on while a path of its body fits.
    Over,
    /// A struct of settings or an enum, flattened.
    Options(&'static OptionsRow),
}

impl ParamKind {
    /// What the parameter takes, in words.
    pub const fn takes(self) -> &'static str {
        match self {
            ParamKind::Tensor => "a tensor",
            ParamKind::Index => "a tensor of integers",
            ParamKind::OptTensor => "a tensor or none",
            ParamKind::Tensors => "a list of tensors",
            ParamKind::Operand => "a tensor or a scalar",
            ParamKind::Scalar => "a scalar",
            ParamKind::Float => "a number",
            ParamKind::Int => "an integer",
            ParamKind::Dim => "a dim",
            ParamKind::Dims => "a list of dims",
            ParamKind::Ints => "a list of integers",
            ParamKind::Shape => "a list of sizes",
            ParamKind::DType => "a dtype",
            ParamKind::Flag => "a bool",
            ParamKind::Region => "a region",
            ParamKind::Arguments => "a list of arguments",
            ParamKind::Over => "a count, or lists of aggregates",
            ParamKind::Options(o) => o.name,
        }
    }

    /// Whether an argument fits by its form.
    pub fn accepts(self, arg: &Arg) -> bool {
        let host = |t: HostType| self.accepts_host(t);
        match (self, arg) {
            (ParamKind::Arguments, Arg::List(l)) => !l.iter().any(|a| matches!(a, Arg::List(_))),
            (_, Arg::Field(_)) => self == ParamKind::Over,
            (ParamKind::Shape, Arg::Value(_)) => true,
            (_, Arg::Value(_)) => self.takes_tensor(),
            (_, Arg::None) => matches!(self, ParamKind::OptTensor | ParamKind::Over),
            (ParamKind::Over, Arg::List(l)) => l.iter().all(|a| matches!(a, Arg::Field(_))),
            (ParamKind::Tensors, Arg::List(l)) => l.iter().all(|a| matches!(a, Arg::Value(_))),
            (ParamKind::Options(o), Arg::List(l)) => {
                l.len() == o.len()
                    && l.iter().enumerate().all(|(i, a)| match a {
                        Arg::Host(e) => o.accepts(i, Some(e.host_type())),
                        Arg::None => o.accepts(i, None),
                        _ => false,
                    })
            }
            (ParamKind::Dims | ParamKind::Ints | ParamKind::Shape, Arg::List(l)) => {
                l.iter().all(|a| matches!(a, Arg::Host(e) if host(e.host_type())))
            }
            (_, Arg::List(_)) => false,
            (_, Arg::Host(e)) => host(e.host_type()),
        }
    }

    fn accepts_host(self, t: HostType) -> bool {
        match self {
            ParamKind::Operand | ParamKind::Scalar => t != HostType::DType,
            ParamKind::Float => !matches!(t, HostType::DType | HostType::Bool),
            ParamKind::Int
            | ParamKind::Region
            | ParamKind::Dim
            | ParamKind::Dims
            | ParamKind::Ints
            | ParamKind::Over
            | ParamKind::Shape => t.may_be_int(),
            ParamKind::DType => t == HostType::DType,
            ParamKind::Flag => t == HostType::Bool,
            ParamKind::Tensor
            | ParamKind::Index
            | ParamKind::OptTensor
            | ParamKind::Tensors
            | ParamKind::Arguments
            | ParamKind::Options(_) => false,
        }
    }

    /// Whether an argument fits by its type, as far as that is known.
    fn accepts_type(self, arg: &ArgType) -> bool {
        let host = |a: &ArgType| match a {
            ArgType::Host(Some(h)) => self.accepts_host(crate::Expr::Literal(*h).host_type()),
            ArgType::Open(t) => self.accepts_host(*t),
            ArgType::Symbol(_) => self.accepts_host(HostType::Usize),
            ArgType::Host(None) => !matches!(
                self,
                ParamKind::Tensor
                    | ParamKind::Index
                    | ParamKind::OptTensor
                    | ParamKind::Tensors
                    | ParamKind::Options(_)
            ),
            ArgType::Tensor(_) | ArgType::List(_) | ArgType::None => false,
        };
        match (self, arg) {
            (ParamKind::Arguments, ArgType::List(_))
            | (ParamKind::Over, ArgType::None | ArgType::List(_)) => true,
            (ParamKind::Shape, ArgType::Tensor(_)) => true,
            (_, ArgType::Tensor(_)) => self.takes_tensor(),
            (_, ArgType::None) => self == ParamKind::OptTensor,
            (ParamKind::Tensors, ArgType::List(l)) => l.iter().all(|a| matches!(a, ArgType::Tensor(_))),
            (ParamKind::Options(o), ArgType::List(l)) => l.len() == o.len(),
            (ParamKind::Dims | ParamKind::Ints | ParamKind::Shape, ArgType::List(l)) => l.iter().all(host),
            (_, a) => host(a),
        }
    }

    const fn takes_tensor(self) -> bool {
        matches!(
            self,
            ParamKind::Tensor | ParamKind::Index | ParamKind::OptTensor | ParamKind::Operand
        )
    }
}

/// A parameter of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParamRow {
    /// The name in signatures and messages.
    pub name: &'static str,
    /// What it takes.
    pub kind: ParamKind,
}

/// How many results an operation has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Results {
    /// One tensor.
    One,
    /// A tensor, and indices (i64) of the same shape.
    Indexed,
    /// As many as the shape rule yields.
    List,
    /// Those of the regions.
    Regions,
}

/// Which dtypes a lane function has, and how many arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum LaneClass {
    Num1,
    Num2,
    Num3,
    Float1,
    Float2,
    Float3,
    Float4,
    Round1,
    Pred1,
    Cmp2,
    Ord2,
    Bool1,
    Bool2,
    Bit1,
    Bit2,
    Select,
    Cast,
}

/// How rows are folded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Fold {
    Sum,
    Prod,
    Max,
    Min,
    Argmax,
    Argmin,
    Any,
    All,
}

/// A rule that expands a composite operation into other rows.
pub type Decompose = fn(&mut Builder, Op, &[Arg]) -> Result<Value, OpError>;

/// How an operation is executed.
#[derive(Clone, Copy, Debug)]
pub enum Lowering {
    /// A lane function, element by element.
    Lane(LaneClass),
    /// A fold over rows.
    Reduce(Fold),
    /// Metadata only.
    View,
    /// Rearranged elements.
    Copy,
    /// A matrix product.
    Contract,
    /// A runtime kernel of its own.
    Op,
    /// Graphs inside the module.
    Region,
    /// The graph of a callee, which replaces the node when a function is bound.
    Link,
    /// A tensor made from host values.
    Create,
    /// Expanded into other rows.
    Composite(Decompose),
}

/// A column that is not filled yet, with the reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell {
    /// Why the cell is empty.
    None(&'static str),
}

/// The type of an argument, as far as known.
#[derive(Clone, PartialEq, Debug)]
pub enum ArgType {
    /// A tensor.
    Tensor(TensorType),
    /// A host value; `None` if nothing is known of it.
    Host(Option<Host>),
    /// A host value of that type that is not known yet.
    Open(HostType),
    /// A `usize` that is not known yet, but is the size with this symbol.
    Symbol(u32),
    /// A list.
    List(Vec<ArgType>),
    /// An absent optional tensor.
    None,
}

impl ArgType {
    fn describe(&self) -> String {
        match self {
            ArgType::Tensor(_) => "a tensor".into(),
            ArgType::Host(Some(h)) => crate::Expr::Literal(*h).to_string(),
            ArgType::Open(t) => format!("a value of type {}", t.name()),
            ArgType::Symbol(_) => "a size".into(),
            ArgType::Host(None) => "a number".into(),
            ArgType::List(_) => "a list".into(),
            ArgType::None => "none".into(),
        }
    }
}

/// A call as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The operation.
    pub op: Op,
    /// One type an argument.
    pub args: &'a [ArgType],
    /// Named dims, for messages.
    pub symbols: &'a [Symbol],
}

/// The dtypes of a call, as far as known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signature {
    /// The type to which tensor and scalar operands are converted (masks and conditions apart).
    pub compute: Option<DType>,
    /// The result's type.
    pub result: Option<DType>,
}

/// A shape rule.
pub type ShapeRule = fn(&Call<'_>) -> Result<Vec<Shape>, OpError>;
/// A dtype rule.
pub type DTypeRule = fn(&Call<'_>) -> Result<Signature, OpError>;

/// One row of the op table.
#[derive(Debug)]
pub struct Row {
    /// The operation.
    pub op: Op,
    /// The method name.
    pub name: &'static str,
    /// The name of the fallible twin.
    pub try_name: &'static str,
    /// The parameters in order; a method's receiver is the first.
    pub params: &'static [ParamRow],
    /// How many results.
    pub results: Results,
    /// The result shapes.
    pub shape: ShapeRule,
    /// The dtypes.
    pub dtype: DTypeRule,
    /// How it is executed.
    pub lowering: Lowering,
    /// The derivative rule.
    pub derivative: Cell,
    /// The CUDA lowering.
    pub cuda: Cell,
    /// The TVM lowering.
    pub tvm: Cell,
    /// The export form.
    pub export: Cell,
}

impl Row {
    /// Checks the count and the kinds of arguments, so that rules may index them.
    fn check_arguments(&self, args: &[ArgType]) -> Result<(), OpError> {
        let error = |message| OpError::new(Code::ARGUMENTS, OpErrorKind::Value, self.name, message);
        if args.len() != self.params.len() {
            let names: Vec<&str> = self.params.iter().map(|p| p.name).collect();
            let message = format!(
                "takes {}, got {}",
                count(self.params.len(), "argument"),
                args.len()
            );
            return Err(error(message).help(format!("write {}({})", self.name, names.join(", "))));
        }
        for (i, (arg, p)) in args.iter().zip(self.params).enumerate() {
            if !p.kind.accepts_type(arg) {
                let message = format!("`{}` is {}, got {}", p.name, p.kind.takes(), arg.describe());
                return Err(error(message).at([i]));
            }
        }
        Ok(())
    }

    /// Whether the first parameter is the receiver of a method.
    pub fn is_method(&self) -> bool {
        self.params.first().is_some_and(|p| p.kind == ParamKind::Tensor)
    }

    /// The types of the results.
    ///
    /// # Errors
    /// A broken shape or dtype rule.
    pub fn infer(&self, call: &Call<'_>) -> Result<Vec<TensorType>, OpError> {
        self.check_arguments(call.args)?;
        let dtype = self.signature(call)?.result;
        Ok((self.shape)(call)?
            .into_iter()
            .enumerate()
            .map(|(i, shape)| TensorType {
                dtype: self.result_dtype(i, dtype),
                shape,
            })
            .collect())
    }

    /// The dtypes of a call: indices are integers, and the dtype rule.
    ///
    /// # Errors
    /// A broken rule.
    pub fn signature(&self, call: &Call<'_>) -> Result<Signature, OpError> {
        for (i, (arg, p)) in call.args.iter().zip(self.params).enumerate() {
            if let (ParamKind::Index, ArgType::Tensor(t)) = (p.kind, arg)
                && let Some(d) = t.dtype.filter(|d| !d.is_int())
            {
                let message = format!("`{}` takes integers, got {d}", p.name);
                return Err(OpError::new(Code::DTYPE, OpErrorKind::DType, self.name, message)
                    .help("convert it with to_dtype(DType::I64)")
                    .at([i]));
            }
        }
        (self.dtype)(call)
    }

    /// The dtype of a result, where `first` is that of the first.
    pub fn result_dtype(&self, index: usize, first: Option<DType>) -> Option<DType> {
        match (self.results, index) {
            (Results::Indexed, 1) => Some(DType::I64),
            _ => first,
        }
    }
}

macro_rules! class {
    (num1) => {
        LaneClass::Num1
    };
    (num2) => {
        LaneClass::Num2
    };
    (num3) => {
        LaneClass::Num3
    };
    (float1) => {
        LaneClass::Float1
    };
    (float2) => {
        LaneClass::Float2
    };
    (float3) => {
        LaneClass::Float3
    };
    (float4) => {
        LaneClass::Float4
    };
    (round1) => {
        LaneClass::Round1
    };
    (pred1) => {
        LaneClass::Pred1
    };
    (cmp2) => {
        LaneClass::Cmp2
    };
    (ord2) => {
        LaneClass::Ord2
    };
    (bool1) => {
        LaneClass::Bool1
    };
    (bool2) => {
        LaneClass::Bool2
    };
    (bit1) => {
        LaneClass::Bit1
    };
    (bit2) => {
        LaneClass::Bit2
    };
    (select) => {
        LaneClass::Select
    };
    (cast) => {
        LaneClass::Cast
    };
}
macro_rules! fold {
    (sum) => {
        Fold::Sum
    };
    (prod) => {
        Fold::Prod
    };
    (max) => {
        Fold::Max
    };
    (min) => {
        Fold::Min
    };
    (argmax) => {
        Fold::Argmax
    };
    (argmin) => {
        Fold::Argmin
    };
    (any) => {
        Fold::Any
    };
    (all) => {
        Fold::All
    };
}
macro_rules! lowering {
    (lane $class:ident) => {
        Lowering::Lane(class!($class))
    };
    (reduce $fold:ident) => {
        Lowering::Reduce(fold!($fold))
    };
    (composite $rule:ident) => {
        Lowering::Composite(decompose::$rule)
    };
    (view) => {
        Lowering::View
    };
    (copy) => {
        Lowering::Copy
    };
    (contract) => {
        Lowering::Contract
    };
    (op) => {
        Lowering::Op
    };
    (region) => {
        Lowering::Region
    };
    (link) => {
        Lowering::Link
    };
    (create) => {
        Lowering::Create
    };
}
macro_rules! kind {
    (tensor) => {
        ParamKind::Tensor
    };
    (index) => {
        ParamKind::Index
    };
    (opt_tensor) => {
        ParamKind::OptTensor
    };
    (tensors) => {
        ParamKind::Tensors
    };
    (operand) => {
        ParamKind::Operand
    };
    (scalar) => {
        ParamKind::Scalar
    };
    (float) => {
        ParamKind::Float
    };
    (int) => {
        ParamKind::Int
    };
    (dim) => {
        ParamKind::Dim
    };
    (dims) => {
        ParamKind::Dims
    };
    (ints) => {
        ParamKind::Ints
    };
    (shape) => {
        ParamKind::Shape
    };
    (dtype) => {
        ParamKind::DType
    };
    (flag) => {
        ParamKind::Flag
    };
    (region) => {
        ParamKind::Region
    };
    (arguments) => {
        ParamKind::Arguments
    };
    (over) => {
        ParamKind::Over
    };
    (conv1d_options) => {
        ParamKind::Options(&options::CONV1D)
    };
    (conv2d_options) => {
        ParamKind::Options(&options::CONV2D)
    };
    (conv_transpose2d_options) => {
        ParamKind::Options(&options::CONV_TRANSPOSE2D)
    };
    (pool_options) => {
        ParamKind::Options(&options::POOL)
    };
    (attention_options) => {
        ParamKind::Options(&options::ATTENTION)
    };
    (pad_mode) => {
        ParamKind::Options(&options::PAD_MODE)
    };
    (interpolate) => {
        ParamKind::Options(&options::INTERPOLATE)
    };
}
macro_rules! results {
    (one) => {
        Results::One
    };
    (indexed) => {
        Results::Indexed
    };
    (list) => {
        Results::List
    };
    (regions) => {
        Results::Regions
    };
}
macro_rules! rows {
    ($($(#[$doc:meta])* $variant:ident $method:ident $twin:ident ($($p:ident : $k:ident),*)
        => $results:ident, $shape:ident, $dtype:ident, $lower:ident $(($class:ident))?;)*) => {
        static ROWS: &[Row] = &[$(Row {
            op: Op::$variant,
            name: stringify!($method),
            try_name: stringify!($twin),
            params: &[$(ParamRow { name: stringify!($p), kind: kind!($k) }),*],
            results: results!($results),
            shape: shape::$shape,
            dtype: dtype::$dtype,
            lowering: lowering!($lower $($class)?),
            derivative: Cell::None("gradients are not built yet"),
            cuda: Cell::None("the CUDA emitter is not built yet"),
            tvm: Cell::None("the TVM backend is not built yet"),
            export: Cell::None("export is not built yet"),
        }),*];
    };
}
crate::op_table!(rows);

impl Op {
    /// The table's row.
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Whether the operation draws random numbers, or may inside its regions: it is never merged, moved or left out.
    pub const fn is_random(self) -> bool {
        matches!(
            self,
            Op::Rand | Op::Randn | Op::RandIf | Op::Dropout | Op::Cond | Op::WhileLoop
        )
    }

    /// The parameters that a call replaces the values of, which are variables, each with the operation that gives the
    /// new value from the same arguments.
    pub const fn updates(self) -> &'static [(usize, Op)] {
        match self {
            Op::BatchNormTrain => &[(1, Op::RunningMean), (2, Op::RunningVar)],
            _ => &[],
        }
    }

    /// The operation of that method name.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// The operation whose fallible twin has that name (`try_matmul`).
    pub fn from_try_name(name: &str) -> Option<Op> {
        ROWS.iter().find(|r| r.try_name == name).map(|r| r.op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_and_twins_are_named_after_their_op() {
        for (i, row) in ROWS.iter().enumerate() {
            assert_eq!(row.op as usize, i);
            assert_eq!(row.try_name, format!("try_{}", row.name));
            assert_eq!(Op::from_name(row.name), Some(row.op));
        }
    }

    #[test]
    fn empty_cells_give_their_reason() {
        for row in ROWS {
            for (column, Cell::None(reason)) in [
                ("derivative", row.derivative),
                ("cuda", row.cuda),
                ("tvm", row.tvm),
                ("export", row.export),
            ] {
                println!("{} {column}: none({reason})", row.name);
                assert!(!reason.is_empty());
            }
        }
    }
}
