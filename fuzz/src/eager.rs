//! Eager calls by operation: one match arm a row of the op table.

use crate::case::{A, Case};
use tensorplay::prelude::{
    AttentionOptions, Conv1dOptions, Conv2dOptions, ConvTranspose2dOptions, Interpolate, PadMode, PoolOptions,
};
use tensorplay::{Result, Tensor};
use tensorplay_graph::{DType, Host, Op, Scalar};
use tensorplay_runtime::{IntoOperand, Operand};

/// A right operand of either kind.
struct Rhs<'a>(&'a A, &'a [Tensor]);

impl IntoOperand for Rhs<'_> {
    fn operand(&self) -> Operand<'_> {
        match self.0 {
            A::V(v) => Operand::Tensor(&self.1[*v]),
            A::S(s) => Operand::Scalar(*s),
            a => unreachable!("an operand is a tensor or a scalar, got {a:?}"),
        }
    }
}

fn tensor<'a>(a: &A, v: &'a [Tensor]) -> &'a Tensor {
    match a {
        A::V(i) => &v[*i],
        a => unreachable!("not a tensor: {a:?}"),
    }
}
fn opt_tensor<'a>(a: &A, v: &'a [Tensor]) -> Option<&'a Tensor> {
    (*a != A::None).then(|| tensor(a, v))
}
fn tensors<'a>(a: &A, v: &'a [Tensor]) -> Vec<&'a Tensor> {
    match a {
        A::Vs(l) => l.iter().map(|&i| &v[i]).collect(),
        a => unreachable!("not a list: {a:?}"),
    }
}
fn scalar(a: &A) -> Scalar {
    match a {
        A::S(s) => *s,
        A::I(i) => Scalar::Int(*i),
        a => unreachable!("not a scalar: {a:?}"),
    }
}
fn int(a: &A) -> i64 {
    match a {
        A::I(i) => *i,
        a => unreachable!("not an integer: {a:?}"),
    }
}
fn ints(a: &A) -> &[i64] {
    match a {
        A::Is(l) => l,
        a => unreachable!("not a list of integers: {a:?}"),
    }
}
fn dtype(a: &A) -> DType {
    match a {
        A::D(d) => *d,
        a => unreachable!("not a dtype: {a:?}"),
    }
}

fn flag(a: &A) -> bool {
    match a {
        A::B(b) => *b,
        a => unreachable!("not a flag: {a:?}"),
    }
}

/// The entries of options, in the order of their row.
struct Entries<'a>(&'a [Option<Host>]);

impl<'a> Entries<'a> {
    fn of(a: &'a A) -> Self {
        match a {
            A::O(l) => Entries(l),
            a => unreachable!("not options: {a:?}"),
        }
    }
    fn value(&self, i: usize) -> Option<Host> {
        self.0.get(i).copied().flatten()
    }
    fn int(&self, i: usize) -> i64 {
        self.value(i).and_then(Host::as_int).unwrap_or(0)
    }
    fn float(&self, i: usize) -> f64 {
        self.value(i).and_then(Host::as_float).unwrap_or(0.0)
    }
    fn flag(&self, i: usize) -> bool {
        self.value(i) == Some(Host::Bool(true))
    }
    fn pair(&self, i: usize) -> (i64, i64) {
        (self.int(i), self.int(i + 1))
    }
}

