//! Host values: integers, floats and flags that a function computes beside its tensors.
//!
//! Problem: sizes and scalars in captured code are Rust expressions over metadata and parameters
//! (`a.dim(-1) / 2`, `k as i64 - 4`); their values are known when a call is bound, or only at the call.
//!
//! Method: a small expression tree, evaluated against an [`Env`]. Values are bit for bit those of the same Rust;
//! integer arithmetic is checked as in a debug build. A `usize` above `i64::MAX` may occur on the way; as the result
//! it is an error.

use crate::{DType, Scalar, graph::Value};
use serde::{Deserialize, Serialize};
use std::fmt;

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

    /// The value.
    ///
    /// # Errors
    /// [`HostError::Unknown`] if the environment lacks something, [`HostError::Failed`] where Rust would panic.
    pub fn eval(&self, env: &dyn Env) -> Result<Host, HostError> {
        match self.eval_as(env, self.host_type())? {
            Host::Size(v) => Err(HostError::Failed(format!(
                "{v} is above {}, the largest integer that an operation takes",
                i64::MAX
            ))),
            h => Ok(h),
        }
    }

    /// The value, where literals without suffix take the type `t` of what they meet.
    fn eval_as(&self, env: &dyn Env, t: HostType) -> Result<Host, HostError> {
        let fail = |m: String| Err(HostError::Failed(m));
        Ok(match self {
            Expr::Literal(Host::Float(v)) => round(t, *v),
            Expr::Literal(h) => *h,
            Expr::Param(i, _) => env.param(*i).ok_or(HostError::Unknown)?,
            Expr::Dim(v, i) => {
                let rank = env.rank(*v).ok_or(HostError::Unknown)?;
                let Host::Int(i) = i.eval(env)? else {
                    return fail("a dim is not an integer".into());
                };
                let at = if i < 0 { i + rank as i64 } else { i };
                if at < 0 || at >= rank as i64 {
                    return fail(format!("dim {i} is out of range for a tensor of rank {rank}"));
                }
                Host::size(env.dim(*v, at as usize).ok_or(HostError::Unknown)?)
            }
            Expr::Rank(v) => Host::Int(env.rank(*v).ok_or(HostError::Unknown)? as i64),
            Expr::ElemCount(v) => {
                let rank = env.rank(*v).ok_or(HostError::Unknown)?;
                let mut n = Some(1usize);
                for i in 0..rank {
                    let d = env.dim(*v, i).ok_or(HostError::Unknown)?;
                    n = n.and_then(|n| n.checked_mul(d));
                }
                match n {
                    Some(n) => Host::size(n),
                    None => return fail("the element count overflows usize".into()),
                }
            }
            Expr::DTypeOf(v) => Host::DType(env.dtype(*v).ok_or(HostError::Unknown)?),
            Expr::SameShape(a, b) => Host::Bool(same_shape(env, *a, *b)?),
            Expr::Cast(t, a) => cast(*t, a.eval_as(env, a.host_type())?)?,
            Expr::Unary(op, a) => {
                let t = a.host_type().meet(t);
                unary(*op, t, a.eval_as(env, t)?)?
            }
            Expr::Binary(HostBinary::Powi, a, n) => {
                let t = a.host_type().meet(t);
                powi(t, a.eval_as(env, t)?, n.eval_as(env, HostType::I32)?)?
            }
            Expr::Binary(op @ (HostBinary::And | HostBinary::Or), a, b) => {
                match a.eval_as(env, HostType::Bool)? {
                    // the left side decides
                    Host::Bool(v) if v == (*op == HostBinary::Or) => Host::Bool(v),
                    a => binary(*op, HostType::Bool, a, b.eval_as(env, HostType::Bool)?)?,
                }
            }
            Expr::Binary(op, a, b) => {
                let operands = a.host_type().meet(b.host_type());
                let operands = if self.host_type() == HostType::Bool {
                    operands
                } else {
                    operands.meet(t)
                };
                binary(
                    *op,
                    operands,
                    a.eval_as(env, operands)?,
                    b.eval_as(env, operands)?,
                )?
            }
        })
    }
}

/// Whether two values have one shape; one size that differs tells.
fn same_shape(env: &dyn Env, a: Value, b: Value) -> Result<bool, HostError> {
    let rank = |v| env.rank(v).ok_or(HostError::Unknown);
    let n = rank(a)?;
    if n != rank(b)? {
        return Ok(false);
    }
    let mut same = Ok(true);
    for i in 0..n {
        match (env.dim(a, i), env.dim(b, i)) {
            (Some(x), Some(y)) if x != y => return Ok(false),
            (Some(_), Some(_)) => {}
            _ => same = Err(HostError::Unknown),
        }
    }
    same
}

