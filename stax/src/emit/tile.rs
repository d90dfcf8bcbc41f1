//! The kernel IR as text: what the tile VM runs, and what `explain!` and the golden texts show.

use crate::kernel::{Buf, Inst, Kernel, LaneOp, Program, ReduceKind, Space, Step, Var};
use std::fmt::{self, Display, Write};

/// Prints a kernel: its tensors, then one line a step and an instruction.
pub fn kernel(k: &Kernel) -> String {
    let mut s = String::new();
    let list = |buffers: &[crate::kernel::Buffer]| {
        let shown = buffers.iter().map(|b| {
            let space = if b.space == Space::Row { " per row" } else { "" };
            format!("{}: {}{space}", b.name, b.dtype)
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    let params: Vec<String> = k
        .params
        .iter()
        .map(|p| format!("{}: {}", p.name, p.dtype))
        .collect();
    let semi = if params.is_empty() {
        String::new()
    } else {
        format!("; {}", params.join(", "))
    };
    let _ = writeln!(
        s,
        "kernel {}({}{semi}) -> ({})",
        k.name,
        list(&k.operands),
        list(&k.outputs)
    );
    for step in &k.steps {
        match step {
            Step::Map(m) => {
                let space = if m.space == Space::Row { "rows" } else { "elements" };
                let buf = |b: &Buf| shown(k, *b);
                let inputs: Vec<String> = m.inputs.iter().map(buf).collect();
                let outputs: Vec<String> = m.outputs.iter().map(buf).collect();
                let _ = writeln!(
                    s,
                    "  map {space} ({}) -> ({})",
                    inputs.join(", "),
                    outputs.join(", ")
                );
                for inst in &m.program.insts {
                    let _ = writeln!(s, "    {} = {}", inst.name, Shown(&m.program, inst));
                }
                for o in &m.program.outputs {
                    let _ = writeln!(s, "    store {} as {}", m.program.value_name(o.value), o.dtype);
                }
            }
            Step::Reduce(r) => {
                let kind = match r.kind {
                    ReduceKind::SumSquares { center: Some(c) } => {
                        format!("sum_squares around {} of", shown(k, c))
                    }
                    ReduceKind::SumSquares { center: None } => "sum_squares".to_string(),
                    kind => format!("{kind:?}").to_lowercase(),
                };
                let _ = writeln!(s, "  {} = {kind} {}", shown(k, r.dst), shown(k, r.src));
            }
        }
    }
    s
}

fn shown(k: &Kernel, b: Buf) -> String {
    let name = &k.buffer(b).name;
    match b {
        Buf::Operand(_) => name.clone(),
        Buf::Output(i) => format!("out{i}.{name}"),
        Buf::Scratch(i) => format!("t{i}.{name}"),
    }
}

struct Shown<'a>(&'a Program, &'a Inst);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(p, inst) = self;
        let args: Vec<&str> = inst.args.iter().map(|v: &Var| p.value_name(*v)).collect();
        let args = args.join(", ");
        match inst.op {
            LaneOp::Const(s) => write!(f, "{s}")?,
            LaneOp::Cast => write!(f, "cast {args}")?,
            LaneOp::RoundF16 => write!(f, "round_f16 {args}")?,
            LaneOp::RoundBF16 => write!(f, "round_bf16 {args}")?,
            LaneOp::Op(op) => write!(f, "{op} {args}")?,
            LaneOp::Fmuladd => write!(f, "fmuladd {args}")?,
        }
        write!(f, " : {}", inst.dtype)
    }
}
