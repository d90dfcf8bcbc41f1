//! One case as a function, and the product's opinion of it.

use crate::vectors::Case;
use proc_macro2::TokenStream;
use std::str::FromStr;
use syn::spanned::Spanned;
use syn::{Expr, Stmt};
use tensorplay_graph::DType;

/// A function's text.
pub struct Function {
    /// What stands in the brackets of `#[compile(..)]`.
    pub attribute: String,
    /// The function without the attribute.
    pub item: String,
    /// How many tensors it returns.
    pub returns: usize,
}

/// Writes the function of a case.
///
/// Inputs all of one float dtype: `dtypes(that)`. Any other mix: a spec of its dtype on every parameter.
/// An error case has neither, so that nothing but the call can fail.
pub fn write(case: &Case, name: &str) -> Result<Function, String> {
    let (body, returns) = body(case)?;
    let mut dtypes: Vec<&str> = case.inputs.iter().map(|i| i.dtype.as_str()).collect();
    dtypes.dedup();
    let float = match dtypes[..] {
        [one] => one.parse::<DType>().is_ok_and(DType::is_float).then_some(one),
        _ => None,
    };
    let plain = case.error.is_some();
    let attribute = float
        .filter(|_| !plain)
        .map(|f| format!("dtypes({f})"))
        .unwrap_or_default();
    let specs = !plain && float.is_none();
    let params: Vec<String> = case
        .inputs
        .iter()
        .map(|i| {
            let spec = if specs {
                format!("#[spec({}[..])] ", i.dtype)
            } else {
                String::new()
            };
            format!("{spec}{}: &Tensor", i.name)
        })
        .collect();
    let result = match returns {
        1 => "Tensor".to_string(),
        n => format!("({})", vec!["Tensor"; n].join(", ")),
    };
    let item = format!(
        "fn {name}({}) -> tensorplay::Result<{result}> {{\n    {body}\n}}",
        params.join(", ")
    );
    Ok(Function {
        attribute,
        item,
        returns,
    })
}

/// The body with its last expression in `Ok(..)`, and the number of tensors in it.
fn body(case: &Case) -> Result<(String, usize), String> {
    // the lines keep a comment at the end from hiding the brace
    let text = format!("{{\n{}\n}}", case.rust);
    let block: syn::Block = syn::parse_str(&text).map_err(|e| format!("`{}` is not Rust: {e}", case.rust))?;
    let Some(Stmt::Expr(last, None)) = block.stmts.last() else {
        return Err(format!("`{}` does not end in an expression", case.rust));
    };
    let returns = match last {
        Expr::Tuple(t) => t.elems.len(),
        _ => case.outputs.len().max(1),
    };
    if case.error.is_none() && returns != case.outputs.len() {
        return Err(format!(
            "it returns {returns} tensors and has {} outputs",
            case.outputs.len()
        ));
    }
    // the source text stays as it is written: messages and `explain!` quote it
    let range = last.span().byte_range();
    let parts = text.get(2..range.start).zip(text.get(range));
    let (before, last) = parts.ok_or_else(|| format!("`{}` cannot be taken apart", case.rust))?;
    Ok((format!("{before}Ok({last})"), returns))
}

impl Function {
    /// What `#[compile]` would say against the function.
    pub fn refusal(&self) -> Option<String> {
        let tokens = |text: &str| TokenStream::from_str(text).map_err(|e| e.to_string());
        let (attribute, item) = match (tokens(&self.attribute), tokens(&self.item)) {
            (Ok(a), Ok(i)) => (a, i),
            (Err(e), _) | (_, Err(e)) => return Some(e),
        };
        match tensorplay_capture::compile(attribute, item) {
            Ok(captured) => captured
                .paths
                .iter()
                .find_map(|path| tensorplay_stax::analyse(path).err())
                .map(|e| e.to_string()),
            Err(failure) if failure.diagnostics.is_empty() => {
                Some("not captured, without a diagnostic".into())
            }
            Err(failure) => {
                let texts: Vec<String> = failure.diagnostics.iter().map(ToString::to_string).collect();
                Some(texts.join("; "))
            }
        }
    }
}
