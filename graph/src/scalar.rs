//! Scalars: the literals and host numbers that meet tensors in an operation.

use crate::DType;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A number that is not a tensor. It never widens a tensor's dtype; only a float scalar turns an
/// integer or Bool tensor into f32.
/// Two are equal if they are the same, floats bit for bit: 0 is not -0, and NaN is itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Scalar {
    /// A floating-point number.
    Float(f64),
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        match (*self, *other) {
            (Scalar::Float(a), Scalar::Float(b)) => a.to_bits() == b.to_bits(),
            (Scalar::Int(a), Scalar::Int(b)) => a == b,
            (Scalar::Bool(a), Scalar::Bool(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Scalar {}

impl Scalar {
    /// The value as f64.
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Float(v) => v,
            Scalar::Int(v) => v as f64,
            Scalar::Bool(v) => f64::from(u8::from(v)),
        }
    }

    /// The value as i64; floats saturate as Rust's `as`.
    pub fn to_i64(self) -> i64 {
        match self {
            Scalar::Float(v) => v as i64,
            Scalar::Int(v) => v,
            Scalar::Bool(v) => i64::from(v),
        }
    }

    /// The dtype of `tensor op self`.
    pub fn promote(self, tensor: DType) -> DType {
        match self {
            Scalar::Float(_) if !tensor.is_float() => DType::F32,
            Scalar::Int(_) if tensor == DType::Bool => DType::I64,
            _ => tensor,
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Float(v) => write!(f, "{v:?}"),
            Scalar::Int(v) => write!(f, "{v}"),
            Scalar::Bool(v) => write!(f, "{v}"),
        }
    }
}

macro_rules! from {
    ($($t:ty => $variant:ident),*) => {$(
        impl From<$t> for Scalar {
            fn from(v: $t) -> Scalar { Scalar::$variant(v.into()) }
        }
    )*};
}
from!(f64 => Float, f32 => Float, i64 => Int, i32 => Int, bool => Bool);