fn cast(t: HostType, h: Host) -> Result<Host, HostError> {
    if let Some(v) = h.wide() {
        return Ok(match t {
            HostType::F32 => Host::Float(f64::from(v as f32)),
            HostType::F64 | HostType::FloatLiteral => Host::Float(v as f64),
            HostType::Usize if v < 0 => {
                return Err(HostError::Failed(format!("{v} as usize is not a size")));
            }
            HostType::Usize => Host::size(v as usize),
            HostType::I32 => Host::Int((v as i32).into()),
            HostType::U8 => Host::Int((v as u8).into()),
            HostType::I64 | HostType::IntLiteral => Host::Int(v as i64),
            HostType::Bool | HostType::DType | HostType::Number => h,
        });
    }
    let v = match h {
        Host::Float(v) => v,
        Host::Bool(v) => f64::from(u8::from(v)),
        other => return Ok(other),
    };
    Ok(match t {
        HostType::F32 => Host::Float(f64::from(v as f32)),
        HostType::F64 | HostType::FloatLiteral => Host::Float(v),
        HostType::Usize => Host::size(v as usize),
        HostType::I32 => Host::Int((v as i32).into()),
        HostType::U8 => Host::Int((v as u8).into()),
        HostType::I64 | HostType::IntLiteral => Host::Int(v as i64),
        HostType::Bool | HostType::DType | HostType::Number => h,
    })
}

fn round(t: HostType, v: f64) -> Host {
    Host::Float(if t == HostType::F32 {
        f64::from(v as f32)
    } else {
        v
    })
}

/// A function of the standard library, which has one of its own for `f32`.
fn library(t: HostType, v: f64, f32: fn(f32) -> f32, f64: fn(f64) -> f64) -> Host {
    Host::Float(if t == HostType::F32 {
        f32(v as f32).into()
    } else {
        f64(v)
    })
}

/// The integer as type `t`, unless it overflows.
fn integer(t: HostType, v: i128) -> Option<Host> {
    match t {
        HostType::Usize => usize::try_from(v).ok().map(Host::size),
        HostType::I32 => i32::try_from(v).ok().map(|v| Host::Int(v.into())),
        HostType::U8 => u8::try_from(v).ok().map(|v| Host::Int(v.into())),
        _ => i64::try_from(v).ok().map(Host::Int),
    }
}

/// By repeated squaring, as the function of the standard library.
fn powi(t: HostType, a: Host, n: Host) -> Result<Host, HostError> {
    let (Host::Float(mut square), Host::Int(n)) = (a, n) else {
        return Err(HostError::Failed(format!("powi does not take {a:?} and {n:?}")));
    };
    let Ok(n) = i32::try_from(n) else {
        return Err(HostError::Failed(format!("powi takes an i32, {n} is none")));
    };
    let rounded = |v: f64| {
        if t == HostType::F32 {
            f64::from(v as f32)
        } else {
            v
        }
    };
    let (mut power, mut left) = (1.0, n.unsigned_abs());
    loop {
        if left % 2 == 1 {
            power = rounded(power * square);
        }
        left /= 2;
        if left == 0 {
            break;
        }
        square = rounded(square * square);
    }
    Ok(Host::Float(if n < 0 { rounded(1.0 / power) } else { power }))
}

fn unary(op: HostUnary, t: HostType, a: Host) -> Result<Host, HostError> {
    Ok(match (op, a) {
        (HostUnary::Neg, Host::Int(v)) => integer(t, -i128::from(v))
            .ok_or_else(|| HostError::Failed(format!("-({v}) overflows an integer")))?,
        (HostUnary::Neg, Host::Float(v)) => Host::Float(-v),
        (HostUnary::Not, Host::Bool(v)) => Host::Bool(!v),
        (HostUnary::Sqrt, Host::Float(v)) => library(t, v, f32::sqrt, f64::sqrt),
        (HostUnary::Ln, Host::Float(v)) => library(t, v, f32::ln, f64::ln),
        (HostUnary::Exp, Host::Float(v)) => library(t, v, f32::exp, f64::exp),
        (HostUnary::Probability, Host::Float(p)) => match (0.0..=1.0).contains(&p) {
            true => Host::Float(p),
            false => return Err(HostError::Failed(format!("p is {p}\n{PROBABILITY}"))),
        },
        (op, a) => return Err(HostError::Failed(format!("{op:?} does not take {a:?}"))),
    })
}

