//! `Tracer`: a graph built at run time by a function over proxies.
//!
//! Problem: tests, tools and backends need graphs of programs that no macro has seen, written as a user would write
//! them.
//!
//! Method: the function is called once, with a [`Proxy`] for each input. A proxy has the operations of the table as
//! methods and operators; each appends a node through a [`Builder`], so that types are inferred as the program runs. Sizes
//! and dtypes that only a call knows are host expressions, which go where numbers go. A rule that breaks is
//! noted with the line that broke it, and its result is of unknown type from there on, so that one run finds all errors.
//!
//! Invariants: a trace that succeeds verifies; nodes have the line and column of the call that made them, where that is
//! in the file of the call of `trace`; elsewhere the file stands in the place's text.
//!
//! ```
//! use tensorplay_graph::{DType, TensorType, Tracer};
//!
//! let m = Tracer::new("mlp")
//!     .input("x", TensorType::known(DType::F32, &[8, 4]))
//!     .input("w", TensorType::known(DType::F32, &[4, 2]))
//!     .build(|i| {
//!         let h = (i[0].matmul(&i[1]) * 0.5).relu();
//!         h.reshape((h.dim(0) * 2, -1)).softmax(-1)
//!     })?;
//! assert_eq!(m.nodes()[5].to_string(), "reshape(%4, [dim(%4, 0) * 2, -1])");
//!
//! let error = Tracer::trace(1, |i| i[0].unsqueeze(0).t().clamp(1.0, 0.5).to_dtype(1)).unwrap_err();
//! assert!(error.to_string().contains("to_dtype: `dtype` is a dtype, got 1"));
//! # Ok::<(), tensorplay_graph::TraceError>(())
//! ```

mod args;
mod error;
mod host;
mod methods;
mod operators;
mod options;
mod proxy;
mod tree;

pub use args::{HostList, TraceArg};
pub use error::{TraceError, TraceFault, TraceFaultKind};
pub use options::Options;
pub use proxy::{Proxy, Trace};
pub use tree::ProxyTree;

use crate::{Builder, GraphModule, HostType, ScalarInput, Symbol, TensorType, verify};
use std::panic::Location;

/// Describes the inputs of a trace; see the [module](crate::tracer).
#[derive(Clone, Debug)]
pub struct Tracer {
    builder: Builder,
}

impl Tracer {
    /// A trace of that name, without inputs so far.
    pub fn new(name: impl Into<String>) -> Tracer {
        let builder = Builder::new(name);
        Tracer { builder }
    }

    /// Adds a tensor parameter, of that type if one is given.
    #[must_use]
    pub fn input(mut self, name: impl Into<String>, spec: impl Into<Option<TensorType>>) -> Tracer {
        self.builder.input(name, spec.into());
        self
    }

    /// Adds a scalar parameter, which [`Trace::scalar`] gives.
    #[must_use]
    pub fn scalar(mut self, name: impl Into<String>, ty: HostType) -> Tracer {
        let (name, source) = (name.into(), None);
        self.builder.module.scalars.push(ScalarInput { name, ty, source });
        self
    }

    /// Declares a named dim, which types refer to by number.
    #[must_use]
    pub fn symbol(mut self, symbol: Symbol) -> Tracer {
        self.builder.module.symbols.push(symbol);
        self
    }

    /// Traces a function of `n` tensors of unknown type: `x0`, `x1`, and so on.
    ///
    /// ```
    /// use tensorplay_graph::Tracer;
    /// let m = Tracer::trace(2, |i| (&i[0] + &i[1], 1.0 - &i[0]))?;
    /// assert_eq!(m.nodes()[3].to_string(), "rsub(%0, 1.0)");
    /// assert_eq!(m.graph.outputs.len(), 2);
    /// # Ok::<(), tensorplay_graph::TraceError>(())
    /// ```
    ///
    /// # Errors
    /// Every rule that breaks, with the line that breaks it.
    #[track_caller]
    pub fn trace<R: ProxyTree>(n: usize, f: impl FnOnce(&[Proxy]) -> R) -> Result<GraphModule, TraceError> {
        let inputs = (0..n).fold(Tracer::new("trace"), |t, i| t.input(format!("x{i}"), None));
        inputs.build(f)
    }

    /// Calls the function with a proxy for each input, and returns the graph of what it does.
    ///
    /// # Errors
    /// Every rule that breaks, with the line that breaks it.
    #[track_caller]
    pub fn build<R: ProxyTree>(self, f: impl FnOnce(&[Proxy]) -> R) -> Result<GraphModule, TraceError> {
        self.build_with(|_, inputs| f(inputs))
    }

    /// Like [`build`](Tracer::build), for functions that make tensors, or take scalars, without having any input.
    ///
    /// ```
    /// use tensorplay_graph::{DType, HostType, Tracer};
    /// let m = Tracer::new("f").scalar("n", HostType::Usize).build_with(|trace, _| {
    ///     trace.zeros([trace.scalar(0), 3.into()], DType::F32)
    /// })?;
    /// assert_eq!(m.nodes()[0].to_string(), "zeros([$0, 3], f32)");
    /// # Ok::<(), tensorplay_graph::TraceError>(())
    /// ```
    ///
    /// # Errors
    /// Every rule that breaks, with the line that breaks it.
    #[track_caller]
    pub fn build_with<R: ProxyTree>(
        mut self,
        f: impl FnOnce(&Trace, &[Proxy]) -> R,
    ) -> Result<GraphModule, TraceError> {
        let here = Location::caller();
        self.builder.module.file = here.file().to_string();
        if let Some(place) = self.builder.module.locations.first_mut() {
            (place.line, place.column) = (here.line(), here.column());
        }
        let inputs = self.builder.module.graph.inputs.clone();
        let trace = Trace::new(self.builder);
        let proxies: Vec<Proxy> = inputs.iter().map(|i| trace.proxy((*i).into())).collect();
        let mut results = Vec::new();
        f(&trace, &proxies).proxies(&mut results);
        let (module, mut faults) = trace.finish(&results, here);
        if faults.is_empty()
            && let Err(errors) = verify(&module)
        {
            faults.push(TraceFault::new(here, TraceFaultKind::Invalid(errors)));
        }
        if faults.is_empty() {
            Ok(module)
        } else {
            Err(TraceError { faults })
        }
    }
}
