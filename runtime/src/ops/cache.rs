//! Plans of eager operations, kept by thread.

use super::EagerArg;
use crate::device::same_device;
use crate::plan::bind::{Kernels, Meta, bind};
use crate::plan::link::Strips;
use crate::plan::{Plan, Results};
use crate::{Device, Result, Scalar, Tensor};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use tensorplay_graph::op::row::{Lowering, ParamKind};
use tensorplay_graph::{Arg, Builder, Expr, Host, HostType, Op, ScalarInput, TensorType, Value};
use tensorplay_stax::CompileError;

type Key = SmallVec<[u64; 32]>;

/// The cache is emptied when it holds this many plans.
const LIMIT: usize = 1024;

thread_local!(static PLANS: RefCell<HashMap<Key, Rc<Plan>>> = RefCell::default());

/// Whether a scalar argument is a kernel argument rather than part of the plan.
fn is_param(op: Op, i: usize) -> bool {
    matches!(op.row().lowering, Lowering::Lane(_))
        && matches!(op.row().params[i].kind, ParamKind::Operand | ParamKind::Scalar)
}

/// Runs an operation through its plan.
pub(super) fn run(op: Op, args: &[EagerArg<'_>]) -> Result<Results> {
    let mut key = Key::new();
    key.push(op as u64);
    let mut tensors: SmallVec<[&Tensor; 4]> = SmallVec::new();
    let mut scalars: SmallVec<[Host; 4]> = SmallVec::new();
    for (i, a) in args.iter().enumerate() {
        match a {
            EagerArg::Tensor(t) => {
                key.push(1);
                tensor_key(t, &mut key);
                tensors.push(t);
            }
            EagerArg::Tensors(l) => {
                key.extend([2, l.len() as u64]);
                for t in l {
                    tensor_key(t, &mut key);
                    tensors.push(t);
                }
            }
            EagerArg::Scalar(s) => {
                let (tag, bits) = match s {
                    Scalar::Float(v) => (3, v.to_bits()),
                    Scalar::Int(v) => (4, *v as u64),
                    Scalar::Bool(v) => (5, u64::from(*v)),
                };
                key.push(tag);
                if is_param(op, i) {
                    scalars.push((*s).into());
                } else {
                    key.push(bits);
                }
            }
            EagerArg::Int(v) => key.extend([6, *v as u64]),
            EagerArg::Ints(l) => {
                key.extend([7, l.len() as u64]);
                key.extend(l.iter().map(|v| *v as u64));
            }
            EagerArg::DType(d) => key.extend([8, *d as u64]),
            EagerArg::Options(l) => {
                key.extend([10, l.len() as u64]);
                for h in l {
                    key.extend(match h {
                        None => [0, 0],
                        Some(Host::Int(v)) => [1, *v as u64],
                        Some(Host::Float(v)) => [2, v.to_bits()],
                        Some(Host::Bool(v)) => [3, u64::from(*v)],
                        Some(Host::DType(d)) => [4, *d as u64],
                        Some(Host::Size(_)) => [5, 0],
                    });
                }
            }
            EagerArg::None => key.push(9),
        }
    }
    let kept = PLANS.try_with(|p| p.borrow().get(&key).cloned()).ok().flatten();
    let plan = match kept {
        Some(plan) => plan,
        None => {
            let plan = Rc::new(build(op, args, &tensors)?);
            let _ = PLANS.try_with(|p| {
                let mut p = p.borrow_mut();
                if p.len() >= LIMIT {
                    p.clear();
                }
                p.insert(key, plan.clone());
            });
            plan
        }
    };
    plan.run(&tensors, &scalars)
}

fn tensor_key(t: &Tensor, key: &mut Key) {
    let device = match t.device() {
        Device::Cpu => 0,
        Device::Cuda(i) => 1 + i as u64,
    };
    key.push((t.dtype() as u64) << 56 | device << 32 | t.rank() as u64);
    key.extend(t.shape().iter().map(|&n| n as u64));
    key.extend(t.strides().iter().map(|&n| n as u64));
}

fn build(op: Op, args: &[EagerArg<'_>], tensors: &[&Tensor]) -> Result<Plan> {
    same_device(op.name(), tensors)?;
    let mut b = Builder::new(op.name());
    let inputs: Vec<Value> = tensors
        .iter()
        .enumerate()
        .map(|(i, t)| b.input(format!("x{i}"), Some(TensorType::known(t.dtype(), t.shape()))))
        .collect();
    let mut next = inputs.into_iter();
    let mut graph_args = Vec::with_capacity(args.len());
    for (i, a) in args.iter().enumerate() {
        graph_args.push(match a {
            EagerArg::Tensor(_) => next.next().map_or(Arg::None, Arg::Value),
            EagerArg::Tensors(l) => Arg::List(next.by_ref().take(l.len()).map(Arg::Value).collect()),
            EagerArg::Scalar(s) if is_param(op, i) => {
                let ty = match s {
                    Scalar::Float(_) => HostType::F64,
                    Scalar::Int(_) => HostType::I64,
                    Scalar::Bool(_) => HostType::Bool,
                };
                b.module.scalars.push(ScalarInput {
                    source: None,
                    name: op.row().params[i].name.into(),
                    ty,
                });
                Arg::Host(Expr::Param(b.module.scalars.len() as u32 - 1, ty))
            }
            EagerArg::Scalar(s) => Arg::Host(Expr::Literal((*s).into())),
            EagerArg::Int(v) => Arg::int(*v),
            EagerArg::Ints(l) => Arg::ints(l.iter().copied()),
            EagerArg::DType(d) => Arg::dtype(*d),
            EagerArg::Options(l) => {
                let one = |h: &Option<Host>| h.map_or(Arg::None, |h| Arg::Host(Expr::Literal(h)));
                Arg::List(l.iter().map(one).collect())
            }
            EagerArg::None => Arg::None,
        });
    }
    let out = b.call(op, graph_args)?;
    let results = b.module.graph.node(out.node).types.len() as u32;
    let all = (0..results).map(|index| Value {
        node: out.node,
        index,
    });
    b.module.graph.outputs.extend(all);
    // the operands are what they are: nothing was promised
    b.module.specs.iter_mut().for_each(|s| *s = None);
    let blob = tensorplay_stax::analyse(&b.module).map_err(|e| match e {
        CompileError::Expand(e) => e.error.into(),
        e => crate::Error::GraphCapture(e.to_string()),
    })?;
    let metas: Vec<Meta> = tensors.iter().map(|t| Meta::of(t)).collect();
    let unknown = vec![None; b.module.scalars.len()];
    bind(&blob, &Strips::One(&[]), &metas, &unknown, None, Kernels::Tile)
}
