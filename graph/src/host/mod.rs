//! Host values: integers, floats and flags that a function computes beside its tensors.
//!
//! Problem: sizes and scalars in captured code are Rust expressions over metadata and parameters
//! (`a.dim(-1) / 2`, `k as i64 - 4`); their values are known when a call is bound, or only at the call.
//!
//! Method: a small expression tree, evaluated against an [`Env`]. Values are bit for bit those of the same Rust;
//! integer arithmetic is checked as in a debug build. A `usize` above `i64::MAX` may occur on the way; as the result
//! it is an error.

mod eval;
mod print;

use crate::{DType, Scalar, graph::Value};
use serde::{Deserialize, Serialize};

/// The Rust type of a host value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum HostType {
    /// `usize`.
    Usize,
    /// `isize` and `i64`.
    I64,
    /// `i32`.
    I32,
    /// `u8`.
    U8,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// `bool`.
    Bool,
    /// `DType`.
    DType,
    /// An integer literal without suffix.
    IntLiteral,
    /// A float literal without suffix.
    FloatLiteral,
    /// A const, static or field, whose type only rustc knows: each value tells its own.
    Number,
}

impl HostType {
    /// The name in Rust and in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            HostType::Usize => "usize",
            HostType::I64 => "i64",
            HostType::I32 => "i32",
            HostType::U8 => "u8",
            HostType::F32 => "f32",
            HostType::F64 => "f64",
            HostType::Bool => "bool",
            HostType::DType => "DType",
            HostType::IntLiteral => "int",
            HostType::FloatLiteral => "float",
            HostType::Number => "number",
        }
    }

    /// The type of that Rust name.
    pub fn from_name(name: &str) -> Option<HostType> {
        Some(match name {
            "usize" => HostType::Usize,
            "i64" | "isize" => HostType::I64,
            "i32" => HostType::I32,
            "u8" => HostType::U8,
            "f32" => HostType::F32,
            "f64" => HostType::F64,
            "bool" => HostType::Bool,
            "DType" => HostType::DType,
            _ => return None,
        })
    }

    /// The type of two operands of one type: literals without suffix take that of the other.
    pub const fn meet(self, other: HostType) -> HostType {
        match self {
            HostType::IntLiteral | HostType::FloatLiteral => other,
            t => t,
        }
    }

    /// Whether values are integers.
    pub const fn is_int(self) -> bool {
        matches!(
            self,
            HostType::Usize | HostType::I64 | HostType::I32 | HostType::U8 | HostType::IntLiteral
        )
    }

    /// Whether a value may be an integer, as far as tokens tell.
    pub const fn may_be_int(self) -> bool {
        self.is_int() || matches!(self, HostType::Number)
    }
}

/// The value of a host expression. Two are equal if they are the same, floats bit for bit: 0 is not -0, and NaN is itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Host {
    /// Any integer type.
    Int(i64),
    /// `f32` (held exactly) or `f64`.
    Float(f64),
    /// `bool`.
    Bool(bool),
    /// A dtype.
    DType(DType),
    /// A `usize` above `i64::MAX`: part of an expression, never its result.
    Size(u64),
}

