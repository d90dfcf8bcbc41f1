//! Which results are defined to the bit.
//!
//! Invariant: a pure value comes from pure values by operations that round once, compare or move; eager, fused and
//! compiled runs agree on its bits.

use super::Array;
use crate::case::A;
use tensorplay_graph::op::row::Lowering;
use tensorplay_graph::{Host, Op, Scalar};

/// What only rearranges, rounds once or compares.
fn is_exact(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        Add | Sub
            | Mul
            | Div
            | Rsub
            | Rdiv
            | Neg
            | Abs
            | Sign
            | Sqrt
            | Square
            | Relu
            | Floor
            | Ceil
            | Round
            | Trunc
            | Isnan
            | Isinf
            | Isfinite
            | LogicalNot
            | BitwiseNot
            | Clamp
            | ClampMin
            | ClampMax
            | Hardtanh
            | NanToNum
            | Maximum
            | Minimum
            | Fmax
            | Fmin
            | Eq
            | Ne
            | Lt
            | Le
            | Gt
            | Ge
            | LogicalAnd
            | LogicalOr
            | LogicalXor
            | BitwiseAnd
            | BitwiseOr
            | BitwiseXor
            | WhereCond
            | MaskedFill
            | ToDtype
            | Max
            | MaxKeepdim
            | MaxAll
            | Min
            | MinKeepdim
            | MinAll
            | Argmax
            | ArgmaxKeepdim
            | Argmin
            | ArgminKeepdim
            | Any
            | All
            | Stack
            | Addcmul
            | MaxPool1d
            | MaxPool2d
    ) || moves(op)
}

/// What takes elements as they are, halves included.
fn moves(op: Op) -> bool {
    use Op::*;
    matches!(
        op.row().lowering,
        Lowering::View | Lowering::Copy | Lowering::Create
    ) || matches!(
        op,
        Flip | Roll
            | Repeat
            | Tril
            | Triu
            | Pad
            | IndexSelect
            | Gather
            | Scatter
            | Embedding
            | OneHot
            | Topk
            | Sort
            | Dropout
    )
}

/// Says of the results of a call whether they are pure.
pub(super) fn mark(op: Op, args: &[A], values: &[Array], out: &mut [Array]) {
    let nearest = op == Op::Interpolate && matches!(&args[2], A::O(mode) if mode[0] == Some(Host::Int(0)));
    let moves = moves(op) || nearest;
    let mut pure = is_exact(op) || nearest;
    let mut read = |v: usize| {
        pure &= values[v].pure;
        // int arithmetic and rearrangement are exact in any dtype, halves only where nothing is computed
        pure &= !values[v].dtype.is_half() || moves;
    };
    for a in args {
        a.clone().values(&mut |v| read(*v));
    }
    for a in out {
        a.pure =
            (pure || !a.dtype.is_float() && integers_only(args, values)) && (moves || !a.dtype.is_half());
    }
}

fn integers_only(args: &[A], values: &[Array]) -> bool {
    let mut all = true;
    for a in args {
        a.clone()
            .values(&mut |v| all &= !values[*v].dtype.is_float() && values[*v].pure);
        all &= !matches!(a, A::S(Scalar::Float(_)));
    }
    all
}
