//! Well-typed random programs.
//!
//! Problem: random calls are mostly refused, and random values mostly end in NaN.
//! Method: a step proposes an operation with fitting operands (existing values, or new inputs), evaluates it in the
//! reference, and keeps it if it is accepted and still tells something. Operations with jumps take exact operands.
//! Invariants: the case follows from the seed; every call but an intended failing last one is accepted by the
//! reference. Refused proposals are kept apart: the product's rules must refuse them too.

use crate::case::{A, Case, Input, Node, Spec, count};
use crate::inputs::{self, Flavour};
use crate::reference::{self, Array, Stop};
use crate::rng::Rng;
use tensorplay_graph::{DType, Op, Scalar};

/// What is generated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Run-time graphs.
    Graph,
    /// Rust functions.
    Program,
}

/// A case, and calls on its values that the rules must refuse.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The case.
    pub case: Case,
    /// Refused calls; each may follow the case.
    pub refused: Vec<Node>,
}

use Op::*;
const UNARY: &[Op] = &[
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sqrt,
    Rsqrt,
    Reciprocal,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Erf,
    Erfc,
    Sigmoid,
    Logsigmoid,
    Relu6,
    Selu,
    Gelu,
    GeluTanh,
    Silu,
    Mish,
    Hardswish,
    Hardsigmoid,
    Softsign,
    LeakyRelu,
    Elu,
    Celu,
    Softplus,
    Hardtanh,
    Powf,
    NanToNum,
];
const SIMPLE: &[Op] = &[Neg, Abs, Square, Relu, Clamp, ClampMin, ClampMax, Powi];
const JUMPS: &[Op] = &[
    Sign, Floor, Ceil, Round, Trunc, Frac, Isnan, Isinf, Isfinite, LogicalNot, BitwiseNot,
];
const BINARY: &[Op] = &[
    Add, Sub, Mul, Div, Rsub, Rdiv, Add, Sub, Mul, Div, Maximum, Minimum, Fmax, Fmin, Pow, Atan2, Hypot,
];
const JUMPS2: &[Op] = &[Copysign, Fmod, Remainder, FloorDiv];
const COMPARE: &[Op] = &[Eq, Ne, Lt, Le, Gt, Ge];
const LOGIC: &[Op] = &[
    LogicalAnd, LogicalOr, LogicalXor, BitwiseAnd, BitwiseOr, BitwiseXor,
];
const SELECT: &[Op] = &[WhereCond, WhereCond, MaskedFill, Lerp, Addcmul];
const REDUCE: &[Op] = &[
    Sum,
    Sum,
    SumKeepdim,
    SumAll,
    Mean,
    MeanKeepdim,
    MeanAll,
    Max,
    MaxKeepdim,
    MaxAll,
    Min,
    MinKeepdim,
    MinAll,
    Prod,
    Var,
    VarKeepdim,
    StdDev,
    Norm,
    Logsumexp,
    Any,
    All,
];
const ARG: &[Op] = &[Argmax, ArgmaxKeepdim, Argmin, ArgminKeepdim];
const NORMS: &[Op] = &[Softmax, LogSoftmax, LayerNorm, RmsNorm];
const VIEWS: &[Op] = &[
    Reshape, Flatten, FlattenAll, Transpose, T, Permute, Unsqueeze, Squeeze, Narrow, Select, Slice, Expand,
    Movedim, Contiguous, Detach, Chunk, Split,
];
const CREATE: &[Op] = &[Zeros, Ones, Full, Arange, Linspace, Eye, ZerosLike, OnesLike];
const FAMILIES: &[(usize, &[Op])] = &[
    (18, UNARY),
    (7, SIMPLE),
    (5, JUMPS),
    (24, BINARY),
    (4, JUMPS2),
    (5, COMPARE),
    (4, LOGIC),
    (6, SELECT),
    (14, REDUCE),
    (2, ARG),
    (7, NORMS),
    (12, VIEWS),
    (5, &[Cat, Stack]),
    (6, &[Matmul, Matmul, Linear]),
    (6, &[ToDtype]),
    (2, CREATE),
];

