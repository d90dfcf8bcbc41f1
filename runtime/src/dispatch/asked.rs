//! A backend that is asked for the code of a graph, and what it made.

use super::counters;
use crate::backend::registry::Slot;
use crate::backend::{Codegen, CompileOptions, Executable, failed, guarded};
use crate::example::Example;
use crate::{Error, Result, Tensor};
use tensorplay_graph::GraphModule;

/// Who is asked, and for which function.
pub(super) struct Asked {
    pub slot: &'static Slot,
    pub function: &'static str,
    pub options: CompileOptions,
}

/// What a backend made.
pub(super) struct Executed {
    executable: Box<dyn Executable>,
    pub codegen: Codegen,
}

impl Asked {
    /// Has a graph compiled.
    ///
    /// # Errors
    /// What the backend reports, with its name; or its code is not native and the function is `strict_native`.
    pub(super) fn compile(&self, graph: &GraphModule, examples: &[Example]) -> Result<Executed> {
        let (name, function) = (self.slot.name(), self.function);
        counters::BACKEND_COMPILES.add(1);
        let backend = self.slot.backend()?;
        let made = guarded(|| {
            let executable = backend.compile(graph, examples, &self.options)?;
            let codegen = executable.codegen();
            Ok(Executed { executable, codegen })
        });
        let made = made.map_err(|e| failed(name, function, e))?;
        if self.options.strict_native && !made.codegen.is_native() {
            return Err(Error::NotNative {
                function: function.into(),
                reason: format!("backend `{name}` runs {} code", made.codegen),
            });
        }
        Ok(made)
    }
}

impl Executed {
    pub(super) fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        guarded(|| self.executable.run(inputs))
    }
}

/// An operation's own error is the caller's; any other names the backend.
pub(super) fn error_of(backend: &str, function: &str, e: Error) -> Error {
    match e {
        Error::Shape(_)
        | Error::DType(_)
        | Error::Index(_)
        | Error::Value(_)
        | Error::Device(_)
        | Error::OutOfMemory { .. } => e,
        e => failed(backend, function, e),
    }
}
