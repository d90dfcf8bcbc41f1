//! `stax`: the built-in compiler, for graphs that are made at run time.
//!
//! A compiled function on this backend runs the kernels of its binary, and never comes here. A graph that was traced, parsed
//! or rewritten has none: it is fused by the same schedule, and its groups run on the tile VM.

use crate::built_in;
use tensorplay_runtime::compiler::{Backend, Codegen, CompileOptions, Example, Executable};
use tensorplay_runtime::graph_api::{GraphModule, Program};
use tensorplay_runtime::{Result, Tensor};

struct Stax;

struct OnTileVm(Program);

impl Backend for Stax {
    fn compile(
        &self,
        graph: &GraphModule,
        _: &[Example],
        options: &CompileOptions,
    ) -> Result<Box<dyn Executable>> {
        Ok(Box::new(OnTileVm(Program::new(graph, options)?)))
    }
}

impl Executable for OnTileVm {
    fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        self.0.run(inputs)
    }

    fn codegen(&self) -> Codegen {
        Codegen::TileVm
    }
}

built_in!(STAX, "stax", &[], Stax);