struct Maker {
    r: Rng,
    mode: Mode,
    base: DType,
    loyal: usize,
    spec: Spec,
    case: Case,
    values: Vec<Array>,
    refused: Vec<Node>,
}

/// The case of a seed.
pub fn case(seed: u64, mode: Mode) -> Generated {
    let mut r = Rng::new(seed.wrapping_mul(2) + u64::from(mode == Mode::Program));
    let base = inputs::base(&mut r);
    let one_dtype = mode == Mode::Program && r.chance(65);
    let spec = *r.pick(&[Spec::None, Spec::None, Spec::DType, Spec::Full]);
    let loyal = if one_dtype { 100 } else { *r.pick(&[100, 85, 60]) };
    let case = Case {
        seed,
        ..Case::default()
    };
    let mut m = Maker {
        r,
        mode,
        base,
        loyal,
        spec,
        case,
        values: Vec::new(),
        refused: Vec::new(),
    };
    let want = match mode {
        Mode::Graph => 1 + m.r.below(9),
        Mode::Program => 2 + m.r.below(8),
    };
    let shape = inputs::shape(&mut m.r);
    m.input(None, &shape, Flavour::Any);
    let mut stopped = false;
    for _ in 0..want * 30 {
        if m.case.nodes.len() >= want || stopped {
            break;
        }
        stopped = m.step();
    }
    m.finish(stopped);
    Generated {
        case: m.case,
        refused: m.refused,
    }
}

impl Maker {
    fn input(&mut self, dtype: Option<DType>, shape: &[usize], flavour: Flavour) -> usize {
        let forced = self.mode == Mode::Program && self.loyal == 100;
        let d = match dtype {
            Some(d) if !forced || d == self.base => d,
            _ => inputs::dtype(&mut self.r, self.base, self.loyal),
        };
        let i = inputs::input(&mut self.r, d, shape, flavour, self.spec);
        self.push_input(i)
    }

    /// Inputs come first: later values move up.
    fn push_input(&mut self, i: Input) -> usize {
        let at = self.case.inputs.len();
        let moved = |v: &mut usize| *v += usize::from(*v >= at);
        for n in self.case.nodes.iter_mut().chain(&mut self.refused) {
            n.args.iter_mut().for_each(|a| a.values(&mut |v| moved(v)));
        }
        self.values.insert(at, reference::input(&i));
        self.case.inputs.push(i);
        at
    }

    /// A value that fits, preferring late ones.
    fn pick(&mut self, fits: impl Fn(&Array) -> bool) -> Option<usize> {
        let list: Vec<usize> = (0..self.values.len())
            .filter(|&v| fits(&self.values[v]))
            .collect();
        if list.is_empty() {
            return None;
        }
        let late = self.r.below(list.len()).max(self.r.below(list.len()));
        Some(list[late])
    }

    /// A shape that broadcasts with `s`.
    fn related(&mut self, s: &[usize]) -> Vec<usize> {
        let mut t = s.to_vec();
        match self.r.below(6) {
            0 | 1 => {}
            2 => t.iter_mut().for_each(|n| {
                if self.r.chance(40) {
                    *n = 1;
                }
            }),
            3 => t = t.split_off(self.r.below(t.len() + 1)),
            4 => {
                if let Some(l) = t.last_mut() {
                    *l = 1;
                }
            }
            _ => {
                t.iter_mut().for_each(|n| {
                    if *n == 1 {
                        *n = 1 + self.r.below(4);
                    }
                });
                if t.len() < 4 && self.r.chance(30) {
                    t.insert(0, 1 + self.r.below(3));
                }
            }
        }
        t
    }