impl PartialEq for Host {
    #[inline]
    fn eq(&self, other: &Host) -> bool {
        match (*self, *other) {
            (Host::Float(a), Host::Float(b)) => a.to_bits() == b.to_bits(),
            (Host::Int(a), Host::Int(b)) => a == b,
            (Host::Bool(a), Host::Bool(b)) => a == b,
            (Host::DType(a), Host::DType(b)) => a == b,
            (Host::Size(a), Host::Size(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Host {}

impl Host {
    /// A `usize`.
    pub fn size(v: usize) -> Host {
        i64::try_from(v).map_or(Host::Size(v as u64), Host::Int)
    }

    /// An integer of either form, without loss.
    fn wide(self) -> Option<i128> {
        match self {
            Host::Int(v) => Some(v.into()),
            Host::Size(v) => Some(v.into()),
            _ => None,
        }
    }

    /// The integer, if it is one.
    pub fn as_int(self) -> Option<i64> {
        if let Host::Int(v) = self { Some(v) } else { None }
    }

    /// As an operand of a tensor operation.
    pub fn as_scalar(self) -> Option<Scalar> {
        match self {
            Host::Int(v) => Some(Scalar::Int(v)),
            Host::Float(v) => Some(Scalar::Float(v)),
            Host::Bool(v) => Some(Scalar::Bool(v)),
            Host::DType(_) | Host::Size(_) => None,
        }
    }

    /// Integers and floats as f64.
    pub fn as_float(self) -> Option<f64> {
        self.as_scalar().map(Scalar::to_f64)
    }
}

impl From<Scalar> for Host {
    fn from(s: Scalar) -> Host {
        match s {
            Scalar::Float(v) => Host::Float(v),
            Scalar::Int(v) => Host::Int(v),
            Scalar::Bool(v) => Host::Bool(v),
        }
    }
}

/// What to write in place of a probability that is none.
pub(crate) const PROBABILITY: &str = "a probability is from 0 to 1";

/// A unary host operator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum HostUnary {
    /// `-a`.
    Neg,
    /// `!a` of a bool.
    Not,
    /// `a.sqrt()`.
    Sqrt,
    /// `a.ln()`.
    Ln,
    /// `a.exp()`.
    Exp,
    /// `a`, which is from 0 to 1.
    Probability,
}

/// A binary host operator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum HostBinary {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`.
    Mul,
    /// `a / b`.
    Div,
    /// `a % b`.
    Rem,
    /// `a.min(b)`.
    Min,
    /// `a.max(b)`.
    Max,
    /// `a.pow(b)` of integers, `a.powf(b)` of floats.
    Pow,
    /// `a == b`.
    Eq,
    /// `a != b`.
    Ne,
    /// `a < b`.
    Lt,
    /// `a <= b`.
    Le,
    /// `a > b`.
    Gt,
    /// `a >= b`.
    Ge,
    /// `a && b`.
    And,
    /// `a || b`.
    Or,
    /// `a.powi(b)` of a float.
    Powi,
}

impl HostBinary {
    /// How the text form writes it, with its precedence (higher binds tighter); functions have none.
    pub const fn symbol(self) -> (&'static str, Option<u8>) {
        match self {
            HostBinary::Or => ("||", Some(1)),
            HostBinary::And => ("&&", Some(2)),
            HostBinary::Eq => ("==", Some(3)),
            HostBinary::Ne => ("!=", Some(3)),
            HostBinary::Lt => ("<", Some(3)),
            HostBinary::Le => ("<=", Some(3)),
            HostBinary::Gt => (">", Some(3)),
            HostBinary::Ge => (">=", Some(3)),
            HostBinary::Add => ("+", Some(4)),
            HostBinary::Sub => ("-", Some(4)),
            HostBinary::Mul => ("*", Some(5)),
            HostBinary::Div => ("/", Some(5)),
            HostBinary::Rem => ("%", Some(5)),
            HostBinary::Min => ("min", None),
            HostBinary::Max => ("max", None),
            HostBinary::Pow => ("pow", None),
            HostBinary::Powi => ("powi", None),
        }
    }
}

/// A host expression.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Expr {
    /// A literal; integers and floats take the type of what they meet.
    Literal(Host),
    /// The scalar parameter of that number.
    Param(u32, HostType),
    /// `x.dim(i)`: a `usize`.
    Dim(Value, Box<Expr>),
    /// `x.rank()`: a `usize`.
    Rank(Value),
    /// `x.elem_count()`: a `usize`.
    ElemCount(Value),
    /// `x.dtype()`.
    DTypeOf(Value),
    /// `a as T`.
    Cast(HostType, Box<Expr>),
    /// A unary operator.
    Unary(HostUnary, Box<Expr>),
    /// A binary operator.
    Binary(HostBinary, Box<Expr>, Box<Expr>),
    /// `x.shape() == y.shape()`, of values whose ranks the build does not know.
    SameShape(Value, Value),
}

/// What a host expression is evaluated against. `None` means not known yet.
pub trait Env {
    /// A scalar parameter.
    fn param(&self, index: u32) -> Option<Host>;
    /// The rank of a value.
    fn rank(&self, v: Value) -> Option<usize>;
    /// A size of a value; the index is in range.
    fn dim(&self, v: Value, i: usize) -> Option<usize>;
    /// The dtype of a value.
    fn dtype(&self, v: Value) -> Option<DType>;
}

/// Why a host expression has no value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostError {
    /// Something it reads is not known yet.
    Unknown,
    /// It fails as the same Rust would: overflow, division by zero, a dim out of range. Behind a line break stands what to
    /// write instead, where more can be said than that.
    Failed(String),
}

impl Expr {
    /// An integer literal.
    pub fn int(v: i64) -> Expr {
        Expr::Literal(Host::Int(v))
    }

    /// A float literal.
    pub fn float(v: f64) -> Expr {
        Expr::Literal(Host::Float(v))
    }

    /// A binary node.
    pub fn binary(op: HostBinary, a: Expr, b: Expr) -> Expr {
        Expr::Binary(op, Box::new(a), Box::new(b))
    }

    /// The literal's value, if this is a literal.
    pub fn literal(&self) -> Option<Host> {
        if let Expr::Literal(h) = self {
            Some(*h)
        } else {
            None
        }
    }

