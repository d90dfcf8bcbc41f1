//! `eager` and `eager_noexcept`: the graph operation by operation.

use super::{DEBUG, warn_of_options};
use crate::built_in;
use tensorplay_runtime::compiler::{Backend, Codegen, CompileOptions, Example, Executable};
use tensorplay_runtime::graph_api::{GraphModule, Run};
use tensorplay_runtime::{Error, Result, Tensor};

/// Runs graphs as they are. `wraps`: whether an error is told apart from those that the program expects.
struct Eager {
    name: &'static str,
    wraps: bool,
}

struct AsIs {
    graph: GraphModule,
    wraps: bool,
}

impl Backend for Eager {
    fn compile(
        &self,
        graph: &GraphModule,
        _: &[Example],
        options: &CompileOptions,
    ) -> Result<Box<dyn Executable>> {
        warn_of_options(self.name, options);
        Ok(Box::new(AsIs {
            graph: graph.clone(),
            wraps: self.wraps,
        }))
    }
}

impl Executable for AsIs {
    fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        self.graph.run(inputs).map_err(|e| match self.wraps {
            false => e,
            true => Error::Unexpected {
                function: self.graph.name.clone(),
                source: Box::new(e),
            },
        })
    }

    fn codegen(&self) -> Codegen {
        Codegen::Eager
    }
}

built_in!(
    /// The graph operation by operation.
    EAGER, "eager", DEBUG, Eager { name: "eager", wraps: false }
);
built_in!(
    /// The same; an error says that it was not expected.
    EAGER_NOEXCEPT, "eager_noexcept", DEBUG, Eager { name: "eager_noexcept", wraps: true }
);