    fn scalar(&mut self, d: DType, flavour: Flavour) -> Scalar {
        let nonzero = flavour == Flavour::NonZero;
        let program = self.mode == Mode::Program;
        match self.r.below(10) {
            0..=5 if d.is_float() || self.r.chance(30) => {
                let list = [0.5, 2.0, -1.5, 0.1, 1e-3, 3.0, 100.0, 1.0, -0.25];
                Scalar::Float(if flavour == Flavour::Exponent {
                    *self.r.pick(&[0.5, 2.0, 3.0, 1.7, -1.0])
                } else {
                    *self.r.pick(&list)
                })
            }
            9 if !program && !nonzero && flavour == Flavour::Any && self.r.one_in(3) => {
                Scalar::Bool(self.r.chance(50))
            }
            _ if flavour == Flavour::Exponent => Scalar::Int(self.r.range(0, 5)),
            _ if d == DType::U8 || d == DType::Bool => Scalar::Int(self.r.range(i64::from(nonzero), 7)),
            _ => {
                let n = self.r.range(-4, 7);
                Scalar::Int(if nonzero && n == 0 && !self.r.one_in(5) {
                    2
                } else {
                    n
                })
            }
        }
    }

    /// The right operand of a broadcasting operation.
    fn operand(&mut self, a: usize, may_scalar: bool, flavour: Flavour, exact: bool) -> A {
        let x = self.values[a].clone();
        if may_scalar && self.r.chance(30) {
            return A::S(self.scalar(x.dtype, flavour));
        }
        if flavour == Flavour::Any && self.r.chance(50) {
            let found = self.pick(|y| reference::broadcasts(&x.shape, &y.shape) && (!exact || y.exact()));
            if let Some(v) = found {
                return A::V(v);
            }
        }
        let shape = self.related(&x.shape);
        let d = if self.r.chance(80) { Some(x.dtype) } else { None };
        let zero_too = flavour == Flavour::NonZero && self.r.one_in(if x.dtype.is_int() { 5 } else { 25 });
        A::V(self.input(d, &shape, if zero_too { Flavour::Any } else { flavour }))
    }

    fn dim(&mut self, rank: usize) -> i64 {
        let n = rank.max(1) as i64;
        if self.r.one_in(60) {
            n
        } else {
            self.r.range(-n, n - 1)
        }
    }

    fn dims(&mut self, rank: usize) -> Vec<i64> {
        let mut l: Vec<i64> = (0..rank as i64).filter(|_| self.r.chance(45)).collect();
        if l.is_empty() && (self.mode == Mode::Program || self.r.chance(80)) {
            l.push(self.r.below(rank.max(1)) as i64);
        }
        if self.r.chance(20) {
            l.reverse();
        }
        for d in &mut l {
            if self.r.chance(35) {
                *d -= rank.max(1) as i64;
            }
        }
        l
    }

    fn step(&mut self) -> bool {
        let total: usize = FAMILIES.iter().map(|f| f.0).sum();
        let mut at = self.r.below(total);
        let mut family = FAMILIES[0].1;
        for (w, ops) in FAMILIES {
            if at < *w {
                family = ops;
                break;
            }
            at -= w;
        }
        let op = *self.r.pick(family);
        let before = self.case.inputs.len();
        let Some(args) = self.args(op, family) else {
            self.drop_inputs(before);
            return false;
        };
        let mut node = Node { op, args, results: 1 };
        match reference::eval(op, &node.args, &self.values) {
            Ok(out) => {
                let size: usize = out.iter().map(|a| a.cells.len()).sum();
                let dull = out.iter().any(|a| a.poisoned() > 60) && !self.r.one_in(6);
                if size > 4000 || dull || out.len() > 12 || out.iter().any(|a| a.shape.len() > 6) {
                    self.drop_inputs(before);
                    return false;
                }
                node.results = out.len();
                self.values.extend(out);
                self.case.nodes.push(node);
                false
            }
            Err(Stop::Data(_)) => {
                self.case.nodes.push(node);
                true
            }
            Err(Stop::Refused(_)) if self.mode == Mode::Graph && self.refused.len() < 3 => {
                if self.case.inputs.len() == before {
                    self.refused.push(node);
                }
                self.drop_inputs(before);
                false
            }
            Err(_) => {
                self.drop_inputs(before);
                false
            }
        }
    }

