//! The compiler: one closure a node, in the order of the graph, with the values that nobody needs any more dropped.

use crate::operand::{Operand, Operated};
use tensorplay::compiler::{Backend, CompileOptions, Example, Executable};
use tensorplay::graph::{GraphModule, Node, NodeId, NodeKind};
use tensorplay::{Error, Result, Tensor};

/// The backend.
pub struct Closures;

/// Computes a node from the values of all operands.
type Closure = Box<dyn Fn(&[Operated<'_>]) -> Option<Tensor> + Send + Sync>;

struct Step {
    /// The node whose value it computes.
    node: usize,
    operands: Vec<Operand>,
    closure: Closure,
    /// The nodes whose values are used here for the last time.
    dead: Vec<usize>,
    /// For messages.
    name: String,
}

/// A compiled graph.
struct Program {
    /// How many values there are.
    nodes: usize,
    /// The nodes that are the tensors it is given.
    inputs: Vec<usize>,
    steps: Vec<Step>,
    outputs: Vec<usize>,
}

impl Backend for Closures {
    fn compile(
        &self,
        module: &GraphModule,
        _examples: &[Example],
        _options: &CompileOptions,
    ) -> Result<Box<dyn Executable>> {
        let graph = &module.graph;
        let mut steps = Vec::new();
        for (id, node) in graph.ids().zip(&graph.nodes) {
            if matches!(node.kind, NodeKind::Call(..)) {
                steps.push(step(module, id, node)?);
            }
        }
        let mut program = Program {
            nodes: graph.nodes.len(),
            inputs: graph.inputs.iter().map(|i| i.index()).collect(),
            steps,
            outputs: graph.outputs.iter().map(|v| v.node.index()).collect(),
        };
        program.drop_early();
        Ok(Box::new(program))
    }
}

fn step(module: &GraphModule, id: NodeId, node: &Node) -> Result<Step> {
    let operands: Option<Vec<Operand>> = node.args().iter().map(Operand::of).collect();
    let Some(operands) = operands else {
        return Err(refuse(module, id, "an argument is neither a tensor nor a number"));
    };
    let Some(closure) = closure(node.op_name()) else {
        return Err(refuse(module, id, "there is no closure for this operation"));
    };
    Ok(Step {
        node: id.index(),
        operands,
        closure,
        dead: Vec::new(),
        name: place(module, id),
    })
}

/// What the caller of the function finds in `BackendCompilerFailed`; tensorplay fills in backend and function.
fn refuse(module: &GraphModule, id: NodeId, why: &str) -> Error {
    Error::BackendCompilerFailed {
        backend: "closures".into(),
        function: module.name.clone(),
        node: Some(place(module, id)),
        source: Box::new(Error::msg(why)),
    }
}

/// `erf at src/main.rs:12`.
fn place(module: &GraphModule, id: NodeId) -> String {
    let (op, line) = (module.graph.node(id).op_name(), module.location(id).line);
    format!("{op} at {}:{line}", module.file)
}

/// An operator: between tensors, and with a number on either side.
macro_rules! operator {
    ($op:tt) => {
        Box::new(|operands: &[Operated<'_>]| {
            use Operated::{Float, Int, Tensor};
            Some(match operands {
                [Tensor(a), Tensor(b)] => *a $op *b,
                [Tensor(a), Int(b)] => *a $op *b,
                [Tensor(a), Float(b)] => *a $op *b,
                [Int(a), Tensor(b)] => *a $op *b,
                [Float(a), Tensor(b)] => *a $op *b,
                _ => return None,
            })
        })
    };
}

/// An operator with its operands the other way round.
fn swapped(operator: Closure) -> Closure {
    Box::new(move |operands| match operands {
        [a, b] => operator(&[*b, *a]),
        _ => None,
    })
}

/// The closures that there are.
fn closure(op: &str) -> Option<Closure> {
    Some(match op {
        "add" => operator!(+),
        "sub" => operator!(-),
        "mul" => operator!(*),
        "div" => operator!(/),
        // `2.0 - x` and `2.0 / x`, with the tensor first
        "rsub" => swapped(operator!(-)),
        "rdiv" => swapped(operator!(/)),
        "matmul" => Box::new(|operands| match operands {
            [Operated::Tensor(a), Operated::Tensor(b)] => Some(a.matmul(b)),
            _ => None,
        }),
        "neg" => unary(|x| -x),
        "relu" => unary(Tensor::relu),
        "exp" => unary(Tensor::exp),
        "tanh" => unary(Tensor::tanh),
        "sqrt" => unary(Tensor::sqrt),
        _ => return None,
    })
}

fn unary(f: impl Fn(&Tensor) -> Tensor + Send + Sync + 'static) -> Closure {
    Box::new(move |operands| match operands {
        [Operated::Tensor(x)] => Some(f(x)),
        _ => None,
    })
}

impl Program {
    /// Finds where each value is used last.
    fn drop_early(&mut self) {
        let mut seen = vec![false; self.nodes];
        for node in self.outputs.iter().chain(&self.inputs) {
            seen[*node] = true;
        }
        for step in self.steps.iter_mut().rev() {
            for node in step.operands.iter().filter_map(|o| o.node()) {
                if !std::mem::replace(&mut seen[node], true) {
                    step.dead.push(node);
                }
            }
        }
    }
}

impl Executable for Program {
    fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let (tensors, scalars) = inputs.split_at(self.inputs.len());
        let mut values: Vec<Option<Tensor>> = vec![None; self.nodes];
        for (node, x) in self.inputs.iter().zip(tensors) {
            values[*node] = Some(x.clone());
        }
        let gone = || Error::msg("a value is missing: a bug of this backend");
        for step in &self.steps {
            let mut operands = Vec::with_capacity(step.operands.len());
            for operand in &step.operands {
                operands.push(match *operand {
                    Operand::Node(i) => Operated::Tensor(values[i].as_ref().ok_or_else(gone)?),
                    Operand::Int(v) => Operated::Int(v),
                    Operand::Float(v) => Operated::Float(v),
                    Operand::Scalar(i) => Operated::read(&scalars[i]),
                });
            }
            let value = (step.closure)(&operands)
                .ok_or_else(|| Error::msg(format!("{}: operands of another kind", step.name)))?;
            values[step.node] = Some(value);
            for node in &step.dead {
                values[*node] = None;
            }
        }
        let outputs = self.outputs.iter();
        outputs.map(|i| values[*i].clone().ok_or_else(gone)).collect()
    }
}
