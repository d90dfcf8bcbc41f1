//! A case: inputs as bits, a list of calls, the outputs.
//!
//! Problem: one case must run as a graph, op by op, in the reference and as a Rust function, and be shrunk.
//! Method: a flat list of values (inputs first, then the results of the calls in order) that each form reads.
//! Invariant: a call refers to earlier values only.

use half::{bf16, f16};
use tensorplay_graph::op::row::Results;
use tensorplay_graph::{
    Arg, Builder, DType, Dim, Expr, GraphModule, Host, Op, OpError, Scalar, Symbol, TensorType, Value,
};

/// How an input lies in memory.
#[derive(Clone, PartialEq, Debug)]
pub enum Layout {
    /// Row-major.
    Contiguous,
    /// Axes in another order in memory.
    Permuted(Vec<usize>),
    /// Every `step`-th element of a longer axis, from an offset.
    Stepped(usize, usize),
    /// Axes of stride 0 (their values are equal).
    Expanded(Vec<usize>),
}

/// What the graph promises of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spec {
    /// Nothing.
    None,
    /// The dtype.
    DType,
    /// Dtype and shape.
    Full,
    /// Dtype and rank, with one symbol for each size above 1.
    Named,
}

/// A tensor parameter with its value.
#[derive(Clone, PartialEq, Debug)]
pub struct Input {
    /// The dtype.
    pub dtype: DType,
    /// The sizes.
    pub shape: Vec<usize>,
    /// The elements in row-major order, as bits (integers sign-extended).
    pub bits: Vec<u64>,
    /// How they lie in memory.
    pub layout: Layout,
    /// What the graph says of them.
    pub spec: Spec,
}

/// An argument of a call.
#[derive(Clone, PartialEq, Debug)]
pub enum A {
    /// A value.
    V(usize),
    /// Several values.
    Vs(Vec<usize>),
    /// A scalar operand or float.
    S(Scalar),
    /// An integer, a dim.
    I(i64),
    /// Dims or sizes.
    Is(Vec<i64>),
    /// A dtype.
    D(DType),
    /// A flag.
    B(bool),
    /// Options: the list that their row describes.
    O(Vec<Option<Host>>),
    /// An absent tensor.
    None,
}

/// A call.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// The operation.
    pub op: Op,
    /// Its arguments.
    pub args: Vec<A>,
    /// How many results it has.
    pub results: usize,
}

/// A program with its inputs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Case {
    /// The seed that made it.
    pub seed: u64,
    /// The inputs.
    pub inputs: Vec<Input>,
    /// The calls.
    pub nodes: Vec<Node>,
    /// The values returned.
    pub outputs: Vec<usize>,
}

