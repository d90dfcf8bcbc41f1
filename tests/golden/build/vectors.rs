//! `cases.json`, as this crate's README describes it.

use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The file of the cases.
pub const CASES: &str = "cases.json";

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

/// A case.
#[derive(Deserialize)]
pub struct Case {
    pub id: String,
    /// An expression, or statements that end in one, over the inputs.
    pub rust: String,
    pub inputs: Vec<Input>,
    #[serde(default)]
    pub outputs: Vec<Output>,
    pub error: Option<Error>,
}

/// A tensor argument.
#[derive(Deserialize)]
pub struct Input {
    pub name: String,
    pub key: String,
    pub dtype: String,
    pub shape: Vec<usize>,
    /// `transposed` or `strided`; contiguous if absent.
    pub layout: Option<String>,
}

/// A right result.
#[derive(Deserialize)]
pub struct Output {
    pub key: String,
    pub dtype: String,
    pub shape: Vec<usize>,
    pub rtol: f64,
    pub atol: f64,
}

/// What the call must fail with.
#[derive(Deserialize)]
pub struct Error {
    pub mentions: Vec<String>,
}

/// Reads and checks the cases of a folder.
pub fn read(folder: &Path) -> Result<Vec<Case>, String> {
    let path = folder.join(CASES);
    let at = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let text = fs::read_to_string(&path).map_err(|e| at(&e))?;
    let file: File = serde_json::from_str(&text).map_err(|e| at(&e))?;
    let mut ids = BTreeSet::new();
    for case in &file.cases {
        case.check()
            .map_err(|e| at(&format!("case `{}`: {e}", case.id)))?;
        if !ids.insert(&case.id) {
            return Err(at(&format!("two cases are called `{}`", case.id)));
        }
    }
    Ok(file.cases)
}

impl Case {
    fn check(&self) -> Result<(), String> {
        if self.id.is_empty() || self.id.chars().any(char::is_whitespace) {
            return Err("an id is one word".into());
        }
        match (&self.error, self.outputs.as_slice()) {
            (None, []) => return Err("it has neither outputs nor an error".into()),
            (Some(_), [_, ..]) => return Err("it has outputs and an error".into()),
            _ => {}
        }
        let dtypes = self
            .inputs
            .iter()
            .map(|i| &i.dtype)
            .chain(self.outputs.iter().map(|o| &o.dtype));
        for dtype in dtypes {
            dtype
                .parse::<tensorplay_graph::DType>()
                .map_err(|e| e.to_string())?;
        }
        for input in &self.inputs {
            syn::parse_str::<syn::Ident>(&input.name).map_err(|e| format!("input `{}`: {e}", input.name))?;
            let rank = input.shape.len();
            match input.layout.as_deref() {
                None => {}
                Some("transposed") if rank >= 2 => {}
                Some("strided") if rank >= 1 => {}
                Some(other) => {
                    return Err(format!(
                        "input `{}` of rank {rank} cannot be `{other}`",
                        input.name
                    ));
                }
            }
        }
        Ok(())
    }
}
