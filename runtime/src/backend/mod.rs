//! Backends: what compiles a graph at run time.
//!
//! Problem: the graph of a compiled function is data in the binary, and users bring compilers of their own for it: a
//! vendor's library, an interpreter that checks, a bridge to another process.
//!
//! Method: a [`Backend`] makes an [`Executable`] of a graph whose calls and loops are unrolled, and of the metadata of a
//! call's inputs. Backends are known by name in one [`registry`]: registered by hand, or submitted when the program is
//! linked and made at the first look-up. Dispatch keeps what was compiled in the function's own table, an entry a backend.
//!
//! Invariants: a name that is owned (built in, or registered by hand) is never taken by a submission; while code of a backend
//! runs no lock is held but the turns of those who want that backend itself, for the same function or for the first time;
//! a backend's panic is an error of the call; inside a backend's code the scope of
//! [`with_backend`] does not hold, so that it may call compiled functions.

mod codegen;
mod entry;
mod error;
mod options;
pub(crate) mod registry;
mod scope;

pub use codegen::Codegen;
pub use entry::{BackendCapabilities, BackendEntry, CONTRACT_VERSION, Dependency};
pub(crate) use error::{failed, guarded};
pub use options::{CompileOptions, OptionValue, list_mode_options};
pub use registry::{
    ListBackends, get_backend_capabilities, get_default_backend, list_backends, lookup_backend,
    register_backend, register_debug_backend, register_experimental_backend, set_default_backend,
};
pub(crate) use scope::current as scope;
pub use scope::with_backend;

use crate::example::Example;
use crate::{Result, Tensor};
use tensorplay_graph::GraphModule;

/// A compiler of graphs.
///
/// A closure `Fn(&GraphModule, &[Example], &CompileOptions) -> Result<Box<dyn Executable>>` is one.
pub trait Backend: Send + Sync {
    /// Compiles `graph` for inputs with the metadata of `example_inputs`: the tensor parameters in order, then the tensors
    /// that it reads of structs and lists, then the numbers as tensors of one element. It is asked once for a layout; where
    /// `options.dynamic` holds, once for all sizes of an entry, of which the examples are the first.
    ///
    /// The outputs of the graph are what the function returns, then new values of variables (`graph.updates`) and of `&mut`
    /// parameters (`graph.writes`); an executable gives all of them.
    ///
    /// # Errors
    /// The caller sees [`BackendCompilerFailed`](crate::Error::BackendCompilerFailed) with the error inside.
    fn compile(
        &self,
        graph: &GraphModule,
        example_inputs: &[Example],
        options: &CompileOptions,
    ) -> Result<Box<dyn Executable>>;

    /// Forgets what it keeps between compilations; part of [`reset`](crate::compiler::reset).
    fn reset(&self) {}
}

/// What a backend made of a graph. A closure `Fn(&[Tensor]) -> Result<Vec<Tensor>>` is one.
pub trait Executable: Send + Sync {
    /// The results for `inputs`, which have the metadata that it was compiled for. Called from any thread, from several at
    /// once.
    ///
    /// # Errors
    /// The caller sees them with the backend's name.
    fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>>;

    /// What kind of code it runs.
    fn codegen(&self) -> Codegen {
        Codegen::Custom
    }
}

impl<F> Backend for F
where
    F: Fn(&GraphModule, &[Example], &CompileOptions) -> Result<Box<dyn Executable>> + Send + Sync,
{
    fn compile(
        &self,
        graph: &GraphModule,
        example_inputs: &[Example],
        options: &CompileOptions,
    ) -> Result<Box<dyn Executable>> {
        self(graph, example_inputs, options)
    }
}

impl<F> Executable for F
where
    F: Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync,
{
    fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        self(inputs)
    }
}

/// Submits a backend when the program is linked: an expression, or a static, of type
/// [`BackendEntry`](crate::compiler::BackendEntry). It is known by name, and made when it is looked up first.
///
/// ```
/// # mod tensorplay { pub use tensorplay_runtime::*; pub use tensorplay_runtime::graph_api as graph; }
/// use tensorplay::compiler::{Backend, BackendCapabilities, BackendEntry, Executable, lookup_backend};
/// use tensorplay::{Tensor, graph::{GraphModule, Run}, submit_backend};
///
/// submit_backend!(BackendEntry {
///     name: "as_is",
///     tags: &["debug"],
///     capabilities: BackendCapabilities::new(),
///     make: || Ok(Box::new(|graph: &GraphModule, _: &[_], _: &_| {
///         let graph = graph.clone();
///         Ok(Box::new(move |inputs: &[Tensor]| graph.run(inputs)) as Box<dyn Executable>)
///     })),
/// });
/// assert!(lookup_backend("as_is").is_ok());
/// ```
#[macro_export]
macro_rules! submit_backend {
    ($entry:expr) => {
        const _: () = {
            static ENTRY: $crate::compiler::BackendEntry = $entry;
            $crate::__private::inventory::submit! { $crate::__private::Submitted(&ENTRY) }
        };
    };
}
