//! A case: inputs as bits, a list of calls, the outputs.
//!
//! Problem: one case must run as a graph, op by op, in the reference and as a Rust function, and be shrunk.
//! Method: a flat list of values (inputs first, then the results of the calls in order) that each form reads.
//! Invariant: a call refers to earlier values only.

use tensorplay::half::{bf16, f16};
use tensorplay::{DType, Element, Tensor};
use tensorplay_graph::{Arg, Builder, Expr, GraphModule, Host, Op, OpError, Scalar, TensorType, Value};

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

fn build<T: Element>(bits: &[u64], shape: &[usize], f: impl Fn(u64) -> T) -> Tensor {
    Tensor::from_vec(bits.iter().map(|&b| f(b)).collect::<Vec<T>>(), shape)
}

/// A contiguous tensor of these bits.
pub fn tensor_of(dtype: DType, bits: &[u64], shape: &[usize]) -> Tensor {
    match dtype {
        DType::F32 => build(bits, shape, |b| f32::from_bits(b as u32)),
        DType::F64 => build(bits, shape, f64::from_bits),
        DType::F16 => build(bits, shape, |b| f16::from_bits(b as u16)),
        DType::BF16 => build(bits, shape, |b| bf16::from_bits(b as u16)),
        DType::I32 => build(bits, shape, |b| b as i32),
        DType::I64 => build(bits, shape, |b| b as i64),
        DType::U8 => build(bits, shape, |b| b as u8),
        DType::Bool => build(bits, shape, |b| b != 0),
    }
}

/// The elements of a tensor in row-major order, as bits.
pub fn bits_of(t: &Tensor) -> Vec<u64> {
    fn map<T: Element>(t: &Tensor, f: impl Fn(T) -> u64) -> Vec<u64> {
        t.to_vec::<T>().into_iter().map(f).collect()
    }
    match t.dtype() {
        DType::F32 => map(t, |v: f32| u64::from(v.to_bits())),
        DType::F64 => map(t, f64::to_bits),
        DType::F16 => map(t, |v: f16| u64::from(v.to_bits())),
        DType::BF16 => map(t, |v: bf16| u64::from(v.to_bits())),
        DType::I32 => map(t, |v: i32| v as i64 as u64),
        DType::I64 => map(t, |v: i64| v as u64),
        DType::U8 => map(t, |v: u8| u64::from(v)),
        DType::Bool => map(t, |v: bool| u64::from(v)),
    }
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

/// Bits far from any used value, to lie between stepped elements.
fn poison(dtype: DType) -> u64 {
    match dtype {
        d if d.is_float() => float_bits(d, f64::NAN),
        DType::U8 => 250,
        DType::Bool => 1,
        _ => -77_777i64 as u64,
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

impl Input {
    /// The tensor, in its layout.
    pub fn tensor(&self) -> Tensor {
        let st = strides(&self.shape);
        let linear = |at: &[usize]| at.iter().zip(&st).map(|(a, s)| a * s).sum::<usize>();
        match &self.layout {
            Layout::Contiguous => tensor_of(self.dtype, &self.bits, &self.shape),
            Layout::Permuted(p) => {
                // memory axis i is logical axis p[i]
                let shape: Vec<usize> = p.iter().map(|&a| self.shape[a]).collect();
                let mut bits = Vec::with_capacity(self.bits.len());
                each(&shape, |at| {
                    let mut l = vec![0; p.len()];
                    p.iter().zip(at).for_each(|(&a, &v)| l[a] = v);
                    bits.push(self.bits[linear(&l)]);
                });
                let mut inverse = vec![0i64; p.len()];
                p.iter().enumerate().for_each(|(i, &a)| inverse[a] = i as i64);
                tensor_of(self.dtype, &bits, &shape).permute(&inverse[..])
            }
            &Layout::Stepped(d, step) => {
                let mut shape = self.shape.clone();
                shape[d] = self.shape[d] * step + 1;
                let mut bits = Vec::new();
                each(&shape, |at| {
                    let mut l = at.to_vec();
                    let inside = at[d] >= 1 && (at[d] - 1).is_multiple_of(step);
                    l[d] = (at[d].max(1) - 1) / step;
                    bits.push(if inside {
                        self.bits[linear(&l)]
                    } else {
                        poison(self.dtype)
                    });
                });
                tensor_of(self.dtype, &bits, &shape).slice(d, 1, shape[d] as i64, step as i64)
            }
            Layout::Expanded(axes) => {
                let mut shape = self.shape.clone();
                axes.iter().for_each(|&a| shape[a] = shape[a].min(1));
                let mut bits = Vec::new();
                each(&shape, |at| bits.push(self.bits[linear(at)]));
                tensor_of(self.dtype, &bits, &shape).expand(&self.shape[..])
            }
        }
    }

    fn ty(&self) -> Option<TensorType> {
        match self.spec {
            Spec::None => None,
            Spec::DType => Some(TensorType {
                dtype: Some(self.dtype),
                shape: None,
            }),
            Spec::Full => Some(TensorType::known(self.dtype, &self.shape)),
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
            values.push(b.input(format!("x{i}"), input.ty()));
        }
        for (i, n) in self.nodes.iter().enumerate() {
            let args = n.args.iter().map(|a| a.arg(&values)).collect();
            let list = n.op.row().results == tensorplay_graph::op::row::Results::List;
            if list {
                let made = b.call_list(n.op, args, n.results).map_err(|e| (i, e))?;
                values.extend(made.into_iter().take(n.results));
            } else {
                values.push(b.call(n.op, args).map_err(|e| (i, e))?);
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

    /// The tensors to run on.
    pub fn tensors(&self) -> Vec<Tensor> {
        self.inputs.iter().map(Input::tensor).collect()
    }
}
