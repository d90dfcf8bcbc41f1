//! Specs: the promises that a function's signature makes about shapes and dtypes.

use crate::{Error, Result};
use tensorplay_graph::{Code, DType, Dim, GraphModule, OpError, OpErrorKind, TensorType};

/// Where each named dim got its size.
#[derive(Debug)]
pub(crate) struct Binding<'a> {
    module: &'a GraphModule,
    symbols: Vec<Option<(usize, String)>>,
}

impl<'a> Binding<'a> {
    pub(crate) fn new(module: &'a GraphModule) -> Self {
        Binding {
            module,
            symbols: vec![None; module.symbols.len()],
        }
    }

    /// Checks a tensor against its spec and binds the names in it.
    pub(crate) fn check(
        &mut self,
        name: &str,
        spec: &TensorType,
        dtype: DType,
        shape: &[usize],
    ) -> Result<()> {
        let symbols = &self.module.symbols;
        let got = TensorType::known(dtype, shape);
        let broken = |detail: String| {
            let message = format!(
                "expected {}, got {}{detail}",
                spec.display(symbols),
                got.display(&[])
            );
            spec_error(name, message)
        };
        if spec.dtype.is_some_and(|d| d != dtype) {
            let wanted = spec.dtype.unwrap_or(dtype);
            let help = format!(
                "convert it with `to_dtype(DType::{wanted:?})`, or leave the dtype open with `_[..]`"
            );
            return Err(broken(String::new()).with_help(help));
        }
        let Some(dims) = &spec.shape else { return Ok(()) };
        if dims.len() != shape.len() {
            return Err(broken(String::new()));
        }
        for (d, &n) in dims.iter().zip(shape) {
            match d {
                Dim::Known(want) if *want != n => return Err(broken(String::new())),
                Dim::Symbol(s) => {
                    let Some(symbol) = symbols.get(*s as usize) else {
                        continue;
                    };
                    if n < symbol.lo || symbol.hi.is_some_and(|hi| n > hi) {
                        let hi = symbol.hi.map_or(String::new(), |hi| format!("={hi}"));
                        return Err(broken(format!(" ({n} is outside {}..{hi})", symbol.lo)));
                    }
                    match &self.symbols[*s as usize] {
                        Some((m, other)) if *m != n => {
                            let message =
                                format!("`{}` is {m} in `{other}` and {n} in `{name}`", symbol.name);
                            return Err(spec_error(name, message));
                        }
                        Some(_) => {}
                        None => self.symbols[*s as usize] = Some((n, name.to_string())),
                    }
                }
                Dim::Known(_) | Dim::Unknown => {}
            }
        }
        Ok(())
    }
}

fn spec_error(name: &str, message: String) -> Error {
    OpError::new(
        Code::SPEC,
        OpErrorKind::Shape,
        "spec",
        format!("`{name}`: {message}"),
    )
    .into()
}
