//! Backends that fail in known ways, to test what is built around backends.

use super::DEBUG;
use crate::built_in;
use tensorplay_runtime::compiler::{Backend, Codegen, CompileOptions, Example, Executable};
use tensorplay_runtime::graph_api::{Eval, GraphModule, Interpreter, Node, Op, Run};
use tensorplay_runtime::{Error, Result, Tensor};

/// What happens to a relu.
#[derive(Clone, Copy)]
enum Fault {
    /// The graph does not compile.
    Compile,
    /// The call fails.
    Runtime,
    /// It gives `x + 1`.
    Accuracy,
}

struct ReluFault(Fault);

struct Faulty {
    graph: GraphModule,
    fault: Fault,
}

/// The first relu of a graph.
fn relu(graph: &GraphModule) -> Option<String> {
    let found = graph.nodes().iter().find(|n| n.op() == Some(Op::Relu));
    let here = found.map(|n| graph.describe(n));
    here.or_else(|| graph.regions.iter().find_map(relu))
}

impl Backend for ReluFault {
    fn compile(&self, graph: &GraphModule, _: &[Example], _: &CompileOptions) -> Result<Box<dyn Executable>> {
        if let (Fault::Compile, Some(node)) = (self.0, relu(graph)) {
            return Err(Error::Node {
                node,
                source: Box::new(Error::msg("relu does not compile (ReluCompileError)")),
            });
        }
        Ok(Box::new(Faulty {
            graph: graph.clone(),
            fault: self.0,
        }))
    }
}

impl Executable for Faulty {
    fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        Injector(self.fault).run(&self.graph, inputs)
    }

    fn codegen(&self) -> Codegen {
        Codegen::Eager
    }
}

struct Injector(Fault);

impl Interpreter for Injector {
    fn call_op(&mut self, node: &Node, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        match (node.op(), self.0) {
            (Some(Op::Relu), Fault::Runtime) => Err(Error::msg("relu fails (ReluRuntimeError)")),
            (Some(Op::Relu), Fault::Accuracy) => Ok(inputs.iter().map(|x| x + 1).collect()),
            _ => node.eval(inputs),
        }
    }
}

/// Refuses inputs that are not leaves of the autograd graph. There is none yet, so that every tensor is a leaf.
struct NonLeaf;

impl Backend for NonLeaf {
    fn compile(
        &self,
        graph: &GraphModule,
        inputs: &[Example],
        _: &CompileOptions,
    ) -> Result<Box<dyn Executable>> {
        if inputs.iter().any(|x| !x.is_leaf()) {
            return Err(Error::msg("an input is not a leaf (TestingOnlyCompileError)"));
        }
        let graph = graph.clone();
        Ok(Box::new(move |inputs: &[Tensor]| graph.run(inputs)))
    }
}

built_in!(
    RELU_COMPILE,
    "relu_compile_error_TESTING_ONLY",
    DEBUG,
    ReluFault(Fault::Compile)
);
built_in!(
    RELU_RUNTIME,
    "relu_runtime_error_TESTING_ONLY",
    DEBUG,
    ReluFault(Fault::Runtime)
);
built_in!(
    RELU_ACCURACY,
    "relu_accuracy_error_TESTING_ONLY",
    DEBUG,
    ReluFault(Fault::Accuracy)
);
built_in!(NON_LEAF, "non_leaf_compile_error_TESTING_ONLY", DEBUG, NonLeaf);
