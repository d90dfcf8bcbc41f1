//! Copies between layouts, and kernels that convert dtypes on the way.

use super::{CopyStep, Place};
use crate::DType;
use tensorplay_graph::NodeId;
use tensorplay_stax::kernel::{
    Access, Buf, Buffer, Input, Inst, Kernel, LaneOp, Map, Output, Program, Space, Step, Var,
};
use tensorplay_stax::lower::Lowered;

/// Copies `src` to `dst`, which has the same shape and dtype.
pub(crate) fn copy(src: &Place, dst: &Place) -> CopyStep {
    CopyStep {
        size: src.dtype.size(),
        shape: src.layout.shape().into(),
        src: src.at(),
        src_strides: src.layout.strides().into(),
        dst: dst.at(),
        dst_strides: dst.layout.strides().into(),
    }
}

/// A kernel of one conversion.
pub(crate) fn cast(from: DType, to: DType) -> Lowered {
    let convert = from.compute() != to.compute();
    let insts = if convert {
        vec![Inst {
            op: LaneOp::Cast,
            args: vec![Var(0)],
            dtype: to.compute(),
            name: "cast".into(),
        }]
    } else {
        Vec::new()
    };
    let program = Program {
        name: "to_dtype".into(),
        inputs: vec![Input {
            name: "x".into(),
            dtype: from,
            access: Access::Lanes,
        }],
        params: Vec::new(),
        insts,
        outputs: vec![Output {
            value: Var(u16::from(convert)),
            dtype: to,
            name: "out".into(),
        }],
    };
    let buffer = |dtype| Buffer {
        name: "x".into(),
        dtype,
        space: Space::Elem,
    };
    let map = Map {
        space: Space::Elem,
        inputs: vec![Buf::Operand(0)],
        params: Vec::new(),
        program,
        outputs: vec![Buf::Output(0)],
    };
    let kernel = Kernel {
        name: "to_dtype".into(),
        source: String::new(),
        operands: vec![buffer(from)],
        outputs: vec![buffer(to)],
        scratch: Vec::new(),
        params: Vec::new(),
        steps: vec![Step::Map(map)],
    };
    Lowered {
        kernel,
        operands: vec![NodeId(0).into()],
        outputs: Vec::new(),
        params: Vec::new(),
    }
}