    fn drop_inputs(&mut self, to: usize) {
        while self.case.inputs.len() > to.max(1) {
            let at = self.case.inputs.len() - 1;
            self.case.inputs.pop();
            self.values.remove(at);
            for n in self.case.nodes.iter_mut().chain(&mut self.refused) {
                n.args
                    .iter_mut()
                    .for_each(|a| a.values(&mut |v| *v -= usize::from(*v > at)));
            }
        }
    }

    fn args(&mut self, op: Op, family: &[Op]) -> Option<Vec<A>> {
        let exact =
            (family == JUMPS || family == JUMPS2 || family == COMPARE || family == ARG) && !self.r.one_in(12);
        let exact = exact || (matches!(op, Any | All | LogicalAnd | LogicalOr | LogicalXor));
        let want_float = family == NORMS
            || matches!(
                op,
                Mean | MeanKeepdim | MeanAll | Var | VarKeepdim | StdDev | Norm | Frac
            );
        let want_int = matches!(op, BitwiseAnd | BitwiseOr | BitwiseXor | BitwiseNot);
        let strict = !self.r.one_in(15);
        let fits = |x: &Array| {
            (!exact || x.exact())
                && (!strict || !want_float || x.dtype.is_float())
                && (!strict || !want_int || !x.dtype.is_float())
        };
        if family == CREATE {
            return Some(self.create(op));
        }
        if op == WhereCond {
            let c = self.pick(|x| x.dtype == DType::Bool && x.poisoned() == 0)?;
            let a = self.operand(c, true, Flavour::Any, false);
            let c2 = if let A::V(v) = a { self.common(c, v) } else { c };
            let c = self.pick_again(c, c2);
            let b = self.operand(c2, true, Flavour::Any, false);
            return Some(vec![A::V(c), a, b]);
        }
        let a = match self.pick(fits) {
            Some(a) => a,
            None => {
                let shape = inputs::shape(&mut self.r);
                let d = if want_float {
                    *self.r.pick(&[DType::F32, DType::F64, DType::F16])
                } else {
                    DType::I64
                };
                self.input(Some(d), &shape, Flavour::Any)
            }
        };
        let x = self.values[a].clone();
        let (rank, d) = (x.shape.len(), x.dtype);
        let one = A::V(a);
        let f = |v: f64| A::S(Scalar::Float(v));
        Some(match op {
            LeakyRelu | Elu | Celu => vec![one, f(*self.r.pick(&[0.1, 1.0, 0.5, 2.0]))],
            Softplus => vec![one, f(*self.r.pick(&[1.0, 2.0, 0.5])), f(20.0)],
            Hardtanh => vec![one, f(-1.0), f(*self.r.pick(&[1.0, 0.5]))],
            Clamp => {
                let (lo, hi) = (self.scalar(d, Flavour::Any), self.scalar(d, Flavour::Any));
                vec![one, A::S(lo), A::S(hi)]
            }
            ClampMin | ClampMax => vec![one, A::S(self.scalar(d, Flavour::Any))],
            Powf => vec![one, f(*self.r.pick(&[0.5, 2.0, -1.0, 3.0, 1.7, 0.0, 1.0]))],
            Powi => vec![one, A::I(*self.r.pick(&[0, 1, 2, 3, 4, -1]))],
            NanToNum => vec![one, f(0.0), f(*self.r.pick(&[1.0, 1e4])), f(-2.0)],
            _ if family == UNARY || family == SIMPLE || family == JUMPS => vec![one],
            Pow => {
                let b = self.operand(a, true, Flavour::Exponent, false);
                vec![one, b]
            }
            Div | Rdiv | Fmod | Remainder | FloorDiv => {
                let b = self.operand(a, true, Flavour::NonZero, exact);
                vec![one, b]
            }
            Rsub => vec![one, A::S(self.scalar(d, Flavour::Any))],
            LogicalAnd | LogicalOr | LogicalXor => vec![one, self.operand(a, false, Flavour::Any, true)],
            _ if family == BINARY || family == JUMPS2 || family == COMPARE || family == LOGIC => {
                vec![one, self.operand(a, true, Flavour::Any, exact)]
            }
            MaskedFill => {
                let m = self.pick(|m| {
                    m.dtype == DType::Bool && m.poisoned() == 0 && reference::broadcasts(&m.shape, &x.shape)
                })?;
                vec![one, A::V(m), A::S(self.scalar(d, Flavour::Any))]
            }
            Lerp => {
                let e = self.operand(a, false, Flavour::Any, false);
                let w = if self.r.chance(60) {
                    f(*self.r.pick(&[0.0, 0.25, 0.5, 1.0]))
                } else {
                    self.operand(a, false, Flavour::Any, false)
                };
                vec![one, e, w]
            }
            Addcmul => {
                let s = self.operand(a, false, Flavour::Any, false);
                let t = self.operand(a, false, Flavour::Any, false);
                vec![one, s, t, A::S(self.scalar(d, Flavour::Any))]
            }
            SumAll | MeanAll | MaxAll | MinAll => vec![one],
            Var | VarKeepdim | StdDev => vec![one, A::Is(self.dims(rank)), A::I(self.r.range(0, 1))],
            Norm => {
                let p = *self.r.pick(&[0.0, 1.0, 2.0, 2.0, 3.0, 0.5, 1.5]);
                let p = if self.mode == Mode::Graph && self.r.one_in(5) {
                    *self.r.pick(&[f64::INFINITY, f64::NEG_INFINITY])
                } else {
                    p
                };
                vec![one, f(p), A::Is(self.dims(rank))]
            }
            Argmax | ArgmaxKeepdim | Argmin | ArgminKeepdim | Softmax | LogSoftmax => {
                vec![one, A::I(self.dim(rank))]
            }
            _ if family == REDUCE => vec![one, A::Is(self.dims(rank))],
            LayerNorm | RmsNorm => {
                let k = if op == RmsNorm {
                    1
                } else {
                    1 + self.r.below(rank.clamp(1, 3))
                };
                let tail = x.shape[rank.saturating_sub(k)..].to_vec();
                let w = self.same_dtype_input(d, &tail);
                if op == RmsNorm {
                    vec![one, w?, f(*self.r.pick(&[1e-5, 1e-3]))]
                } else {
                    let b = self.same_dtype_input(d, &tail);
                    let w = if self.r.chance(60) {
                        w.unwrap_or(A::None)
                    } else {
                        A::None
                    };
                    let b = if self.r.chance(50) {
                        b.unwrap_or(A::None)
                    } else {
                        A::None
                    };
                    vec![one, A::I(k as i64), w, b, f(*self.r.pick(&[1e-5, 1e-3]))]
                }
            }
            Matmul => {
                if rank == 0 {
                    return None;
                }
                let k = x.shape[rank - 1];
                let n = *self.r.pick(&[1, 2, 3, 5, 8, 17]);
                let shape = match self.r.below(5) {
                    0 => vec![k],
                    1 if rank > 2 => {
                        let mut s = x.shape[..rank - 2].to_vec();
                        s.iter_mut().for_each(|n| {
                            if self.r.chance(30) {
                                *n = 1;
                            }
                        });
                        s.extend([k, n]);
                        s
                    }
                    2 => vec![*self.r.pick(&[1, 2, 3]), k, n],
                    _ => vec![k, n],
                };
                let found = self.pick(|y| y.dtype == d && y.shape == shape);
                let b = match found {
                    Some(v) => A::V(v),
                    None => self.same_dtype_input(d, &shape)?,
                };
                vec![one, b]
            }
            Linear => {
                if rank == 0 {
                    return None;
                }
                let o = *self.r.pick(&[1, 3, 4, 10]);
                let w = self.same_dtype_input(d, &[o, x.shape[rank - 1]])?;
                let b = if self.r.chance(60) {
                    self.same_dtype_input(d, &[o])?
                } else {
                    A::None
                };
                vec![one, w, b]
            }
            Cat | Stack => {
                let mut list = vec![a];
                for _ in 0..self.r.below(3) {
                    let mut s = x.shape.clone();
                    if op == Cat && rank > 0 && self.r.chance(50) {
                        s[rank - 1] = self.r.below(4);
                    }
                    let found = self.pick(|y| y.shape == s);
                    list.push(match found {
                        Some(v) => v,
                        None => {
                            let dt = if self.r.chance(75) { Some(d) } else { None };
                            self.input(dt, &s, Flavour::Any)
                        }
                    });
                }
                let last = if op == Cat {
                    rank as i64 - 1
                } else {
                    self.dim(rank + 1)
                };
                let dim = if op == Cat && list.iter().all(|&v| self.values[v].shape == x.shape) {
                    self.dim(rank)
                } else {
                    last
                };
                vec![A::Vs(list), A::I(dim)]
            }
            ToDtype => {
                let to = *self.r.pick(&DType::ALL);
                if d.is_float() && !to.is_float() && !x.exact() && !self.r.one_in(10) {
                    return None;
                }
                vec![one, A::D(to)]
            }
            _ => self.view(op, a, &x)?,
        })
    }