    /// The static type.
    pub fn host_type(&self) -> HostType {
        match self {
            Expr::Literal(Host::Int(_)) => HostType::IntLiteral,
            Expr::Literal(Host::Float(_)) => HostType::FloatLiteral,
            Expr::Literal(Host::Size(_)) => HostType::Usize,
            Expr::Literal(Host::Bool(_)) => HostType::Bool,
            Expr::Literal(Host::DType(_)) | Expr::DTypeOf(_) => HostType::DType,
            Expr::Param(_, t) | Expr::Cast(t, _) => *t,
            Expr::Dim(..) | Expr::Rank(_) | Expr::ElemCount(_) => HostType::Usize,
            Expr::Unary(HostUnary::Not, _) | Expr::SameShape(..) => HostType::Bool,
            Expr::Unary(_, a) => a.host_type(),
            Expr::Binary(op, a, b) => match op {
                HostBinary::Eq
                | HostBinary::Ne
                | HostBinary::Lt
                | HostBinary::Le
                | HostBinary::Gt
                | HostBinary::Ge
                | HostBinary::And
                | HostBinary::Or => HostType::Bool,
                HostBinary::Powi => a.host_type(),
                _ => a.host_type().meet(b.host_type()),
            },
        }
    }

    /// Calls `f` with every value whose metadata the expression reads.
    pub fn values(&self, f: &mut impl FnMut(Value)) {
        match self {
            Expr::Literal(_) | Expr::Param(..) => {}
            Expr::Dim(v, i) => {
                f(*v);
                i.values(f);
            }
            Expr::Rank(v) | Expr::ElemCount(v) | Expr::DTypeOf(v) => f(*v),
            Expr::SameShape(a, b) => {
                f(*a);
                f(*b);
            }
            Expr::Cast(_, a) | Expr::Unary(_, a) => a.values(f),
            Expr::Binary(_, a, b) => {
                a.values(f);
                b.values(f);
            }
        }
    }

    /// Replaces every value that the expression reads.
    pub fn map_values(&mut self, f: &mut impl FnMut(Value) -> Value) {
        match self {
            Expr::Literal(_) | Expr::Param(..) => {}
            Expr::Dim(v, i) => {
                *v = f(*v);
                i.map_values(f);
            }
            Expr::Rank(v) | Expr::ElemCount(v) | Expr::DTypeOf(v) => *v = f(*v),
            Expr::SameShape(a, b) => {
                *a = f(*a);
                *b = f(*b);
            }
            Expr::Cast(_, a) | Expr::Unary(_, a) => a.map_values(f),
            Expr::Binary(_, a, b) => {
                a.map_values(f);
                b.map_values(f);
            }
        }
    }

    /// The expression over other values and other scalars; a scalar without a new expression stays.
    #[must_use]
    pub fn substituted(
        &self,
        scalar: &dyn Fn(u32) -> Option<Expr>,
        value: &mut dyn FnMut(Value) -> Value,
    ) -> Expr {
        match self {
            Expr::Param(i, _) => scalar(*i).unwrap_or_else(|| self.clone()),
            Expr::Literal(_) => self.clone(),
            Expr::Dim(v, i) => Expr::Dim(value(*v), Box::new(i.substituted(scalar, value))),
            Expr::Rank(v) => Expr::Rank(value(*v)),
            Expr::ElemCount(v) => Expr::ElemCount(value(*v)),
            Expr::DTypeOf(v) => Expr::DTypeOf(value(*v)),
            Expr::SameShape(a, b) => Expr::SameShape(value(*a), value(*b)),
            Expr::Cast(t, a) => Expr::Cast(*t, Box::new(a.substituted(scalar, value))),
            Expr::Unary(op, a) => Expr::Unary(*op, Box::new(a.substituted(scalar, value))),
            Expr::Binary(op, a, b) => Expr::Binary(
                *op,
                Box::new(a.substituted(scalar, value)),
                Box::new(b.substituted(scalar, value)),
            ),
        }
    }

    /// Calls `f` with every scalar parameter that the expression reads.
    pub fn params(&self, f: &mut impl FnMut(u32)) {
        self.visit_params(&mut |i, _| f(i));
    }

    /// Whether it reads nothing.
    pub fn is_closed(&self) -> bool {
        match self {
            Expr::Literal(_) => true,
            Expr::Cast(_, a) | Expr::Unary(_, a) => a.is_closed(),
            Expr::Binary(_, a, b) => a.is_closed() && b.is_closed(),
            _ => false,
        }
    }

    /// Whether the expression has more than `most` parts.
    pub fn exceeds(&self, most: usize) -> bool {
        fn rest(e: &Expr, left: usize) -> Option<usize> {
            let left = left.checked_sub(1)?;
            match e {
                Expr::Dim(_, a) | Expr::Cast(_, a) | Expr::Unary(_, a) => rest(a, left),
                Expr::Binary(_, a, b) => rest(b, rest(a, left)?),
                _ => Some(left),
            }
        }
        rest(self, most).is_none()
    }

    /// Calls `f` with every scalar parameter that the expression reads, and its type there.
    pub fn visit_params(&self, f: &mut dyn FnMut(u32, HostType)) {
        match self {
            Expr::Param(i, t) => f(*i, *t),
            Expr::Dim(_, a) | Expr::Cast(_, a) | Expr::Unary(_, a) => a.visit_params(f),
            Expr::Binary(_, a, b) => {
                a.visit_params(f);
                b.visit_params(f);
            }
            _ => {}
        }
    }
}
