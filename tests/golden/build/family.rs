//! The generated files: one module a family, one function and one table entry a case.

use crate::function::{self, Function};
use crate::names::Names;
use crate::vectors::Case;
use std::collections::BTreeMap;
use std::fmt::Write;
use tensorplay_graph::DType;

/// Everything written for a family.
#[derive(Default)]
struct Family {
    functions: String,
    entries: String,
    names: Names,
}

/// The files, by name: `cases.rs` and one a family.
pub fn files(cases: &[Case]) -> Result<Vec<(String, String)>, String> {
    let mut families: BTreeMap<&str, Family> = BTreeMap::new();
    for case in cases {
        let (family, rest) = case.id.split_once('.').unwrap_or((&case.id, &case.id));
        let family = families.entry(family).or_default();
        let name = family.names.function(rest);
        let function = function::write(case, &name).map_err(|e| format!("case `{}`: {e}", case.id))?;
        family.add(case, &name, &function);
    }
    let mut modules = String::new();
    let mut tables = String::new();
    let mut files = Vec::new();
    let mut names = Names::default();
    for (family, generated) in families {
        let module = names.module(family);
        let file = format!("cases_{module}.rs");
        let include = format!("include!(concat!(env!(\"OUT_DIR\"), \"/{file}\"));");
        modules += &format!(
            "/// The cases `{family}.*`.\n#[allow(clippy::all)]\npub mod {module} {{\n    {include}\n}}\n"
        );
        tables += &format!("    {module}::CASES,\n");
        files.push((file, generated.text()));
    }
    let text = format!(
        "{modules}\n/// The families in order.\npub static FAMILIES: &[&[tensorplay_golden::Entry]] = &[\n{tables}];\n"
    );
    files.push(("cases.rs".into(), text));
    Ok(files)
}

impl Family {
    fn add(&mut self, case: &Case, name: &str, function: &Function) {
        let refusal = function.refusal();
        if let Some(reason) = refusal {
            let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
            self.entries += &format!(
                "    Entry::Ignored {{ id: {:?}, reason: {reason:?} }},\n",
                case.id
            );
            return;
        }
        let attribute = if function.attribute.is_empty() {
            String::new()
        } else {
            format!("({})", function.attribute)
        };
        self.functions += &format!("/// `{}`\n#[compile{attribute}]\n{}\n\n", case.id, function.item);
        self.entries += &entry(case, name, function);
    }

    fn text(&self) -> String {
        format!(
            "#[allow(unused_imports)]\nuse tensorplay::{{compile, explain, prelude::*}};\n\
             #[allow(unused_imports)]\nuse tensorplay_golden::{{Case, Entry, Expected, Input, Layout, Output, arity}};\n\n\
             {}/// The cases in order.\npub static CASES: &[Entry] = &[\n{}];\n",
            self.functions, self.entries
        )
    }
}

fn entry(case: &Case, name: &str, function: &Function) -> String {
    let params: Vec<&str> = case.inputs.iter().map(|i| i.name.as_str()).collect();
    let params = params.join(", ");
    let results = match function.returns {
        1 => "vec![r]".to_string(),
        n => {
            let fields: Vec<String> = (0..n).map(|i| format!("r.{i}")).collect();
            format!("vec![{}]", fields.join(", "))
        }
    };
    let mut text = String::new();
    // writing to a String does not fail
    let _ = writeln!(text, "    Entry::Built(Case {{");
    let _ = writeln!(text, "        id: {:?},", case.id);
    let _ = writeln!(
        text,
        "        call: |inputs| match inputs {{ [{params}] => {name}({params}).map(|r| {results}), _ => arity({}, inputs.len()) }},",
        case.inputs.len()
    );
    let _ = writeln!(text, "        explain: || explain!({name}),");
    let _ = writeln!(text, "        inputs: &[");
    for i in &case.inputs {
        let layout = match i.layout.as_deref() {
            Some("transposed") => "Transposed",
            Some("strided") => "Strided",
            _ => "Contiguous",
        };
        let _ = writeln!(
            text,
            "            Input {{ key: {:?}, dtype: {}, shape: &{:?}, layout: Layout::{layout} }},",
            i.key,
            dtype(&i.dtype),
            i.shape
        );
    }
    let _ = writeln!(text, "        ],");
    match &case.error {
        Some(e) => {
            let _ = writeln!(text, "        expected: Expected::Error(&{:?}),", e.mentions);
        }
        None => {
            let _ = writeln!(text, "        expected: Expected::Values(&[");
            for o in &case.outputs {
                let _ = writeln!(
                    text,
                    "            Output {{ key: {:?}, dtype: {}, shape: &{:?}, rtol: {:?}, atol: {:?} }},",
                    o.key,
                    dtype(&o.dtype),
                    o.shape,
                    o.rtol,
                    o.atol
                );
            }
            let _ = writeln!(text, "        ]),");
        }
    }
    let _ = writeln!(text, "    }}),");
    text
}

/// `DType::F32` from `f32`; the name has been checked.
fn dtype(name: &str) -> String {
    name.parse::<DType>()
        .map_or_else(|_| name.to_string(), |d| format!("DType::{d:?}"))
}
