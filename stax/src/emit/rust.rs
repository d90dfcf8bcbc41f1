//! The Rust emitter: one `strip!` item a program, in the user's own names.

use crate::kernel::{Access, Inst, LaneOp, Program, Var};
use std::fmt::Write;
use tensorplay_graph::{DType, Op, Scalar};

/// Prints a program as a `strip!` item; `source` becomes its documentation.
pub fn strip(program: &Program, source: &str) -> String {
    let mut s = String::new();
    let inputs = program.inputs.iter().filter_map(|i| match i.access {
        Access::Lanes => Some(format!("{}: [{}]", i.name, i.dtype)),
        Access::Splat => Some(format!("{}: {}", i.name, i.dtype)),
        Access::Update => None,
    });
    let mut parameters = inputs.collect::<Vec<_>>().join(", ");
    let updated = program.inputs.last().filter(|_| program.updates());
    if !program.params.is_empty() {
        let params: Vec<String> = program
            .params
            .iter()
            .map(|p| format!("{}: {}", p.name, p.dtype))
            .collect();
        parameters.push_str("; ");
        parameters.push_str(&params.join(", "));
    }
    let outputs: Vec<String> = program
        .outputs
        .iter()
        .enumerate()
        .map(|(k, o)| {
            let value = program.value_name(o.value);
            match updated {
                Some(i) if k == 0 => format!("&mut {}: {} = {value}", i.name, i.dtype),
                _ => format!("{}: {} = {value}", o.name, o.dtype),
            }
        })
        .collect();
    s.push_str("strip! {\n");
    if !source.is_empty() {
        let _ = writeln!(s, "    /// {source}");
    }
    let _ = writeln!(
        s,
        "    fn {}({parameters}) -> ({}) {{",
        program.name,
        outputs.join(", ")
    );
    for inst in &program.insts {
        let _ = writeln!(s, "        {}", statement(program, inst));
    }
    s.push_str("    }\n}\n");
    s
}

fn statement(p: &Program, inst: &Inst) -> String {
    let name = |v: &Var| p.value_name(*v).to_string();
    let args: Vec<String> = inst.args.iter().map(name).collect();
    let value = match inst.op {
        LaneOp::Const(s) => {
            return format!("let {}: {} = {};", inst.name, inst.dtype, literal(s, inst.dtype));
        }
        LaneOp::Cast => format!("{}.to_{}()", args[0], inst.dtype),
        LaneOp::RoundF16 => format!("{}.round_f16()", args[0]),
        LaneOp::RoundBF16 => format!("{}.round_bf16()", args[0]),
        LaneOp::Fmuladd => format!("{}.fmuladd({})", args[0], args[1..].join(", ")),
        LaneOp::Op(op) => match op {
            Op::Add => format!("{} + {}", args[0], args[1]),
            Op::Sub => format!("{} - {}", args[0], args[1]),
            Op::Mul => format!("{} * {}", args[0], args[1]),
            Op::Div => format!("{} / {}", args[0], args[1]),
            Op::Neg => format!("-{}", args[0]),
            _ => format!("{}.{}({})", args[0], op.name(), args[1..].join(", ")),
        },
    };
    format!("let {} = {value};", inst.name)
}

/// A literal of a compute type that Rust reads back exactly.
fn literal(s: Scalar, dtype: DType) -> String {
    match dtype {
        DType::F32 | DType::F64 => {
            let v = s.to_f64();
            if v.is_nan() {
                format!("{dtype}::NAN")
            } else if v.is_infinite() {
                format!("{dtype}::{}INFINITY", if v < 0.0 { "NEG_" } else { "" })
            } else if dtype == DType::F32 {
                format!("{:?}", v as f32)
            } else {
                format!("{v:?}")
            }
        }
        DType::Bool => format!("{}", s.to_f64() != 0.0),
        _ => s.to_i64().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_read_back_exactly() {
        assert_eq!(literal(Scalar::Float(f64::from(0.1f32)), DType::F32), "0.1");
        assert_eq!(literal(Scalar::Float(-0.0), DType::F64), "-0.0");
        assert_eq!(
            literal(Scalar::Float(f64::NEG_INFINITY), DType::F32),
            "f32::NEG_INFINITY"
        );
        assert_eq!(literal(Scalar::Float(f64::NAN), DType::F64), "f64::NAN");
        assert_eq!(literal(Scalar::Int(-3), DType::I64), "-3");
        assert_eq!(literal(Scalar::Float(1e-30), DType::F32), "1e-30");
    }
}