    /// An operand of exactly that dtype, if inputs may have it.
    fn same_dtype_input(&mut self, d: DType, shape: &[usize]) -> Option<A> {
        if self.mode == Mode::Program && self.loyal == 100 && d != self.base {
            return None;
        }
        Some(A::V(self.input(Some(d), shape, Flavour::Any)))
    }

    fn common(&self, c: usize, v: usize) -> usize {
        if count(&self.values[v].shape) > count(&self.values[c].shape) {
            v
        } else {
            c
        }
    }

    /// Inputs that were added since moved the values up.
    fn pick_again(&mut self, c: usize, _other: usize) -> usize {
        if self.values[c].dtype == DType::Bool {
            c
        } else {
            self.pick(|x| x.dtype == DType::Bool).unwrap_or(c)
        }
    }

    fn view(&mut self, op: Op, a: usize, x: &Array) -> Option<Vec<A>> {
        let one = A::V(a);
        let rank = x.shape.len();
        let size = |s: &mut Self, d: i64| {
            let n = x
                .shape
                .get(if d < 0 { d + rank as i64 } else { d } as usize)
                .copied()
                .unwrap_or(1) as i64;
            (s.r.range(0, n), n)
        };
        Some(match op {
            FlattenAll | T | Contiguous | Detach => vec![one],
            Reshape => {
                let mut s: Vec<i64> = x.shape.iter().map(|&n| n as i64).collect();
                match self.r.below(4) {
                    0 if rank > 1 => {
                        let i = self.r.below(rank - 1);
                        let n = s.remove(i);
                        s[i] *= n;
                    }
                    1 if rank > 0 => {
                        let i = self.r.below(rank);
                        let k = (2..5).find(|k| s[i] % k == 0).unwrap_or(1);
                        s[i] /= k;
                        s.insert(i, k);
                    }
                    2 => s = vec![-1],
                    _ => s.reverse(),
                }
                if self.r.chance(25) && !s.is_empty() && !s.contains(&-1) {
                    let i = self.r.below(s.len());
                    s[i] = -1;
                }
                if s.is_empty() {
                    s.push(1);
                }
                vec![one, A::Is(s)]
            }
            Flatten => {
                let (p, q) = (self.dim(rank), self.dim(rank));
                vec![one, A::I(p), A::I(q)]
            }
            Transpose | Movedim => vec![one, A::I(self.dim(rank)), A::I(self.dim(rank))],
            Permute => {
                let mut p: Vec<i64> = (0..rank as i64).collect();
                for i in (1..rank).rev() {
                    p.swap(i, self.r.below(i + 1));
                }
                if p.is_empty() {
                    return None;
                }
                vec![one, A::Is(p)]
            }
            Unsqueeze => vec![one, A::I(self.dim(rank + 1))],
            Squeeze => vec![one, A::I(self.dim(rank))],
            Narrow => {
                let d = self.dim(rank);
                let (start, n) = size(self, d);
                vec![
                    one,
                    A::I(d),
                    A::I(start),
                    A::I(self.r.range(0, (n - start).max(0))),
                ]
            }
            Select => {
                let d = self.dim(rank);
                let (i, n) = size(self, d);
                let i = if self.r.chance(30) { -i } else { i };
                vec![
                    one,
                    A::I(d),
                    A::I(if i == n && self.r.chance(90) { 0 } else { i }),
                ]
            }
            Slice => {
                let d = self.dim(rank);
                let (start, n) = size(self, d);
                let end = *self.r.pick(&[n, -1, i64::MAX, start + 2]);
                let start = if self.r.chance(20) { start - n } else { start };
                vec![one, A::I(d), A::I(start), A::I(end), A::I(self.r.range(1, 3))]
            }
            Expand => {
                let mut s: Vec<i64> = x
                    .shape
                    .iter()
                    .map(|&n| match n {
                        1 => 1 + self.r.below(4) as i64,
                        n if self.r.chance(30) => -i64::from(n > 0),
                        n => n as i64,
                    })
                    .collect();
                if rank < 4 && self.r.chance(50) {
                    s.insert(0, 1 + self.r.below(3) as i64);
                }
                if s.is_empty() {
                    s.push(2);
                }
                vec![one, A::Is(s)]
            }
            Chunk | Split => {
                let d = self.dim(rank);
                vec![one, A::I(self.r.range(1, 4)), A::I(d)]
            }
            _ => return None,
        })
    }

