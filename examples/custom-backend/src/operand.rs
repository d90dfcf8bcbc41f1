//! What a closure computes with: a tensor of an earlier step, or a number.

use tensorplay::graph::{Arg, Expr, Host};
use tensorplay::prelude::*;

/// Where an argument comes from.
#[derive(Clone, Copy)]
pub enum Operand {
    /// The result of that node.
    Node(usize),
    /// A literal of the program.
    Int(i64),
    /// The same.
    Float(f64),
    /// That scalar parameter of the function. Its value is known when the executable runs.
    Scalar(usize),
}

/// An operand with its value.
#[derive(Clone, Copy)]
pub enum Operated<'a> {
    Tensor(&'a Tensor),
    Int(i64),
    Float(f64),
}

impl Operand {
    /// `None` for arguments that this backend does not take, such as `x.dim(0) + 1`.
    pub fn of(arg: &Arg) -> Option<Operand> {
        match arg {
            Arg::Value(v) if v.index == 0 => Some(Operand::Node(v.node.index())),
            Arg::Host(Expr::Param(i, _)) => Some(Operand::Scalar(*i as usize)),
            Arg::Host(e) => match e.literal()? {
                Host::Int(v) => Some(Operand::Int(v)),
                Host::Float(v) => Some(Operand::Float(v)),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn node(self) -> Option<usize> {
        match self {
            Operand::Node(i) => Some(i),
            _ => None,
        }
    }
}

impl Operated<'_> {
    /// The value of a scalar parameter, which comes as a tensor of rank 0.
    pub fn read(scalar: &Tensor) -> Self {
        match scalar.dtype() {
            DType::F32 | DType::F64 => Operated::Float(scalar.to_dtype(DType::F64).item()),
            _ => Operated::Int(scalar.to_dtype(DType::I64).item()),
        }
    }
}
