//! A failure as text: the graph, the inputs, what was expected; and as a ready test.

use crate::case::{Case, float_of};
use crate::check::Failure;
use std::fmt::Write;

/// The inputs, one a line; long ones cut.
pub fn inputs(case: &Case) -> String {
    let mut out = String::new();
    for (i, x) in case.inputs.iter().enumerate() {
        let values: Vec<String> = x
            .bits
            .iter()
            .take(16)
            .map(|&b| {
                if x.dtype.is_float() {
                    format!("{:?}", float_of(x.dtype, b))
                } else {
                    (b as i64).to_string()
                }
            })
            .collect();
        let more = if x.bits.len() > 16 {
            format!(", .. {} in all", x.bits.len())
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "  x{i}: {}{:?} {:?} = [{}{more}]",
            x.dtype,
            x.shape,
            x.layout,
            values.join(", ")
        );
    }
    out
}

/// The graph as text.
pub fn graph(case: &Case) -> String {
    match case.module() {
        Ok(m) => m.to_string(),
        Err((i, e)) => format!("call {i} ({:?}) is refused: {e}", case.nodes[i]),
    }
}

/// Everything about a failure.
pub fn failure(seed: u64, case: &Case, f: &Failure) -> String {
    format!(
        "seed {seed}: {}: {}\n{}{}",
        f.kind,
        f.detail,
        graph(case),
        inputs(case)
    )
}

/// The failure as a test.
pub fn test(seed: u64, case: &Case) -> String {
    let mut out = format!(
        "#[test]\nfn seed_{seed}() {{\n    let g: GraphModule = r#\"\n{}\"#.parse().unwrap();\n",
        graph(case)
    );
    let mut names = Vec::new();
    for (i, x) in case.inputs.iter().enumerate() {
        let _ = writeln!(
            out,
            "    let x{i} = tensorplay_fuzz::case::Input {{ dtype: DType::{:?}, shape: vec!{:?}, bits: vec!{:?}, layout: Layout::{:?}, spec: Spec::None }}.tensor();",
            x.dtype, x.shape, x.bits, x.layout
        );
        names.push(format!("x{i}"));
    }
    let _ = writeln!(out, "    let _got = g.run(&[{}]).unwrap();\n}}", names.join(", "));
    out
}