    fn create(&mut self, op: Op) -> Vec<A> {
        let near = self.r.below(self.values.len());
        let shape = self.values[near].shape.clone();
        let mut shape = self.related(&shape);
        if shape.is_empty() {
            shape.push(1);
        }
        let sizes = A::Is(shape.iter().map(|&n| n as i64).collect());
        let d = inputs::dtype(&mut self.r, self.base, 70);
        let last = shape.last().copied().unwrap_or(1) as i64;
        match op {
            Zeros | Ones => vec![sizes, A::D(d)],
            Full => {
                let s = self.scalar(d, Flavour::Any);
                vec![sizes, A::S(s), A::D(d)]
            }
            Arange => vec![
                A::S(Scalar::Int(self.r.range(-3, 0))),
                A::S(Scalar::Int(last)),
                A::D(if d == DType::Bool || d == DType::U8 {
                    DType::I64
                } else {
                    d
                }),
            ],
            Linspace => vec![
                A::S(Scalar::Float(-1.0)),
                A::S(Scalar::Float(2.5)),
                A::I(last),
                A::D(if d.is_float() { d } else { DType::F32 }),
            ],
            Eye => vec![A::I(last.min(9)), A::D(d)],
            _ => vec![A::V(near)],
        }
    }

    fn finish(&mut self, stopped: bool) {
        let inputs = self.case.inputs.len();
        let n = self.values.len();
        if stopped {
            self.case.outputs = vec![n];
            return;
        }
        if n == inputs {
            self.case.outputs = vec![0];
            return;
        }
        let mut used = vec![false; n];
        for node in &mut self.case.nodes {
            node.args
                .iter_mut()
                .for_each(|a| a.values(&mut |v| used[*v] = true));
        }
        // what nobody reads is an output, up to three
        let mut out: Vec<usize> = (inputs..n).rev().filter(|&v| !used[v]).take(3).collect();
        if self.r.chance(35) {
            let v = inputs + self.r.below(n - inputs);
            if !out.contains(&v) {
                out.push(v);
            }
        }
        if self.mode == Mode::Graph && self.r.one_in(25) {
            out.push(self.r.below(inputs));
        }
        if self.r.chance(30) {
            out.reverse();
        }
        self.case.outputs = out;
    }
}
