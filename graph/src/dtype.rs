//! Element types, and PyTorch's type promotion.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The type of a tensor's elements. Displays in lower case: `f32`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum DType {
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    BF16,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer.
    I64,
    /// 8-bit unsigned integer.
    U8,
    /// One byte, 0 or 1.
    Bool,
}

impl DType {
    /// Every dtype, in declaration order.
    pub const ALL: [DType; 8] = [
        DType::F32,
        DType::F64,
        DType::F16,
        DType::BF16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::Bool,
    ];

    /// Size of one element in bytes.
    pub const fn size(self) -> usize {
        match self {
            DType::F64 | DType::I64 => 8,
            DType::F32 | DType::I32 => 4,
            DType::F16 | DType::BF16 => 2,
            DType::U8 | DType::Bool => 1,
        }
    }

    /// `f32 f64 f16 bf16`.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F64 | DType::F16 | DType::BF16)
    }

    /// `i32 i64 u8`; `bool` is neither float nor integer.
    pub const fn is_int(self) -> bool {
        matches!(self, DType::I32 | DType::I64 | DType::U8)
    }

    /// `f16 bf16`.
    pub const fn is_half(self) -> bool {
        matches!(self, DType::F16 | DType::BF16)
    }

    /// The type in which a kernel computes: f32 for the half types, the type itself otherwise.
    pub const fn compute(self) -> DType {
        if self.is_half() { DType::F32 } else { self }
    }

    /// The result type of a binary operation between two tensors (PyTorch's lattice).
    ///
    /// ```
    /// # extern crate tensorplay_graph as tensorplay;
    /// use tensorplay::DType;
    /// assert_eq!(DType::F16.promote(DType::BF16), DType::F32);
    /// assert_eq!(DType::I64.promote(DType::F16), DType::F16);
    /// assert_eq!(DType::U8.promote(DType::I32), DType::I32);
    /// ```
    pub fn promote(self, other: DType) -> DType {
        use DType::*;
        fn rank(d: DType) -> u8 {
            match d {
                Bool => 0,
                U8 => 1,
                I32 => 2,
                I64 => 3,
                F16 | BF16 => 4,
                F32 => 5,
                F64 => 6,
            }
        }
        match (self, other) {
            (F16, BF16) | (BF16, F16) => F32,
            (a, b) if rank(a) >= rank(b) => a,
            (_, b) => b,
        }
    }

    /// The lower-case name, as specs, messages and the text form write it.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::Bool => "bool",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DType {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        DType::ALL
            .into_iter()
            .find(|d| d.name() == s)
            .ok_or_else(|| format!("unknown dtype `{s}`, expected one of f32 f64 f16 bf16 i32 i64 u8 bool"))
    }
}