fn integers(
    op: HostBinary,
    t: HostType,
    (a, x): (Host, i128),
    (b, y): (Host, i128),
) -> Result<Host, HostError> {
    use HostBinary::*;
    let symbol = op.symbol().0;
    let arith = |v: Option<i128>| {
        v.and_then(|v| integer(t, v)).ok_or_else(|| {
            let what = if t == HostType::Usize { "usize" } else { "integer" };
            HostError::Failed(format!("{x} {symbol} {y} overflows {what}"))
        })
    };
    if matches!(op, Div | Rem) && y == 0 {
        return Err(HostError::Failed(format!("{x} {symbol} 0 divides by zero")));
    }
    Ok(match op {
        Add => arith(x.checked_add(y))?,
        Sub => arith(x.checked_sub(y))?,
        Mul => arith(x.checked_mul(y))?,
        Div => arith(x.checked_div(y))?,
        // it overflows where the quotient does
        Rem => arith(x.checked_div(y)).and_then(|_| arith(x.checked_rem(y)))?,
        Min if x <= y => a,
        Max if x >= y => a,
        Min | Max => b,
        Pow => arith(u32::try_from(y).ok().and_then(|y| x.checked_pow(y)))?,
        Eq => Host::Bool(x == y),
        Ne => Host::Bool(x != y),
        Lt => Host::Bool(x < y),
        Le => Host::Bool(x <= y),
        Gt => Host::Bool(x > y),
        Ge => Host::Bool(x >= y),
        And | Or | Powi => {
            return Err(HostError::Failed(format!("{symbol} does not take {x} and {y}")));
        }
    })
}

fn binary(op: HostBinary, t: HostType, a: Host, b: Host) -> Result<Host, HostError> {
    use HostBinary::*;
    let mismatch = || HostError::Failed(format!("{} does not take {a:?} and {b:?}", op.symbol().0));
    if let (Some(x), Some(y)) = (a.wide(), b.wide()) {
        return integers(op, t, (a, x), (b, y));
    }
    match (a, b) {
        (Host::Float(x), Host::Float(y)) => Ok(match op {
            Add => round(t, x + y),
            Sub => round(t, x - y),
            Mul => round(t, x * y),
            Div => round(t, x / y),
            Rem => round(t, x % y),
            Min => Host::Float(x.min(y)),
            Max => Host::Float(x.max(y)),
            Pow if t == HostType::F32 => Host::Float((x as f32).powf(y as f32).into()),
            Pow => Host::Float(x.powf(y)),
            Eq => Host::Bool(x == y),
            Ne => Host::Bool(x != y),
            Lt => Host::Bool(x < y),
            Le => Host::Bool(x <= y),
            Gt => Host::Bool(x > y),
            Ge => Host::Bool(x >= y),
            And | Or | Powi => return Err(mismatch()),
        }),
        (Host::Bool(x), Host::Bool(y)) => match op {
            And => Ok(Host::Bool(x && y)),
            Or => Ok(Host::Bool(x || y)),
            Eq => Ok(Host::Bool(x == y)),
            Ne => Ok(Host::Bool(x != y)),
            _ => Err(mismatch()),
        },
        (Host::DType(x), Host::DType(y)) => match op {
            Eq => Ok(Host::Bool(x == y)),
            Ne => Ok(Host::Bool(x != y)),
            _ => Err(mismatch()),
        },
        _ => Err(mismatch()),
    }
}

/// Prints with infix operators and minimal parentheses: `dim(%1, -1) / 2`.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn go(e: &Expr, outer: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match e {
                Expr::Literal(Host::Int(v)) => write!(f, "{v}"),
                Expr::Literal(Host::Size(v)) => write!(f, "{v}"),
                Expr::Literal(Host::Float(v)) if v.is_nan() => f.write_str("nan"),
                Expr::Literal(Host::Float(v)) => write!(f, "{v:?}"),
                Expr::Literal(Host::Bool(v)) => write!(f, "{v}"),
                Expr::Literal(Host::DType(v)) => write!(f, "{v}"),
                Expr::Param(i, _) => write!(f, "${i}"),
                Expr::Dim(v, i) => write!(f, "dim({v}, {i})"),
                Expr::Rank(v) => write!(f, "rank({v})"),
                Expr::ElemCount(v) => write!(f, "elem_count({v})"),
                Expr::DTypeOf(v) => write!(f, "dtype({v})"),
                Expr::SameShape(a, b) => write!(f, "same_shape({a}, {b})"),
                Expr::Cast(t, a) => write!(f, "{}({a})", t.name()),
                Expr::Unary(op, a) => write!(
                    f,
                    "{}({a})",
                    match op {
                        HostUnary::Neg => "neg",
                        HostUnary::Not => "not",
                        HostUnary::Sqrt => "sqrt",
                        HostUnary::Ln => "ln",
                        HostUnary::Exp => "exp",
                        HostUnary::Probability => "probability",
                    }
                ),
                Expr::Binary(op, a, b) => match op.symbol() {
                    (name, None) => write!(f, "{name}({a}, {b})"),
                    (symbol, Some(level)) => {
                        let paren = level < outer;
                        if paren {
                            f.write_str("(")?;
                        }
                        go(a, level, f)?;
                        write!(f, " {symbol} ")?;
                        go(b, level + 1, f)?;
                        if paren {
                            f.write_str(")")?;
                        }
                        Ok(())
                    }
                },
            }
        }
        go(self, 0, f)
    }
}