fn conv1d_options(a: &A) -> Conv1dOptions {
    let e = Entries::of(a);
    Conv1dOptions::default()
        .stride(e.int(0))
        .padding(e.int(1))
        .dilation(e.int(2))
        .groups(e.int(3))
}
fn conv2d_options(a: &A) -> Conv2dOptions {
    let e = Entries::of(a);
    Conv2dOptions::default()
        .stride(e.pair(0))
        .padding(e.pair(2))
        .dilation(e.pair(4))
        .groups(e.int(6))
}
fn conv_transpose2d_options(a: &A) -> ConvTranspose2dOptions {
    let e = Entries::of(a);
    ConvTranspose2dOptions::default()
        .stride(e.pair(0))
        .padding(e.pair(2))
        .output_padding(e.pair(4))
        .dilation(e.pair(6))
        .groups(e.int(8))
}
fn pool_options(a: &A) -> PoolOptions {
    let e = Entries::of(a);
    PoolOptions::new(e.pair(0)).stride(e.pair(2)).padding(e.pair(4))
}
fn attention_options(a: &A) -> AttentionOptions {
    let e = Entries::of(a);
    let o = AttentionOptions::default().causal(e.flag(0));
    match e.value(1) {
        Some(_) => o.scale(e.float(1)),
        None => o,
    }
}
fn pad_mode(a: &A) -> PadMode {
    let e = Entries::of(a);
    match e.int(0) {
        0 => PadMode::Constant(e.float(1)),
        1 => PadMode::Reflect,
        _ => PadMode::Replicate,
    }
}
fn interpolate(a: &A) -> Interpolate {
    let e = Entries::of(a);
    match e.int(0) {
        0 => Interpolate::Nearest,
        _ => Interpolate::Bilinear {
            align_corners: e.flag(1),
        },
    }
}

macro_rules! arg {
    (tensor $a:expr, $v:expr) => {
        tensor($a, $v)
    };
    (opt_tensor $a:expr, $v:expr) => {
        opt_tensor($a, $v)
    };
    (tensors $a:expr, $v:expr) => {
        &tensors($a, $v)[..]
    };
    (operand $a:expr, $v:expr) => {
        Rhs($a, $v)
    };
    (scalar $a:expr, $v:expr) => {
        scalar($a)
    };
    (float $a:expr, $v:expr) => {
        scalar($a).to_f64()
    };
    (int $a:expr, $v:expr) => {
        int($a)
    };
    (dim $a:expr, $v:expr) => {
        int($a)
    };
    (dims $a:expr, $v:expr) => {
        ints($a)
    };
    (shape $a:expr, $v:expr) => {
        ints($a)
    };
    (dtype $a:expr, $v:expr) => {
        dtype($a)
    };
    (index $a:expr, $v:expr) => {
        tensor($a, $v)
    };
    (ints $a:expr, $v:expr) => {
        ints($a)
    };
    ($options:ident $a:expr, $v:expr) => {
        $options($a)
    };
}
macro_rules! results {
    (one $twin:ident($($k:ident $p:expr, $v:expr),*)) => {
        Tensor::$twin($(arg!($k $p, $v)),*).map(|t| vec![t])
    };
    (indexed $twin:ident($($k:ident $p:expr, $v:expr),*)) => {
        Tensor::$twin($(arg!($k $p, $v)),*).map(|(values, indices)| vec![values, indices])
    };
    (list $twin:ident($($k:ident $p:expr, $v:expr),*)) => {
        Tensor::$twin($(arg!($k $p, $v)),*)
    };
    // control flow is functions with closures
    (regions $twin:ident($($k:ident $p:expr, $v:expr),*)) => {{
        let _ = ($($p),*);
        unreachable!("cases have no regions")
    }};
}
macro_rules! dispatch {
    ($($(#[$doc:meta])* $op:ident $name:ident $twin:ident ($($p:ident: $k:ident),*)
        => $results:ident, $shape:ident, $dtype:ident, $lower:ident $(($class:ident))?;)*) => {
        /// Runs one call on tensors.
        ///
        /// # Errors
        /// What the eager call returns.
        pub fn call(op: Op, args: &[A], v: &[Tensor]) -> Result<Vec<Tensor>> {
            let _ = v;
            match op {
                $(Op::$op => {
                    let mut at = args.iter();
                    $(let $p = at.next().expect("one argument a parameter");)*
                    let _ = at;
                    results!($results $twin($($k $p, v),*))
                })*
            }
        }
    };
}
tensorplay_graph::op_table!(dispatch);

/// Runs a case op by op and returns its outputs.
///
/// # Errors
/// The first failing call.
pub fn run(case: &Case, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut values = inputs.to_vec();
    for n in &case.nodes {
        let r = call(n.op, &n.args, &values)?;
        values.extend(r.into_iter().take(n.results));
    }
    Ok(case.outputs.iter().map(|&v| values[v].clone()).collect())
}