/// The product of sizes.
pub fn count(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// An element as f64.
pub fn float_of(dtype: DType, bits: u64) -> f64 {
    match dtype {
        DType::F32 => f64::from(f32::from_bits(bits as u32)),
        DType::F64 => f64::from_bits(bits),
        DType::F16 => f16::from_bits(bits as u16).to_f64(),
        DType::BF16 => bf16::from_bits(bits as u16).to_f64(),
        _ => bits as i64 as f64,
    }
}

/// The bits of a float that the dtype holds exactly (rounded if it does not).
pub fn float_bits(dtype: DType, v: f64) -> u64 {
    match dtype {
        DType::F32 => u64::from((v as f32).to_bits()),
        DType::F16 => u64::from(f16::from_f32(v as f32).to_bits()),
        DType::BF16 => u64::from(bf16::from_f32(v as f32).to_bits()),
        _ => v.to_bits(),
    }
}

/// Row-major strides.
pub fn strides(shape: &[usize]) -> Vec<usize> {
    let mut s = vec![1; shape.len()];
    for i in (0..shape.len().saturating_sub(1)).rev() {
        s[i] = s[i + 1] * shape[i + 1];
    }
    s
}

/// Calls `f` with every index of `shape` in row-major order.
pub fn each(shape: &[usize], mut f: impl FnMut(&[usize])) {
    let n = count(shape);
    let mut at = vec![0; shape.len()];
    for _ in 0..n {
        f(&at);
        for d in (0..shape.len()).rev() {
            at[d] += 1;
            if at[d] < shape[d] {
                break;
            }
            at[d] = 0;
        }
    }
}

/// What a named dim of that size is called; `None` for 0 and 1, which are numbers.
pub fn symbol(n: usize) -> Option<String> {
    (n > 1).then(|| format!("N{n}"))
}

fn named(n: usize, symbols: &mut Vec<Symbol>) -> Dim {
    let Some(name) = symbol(n) else {
        return Dim::Known(n);
    };
    let at = symbols.iter().position(|s| s.name == name).unwrap_or_else(|| {
        symbols.push(Symbol {
            name,
            lo: 0,
            hi: None,
        });
        symbols.len() - 1
    });
    Dim::Symbol(at as u32)
}

impl Input {
    fn ty(&self, symbols: &mut Vec<Symbol>) -> Option<TensorType> {
        match self.spec {
            Spec::None => None,
            Spec::DType => Some(TensorType {
                dtype: Some(self.dtype),
                shape: None,
            }),
            Spec::Full => Some(TensorType::known(self.dtype, &self.shape)),
            Spec::Named => Some(TensorType {
                dtype: Some(self.dtype),
                shape: Some(self.shape.iter().map(|&n| named(n, symbols)).collect()),
            }),
        }
    }
}

impl A {
    /// Calls `f` with every value.
    pub fn values(&mut self, f: &mut impl FnMut(&mut usize)) {
        match self {
            A::V(v) => f(v),
            A::Vs(l) => l.iter_mut().for_each(f),
            _ => {}
        }
    }

    fn arg(&self, values: &[Value]) -> Arg {
        match self {
            A::V(v) => values[*v].into(),
            A::Vs(l) => Arg::List(l.iter().map(|&v| values[v].into()).collect()),
            A::S(s) => Arg::Host(Expr::Literal(Host::from(*s))),
            A::I(v) => Arg::int(*v),
            A::Is(l) => Arg::ints(l.iter().copied()),
            A::D(d) => Arg::dtype(*d),
            A::B(b) => Arg::Host(Expr::Literal(Host::Bool(*b))),
            A::O(l) => {
                let one = |h: &Option<Host>| h.map_or(Arg::None, |h| Arg::Host(Expr::Literal(h)));
                Arg::List(l.iter().map(one).collect())
            }
            A::None => Arg::None,
        }
    }
}

impl Case {
    /// The graph, or the call that the rules refuse.
    ///
    /// # Errors
    /// A broken shape or dtype rule, with the position of the call.
    pub fn module(&self) -> Result<GraphModule, (usize, OpError)> {
        let mut b = Builder::new(format!("seed_{}", self.seed));
        let mut values: Vec<Value> = Vec::new();
        for (i, input) in self.inputs.iter().enumerate() {
            let ty = input.ty(&mut b.module.symbols);
            values.push(b.input(format!("x{i}"), ty));
        }
        for (i, n) in self.nodes.iter().enumerate() {
            let args = n.args.iter().map(|a| a.arg(&values)).collect();
            if n.op.row().results == Results::One {
                values.push(b.call(n.op, args).map_err(|e| (i, e))?);
            } else {
                let made = b.call_list(n.op, args, n.results).map_err(|e| (i, e))?;
                values.extend(made.into_iter().take(n.results));
            }
        }
        b.module.graph.outputs = self.outputs.iter().map(|&v| values[v]).collect();
        Ok(b.module)
    }

    /// How many values there are.
    pub fn values(&self) -> usize {
        self.inputs.len() + self.nodes.iter().map(|n| n.results).sum::<usize>()
    }

    /// The first value of a call.
    pub fn first(&self, node: usize) -> usize {
        self.inputs.len() + self.nodes[..node].iter().map(|n| n.results).sum::<usize>()
    }
}
