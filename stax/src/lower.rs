//! Lowering: one scheduled group, with concrete dtypes, becomes a [`Kernel`].
//!
//! Method: the group's nodes become lane values (numbered, so equal computations are one value), each
//! with a *level*: the number of folds that must finish before it can be computed. Pass `p` of the
//! kernel computes, in this order: the row values of level `p`, the element values of level `p` that
//! are stored or folded, the folds of level `p`. An element value that a later pass needs is read
//! back if it was stored, and recomputed from the operands otherwise.
//!
//! Invariant: a lane has the space that the schedule gave its node. A unit where that does not hold is
//! none that one kernel can compute, and [`lower`] says so: its nodes run one by one.

mod steps;

use crate::kernel::{Buf, Buffer, Kernel, LaneOp, Param, ReduceKind, Space};
use crate::schedule::Unit;
use crate::typing::Typing;
use std::collections::BTreeMap;
use tensorplay_graph::op::row::{Fold, LaneClass, Lowering};
use tensorplay_graph::{Arg, DType, Expr, GraphModule, Host, NodeId, Op, Scalar, Value};

/// A lane value of a group under lowering.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Def {
    /// `Kernel::operands[i]`.
    Operand(u16),
    /// `Kernel::params[i]`.
    Param(u16),
    /// An instruction over earlier values.
    Inst(LaneOp, Vec<usize>),
    /// A fold of an element value.
    Fold(ReduceKind, usize, Option<usize>),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Lane {
    pub def: Def,
    /// The compute type of the value.
    pub dtype: DType,
    /// Element, row; `None` for constants and params, which fit both.
    pub space: Option<Space>,
    pub level: usize,
    pub name: String,
}

/// A kernel, and where its tensors and scalars come from.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Lowered {
    /// The kernel.
    pub kernel: Kernel,
    /// The value behind each operand.
    pub operands: Vec<Value>,
    /// The value behind each output.
    pub outputs: Vec<Value>,
    /// The host expression behind each param.
    pub params: Vec<Expr>,
}

/// Why a unit cannot be one kernel: a bug of the schedule, which costs speed and no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LowerError(String);

impl std::fmt::Display for LowerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LowerError {}

fn not_one_kernel<T>(why: impl Into<String>) -> Result<T, LowerError> {
    Err(LowerError(why.into()))
}

/// Lowers one unit. `outputs` are the values to store; half-precision results inside composites, and those of
/// `compute_outputs`, for the pieces of a group that is split, are stored in f32.
///
/// # Errors
/// The unit's nodes cannot be one kernel.
pub fn lower(
    module: &GraphModule,
    typing: &Typing,
    unit: &Unit,
    compute_outputs: &dyn Fn(Value) -> bool,
) -> Result<Lowered, LowerError> {
    let mut l = Lowerer {
        module,
        typing,
        lanes: Vec::new(),
        values: BTreeMap::new(),
        operands: Vec::new(),
        buffers: Vec::new(),
        params: Vec::new(),
        exprs: Vec::new(),
        wide: compute_outputs,
    };
    for m in &unit.members {
        l.node(m.node, m.space)?;
    }
    let outputs = unit
        .outputs
        .iter()
        .map(|v| {
            let Some(&lane) = l.values.get(v) else {
                return not_one_kernel(format!("`{}` is not computed in it", l.value_name(*v)));
            };
            let dtype = l.stored(*v);
            let space = unit
                .members
                .iter()
                .find(|m| m.node == v.node)
                .map_or(Space::Elem, |m| m.space);
            let buffer = Buffer {
                name: l.value_name(*v),
                dtype,
                space,
            };
            Ok((buffer, lane))
        })
        .collect::<Result<Vec<(Buffer, usize)>, LowerError>>()?;
    let (name, source) = l.title(unit);
    let mut kernel = Kernel {
        name,
        source,
        operands: l.buffers,
        outputs: outputs.iter().map(|(b, _)| b.clone()).collect(),
        scratch: Vec::new(),
        params: l.params,
        steps: Vec::new(),
    };
    let lanes: Vec<usize> = outputs.iter().map(|(_, lane)| *lane).collect();
    steps::build(&mut kernel, &l.lanes, &lanes)?;
    Ok(Lowered {
        kernel,
        operands: l.operands,
        outputs: unit.outputs.clone(),
        params: l.exprs,
    })
}

struct Lowerer<'a> {
    module: &'a GraphModule,
    typing: &'a Typing,
    lanes: Vec<Lane>,
    values: BTreeMap<Value, usize>,
    operands: Vec<Value>,
    buffers: Vec<Buffer>,
    params: Vec<Param>,
    exprs: Vec<Expr>,
    wide: &'a dyn Fn(Value) -> bool,
}

impl Lowerer<'_> {
    fn stored(&self, v: Value) -> DType {
        let d = self.typing.dtype(v);
        if (self.wide)(v) || self.module.graph.is_interior(v) {
            d.compute()
        } else {
            d
        }
    }

    fn value_name(&self, v: Value) -> String {
        let node = self.module.graph.node(v.node);
        if node.name.is_empty() {
            node.op_name().to_string()
        } else {
            node.name.clone()
        }
    }

    fn title(&self, unit: &Unit) -> (String, String) {
        let graph = &self.module.graph;
        let mut ops: Vec<&str> = Vec::new();
        for m in &unit.members {
            let name = graph.node(m.node).op_name();
            if ops.last() != Some(&name) && ops.len() < 4 {
                ops.push(name);
            }
        }
        // the user's word for it, if all nodes come from one composite
        let places: Vec<u32> = unit.members.iter().map(|m| graph.node(m.node).location).collect();
        let name = unit
            .members
            .last()
            .map(|m| graph.node(m.node).name.clone())
            .filter(|n| !n.is_empty());
        let name = match name {
            Some(n) if places.iter().all(|p| *p == places[0]) && ops.len() > 2 => n,
            _ => ops.join("_"),
        };
        let source = places.last().and_then(|at| self.module.place(*at));
        let source = source.unwrap_or_default();
        (identifier(&name), source)
    }

    fn push(&mut self, def: Def, dtype: DType, name: String) -> usize {
        let (space, level) = match &def {
            Def::Operand(i) => (Some(self.buffers[usize::from(*i)].space), 0),
            Def::Param(_) => (None, 0),
            Def::Inst(_, args) => {
                let elem = args.iter().any(|&a| self.lanes[a].space == Some(Space::Elem));
                let row = args.iter().any(|&a| self.lanes[a].space == Some(Space::Row));
                let space = if elem {
                    Some(Space::Elem)
                } else {
                    row.then_some(Space::Row)
                };
                (
                    space,
                    args.iter().map(|&a| self.lanes[a].level).max().unwrap_or(0),
                )
            }
            Def::Fold(_, src, center) => {
                let level = self.lanes[*src]
                    .level
                    .max(center.map_or(0, |c| self.lanes[c].level));
                (Some(Space::Row), level + 1)
            }
        };
        if let Some(same) = self
            .lanes
            .iter()
            .position(|l| l.def == def && l.dtype == dtype && l.space == space)
        {
            return same;
        }
        self.lanes.push(Lane {
            def,
            dtype,
            space,
            level,
            name,
        });
        self.lanes.len() - 1
    }

    fn inst(&mut self, op: LaneOp, args: Vec<usize>, dtype: DType, name: &str) -> usize {
        self.push(Def::Inst(op, args), dtype, name.to_string())
    }

    fn constant(&mut self, s: Scalar, dtype: DType) -> usize {
        let s = match dtype {
            DType::F32 => Scalar::Float(f64::from(s.to_f64() as f32)),
            DType::F64 => Scalar::Float(s.to_f64()),
            DType::Bool => Scalar::Bool(s.to_f64() != 0.0),
            _ => Scalar::Int(s.to_i64()),
        };
        self.inst(LaneOp::Const(s), Vec::new(), dtype, "c")
    }

    /// A value from outside the group, or one of the group.
    fn tensor(&mut self, v: Value, space: Space) -> usize {
        if let Some(&lane) = self.values.get(&v) {
            return lane;
        }
        let at = self
            .operands
            .iter()
            .zip(&self.buffers)
            .position(|(o, b)| *o == v && b.space == space);
        let at = at.unwrap_or_else(|| {
            self.operands.push(v);
            self.buffers.push(Buffer {
                name: self.value_name(v),
                dtype: self.stored(v),
                space,
            });
            self.operands.len() - 1
        });
        let (name, dtype) = (self.buffers[at].name.clone(), self.buffers[at].dtype);
        self.push(Def::Operand(at as u16), dtype.compute(), name)
    }

    fn cast(&mut self, lane: usize, dtype: DType) -> usize {
        if self.lanes[lane].dtype == dtype {
            return lane;
        }
        let name = format!("{}_{}", self.lanes[lane].name, dtype);
        self.inst(LaneOp::Cast, vec![lane], dtype, &name)
    }

    fn scalar(&mut self, e: &Expr, dtype: DType) -> usize {
        if let Some(s) = e.literal().and_then(Host::as_scalar) {
            return self.constant(s, dtype);
        }
        let at = self
            .exprs
            .iter()
            .zip(&self.params)
            .position(|(x, p)| x == e && p.dtype == dtype);
        let at = at.unwrap_or_else(|| {
            let name = match e {
                Expr::Param(i, _) => self.module.scalars.get(*i as usize).map(|s| s.name.clone()),
                _ => None,
            };
            self.exprs.push(e.clone());
            self.params.push(Param {
                name: name.unwrap_or_else(|| "n".into()),
                dtype,
            });
            self.exprs.len() - 1
        });
        let name = self.params[at].name.clone();
        self.push(Def::Param(at as u16), dtype, name)
    }

    /// An operand of a lane op in its compute type.
    fn operand(&mut self, arg: &Arg, dtype: DType, space: Space) -> Result<usize, LowerError> {
        match arg {
            Arg::Value(v) => {
                let lane = self.tensor(*v, space);
                Ok(self.cast(lane, dtype))
            }
            Arg::Host(e) => Ok(self.scalar(e, dtype)),
            Arg::List(_) | Arg::Field(_) | Arg::None => {
                not_one_kernel("an operand is neither a tensor nor a scalar")
            }
        }
    }

    fn node(&mut self, id: NodeId, space: Space) -> Result<(), LowerError> {
        let node = self.module.graph.node(id);
        let (Some(op), Some((compute, result))) = (node.op(), self.typing.call(id.index())) else {
            return Ok(());
        };
        let compute = compute.compute();
        let name = self.value_name(id.into());
        let lane = match op.row().lowering {
            Lowering::Lane(class) => self.lane_node(op, class, node.args(), compute, result, space, &name)?,
            Lowering::Reduce(fold) => self.fold_node(fold, node.args(), result, &name)?,
            _ => return not_one_kernel(format!("`{op}` is no part of a kernel")),
        };
        if self.lanes[lane].space.is_some_and(|s| s != space) {
            let (of, by) = match space {
                Space::Row => ("a row", "element"),
                Space::Elem => ("an element", "row"),
            };
            return not_one_kernel(format!("`{name}` is {of} value and follows from {by} values"));
        }
        self.values.insert(id.into(), lane);
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn lane_node(
        &mut self,
        op: Op,
        class: LaneClass,
        args: &[Arg],
        compute: DType,
        result: DType,
        space: Space,
        name: &str,
    ) -> Result<usize, LowerError> {
        Ok(match class {
            // inside a composite nothing is rounded to a half type
            LaneClass::Cast if op == Op::AsDtype => self.operand(&args[0], result.compute(), space)?,
            LaneClass::Cast => {
                let Arg::Value(v) = &args[0] else {
                    return not_one_kernel("a cast of no tensor");
                };
                let x = self.tensor(*v, space);
                let from = self.typing.dtype(*v);
                if from == result {
                    return Ok(x);
                }
                // a written cast sees the value that its operand's dtype can hold
                let x = self.rounded(x, from, name);
                let cast = self.cast(x, result.compute());
                self.rounded(cast, result, name)
            }
            LaneClass::Round1 if !compute.is_float() => self.operand(&args[0], compute, space)?,
            LaneClass::Select => {
                let mask = self.operand(&args[0], DType::Bool, space)?;
                let a = self.operand(&args[1], compute, space)?;
                let b = self.operand(&args[2], compute, space)?;
                self.inst(LaneOp::Op(op), vec![mask, a, b], compute, name)
            }
            _ => {
                let lanes = args.iter().map(|a| self.operand(a, compute, space));
                let mut lanes = lanes.collect::<Result<Vec<usize>, LowerError>>()?;
                let op = match op {
                    Op::Rsub => {
                        lanes.reverse();
                        Op::Sub
                    }
                    Op::Rdiv => {
                        lanes.reverse();
                        Op::Div
                    }
                    // a + b and a * b of bools, as PyTorch has them
                    Op::Add if compute == DType::Bool => Op::LogicalOr,
                    Op::Mul if compute == DType::Bool => Op::LogicalAnd,
                    op => op,
                };
                self.inst(LaneOp::Op(op), lanes, result.compute(), name)
            }
        })
    }

    /// A lane of the compute type, rounded to the precision of `dtype`.
    fn rounded(&mut self, lane: usize, dtype: DType, name: &str) -> usize {
        let round = match dtype {
            DType::F16 => LaneOp::RoundF16,
            DType::BF16 => LaneOp::RoundBF16,
            _ => return lane,
        };
        let exact = match &self.lanes[lane].def {
            Def::Operand(at) => self.buffers[usize::from(*at)].dtype == dtype,
            Def::Inst(op, _) => *op == round,
            _ => false,
        };
        if exact {
            return lane;
        }
        self.inst(round, vec![lane], DType::F32, name)
    }

    fn fold_node(
        &mut self,
        fold: Fold,
        args: &[Arg],
        result: DType,
        name: &str,
    ) -> Result<usize, LowerError> {
        let Arg::Value(v) = &args[0] else {
            return not_one_kernel("a fold of no tensor");
        };
        let x = self.tensor(*v, Space::Elem);
        if self.lanes[x].space != Some(Space::Elem) {
            return not_one_kernel(format!("`{name}` folds a row value"));
        }
        let kind = match fold {
            Fold::Sum => ReduceKind::Sum,
            Fold::Prod => ReduceKind::Prod,
            Fold::Max => ReduceKind::Max,
            Fold::Min => ReduceKind::Min,
            Fold::Argmax => ReduceKind::ArgMax,
            Fold::Argmin => ReduceKind::ArgMin,
            Fold::Any => ReduceKind::Any,
            Fold::All => ReduceKind::All,
        };
        let x = if matches!(fold, Fold::Any | Fold::All) {
            self.cast(x, DType::Bool)
        } else {
            x
        };
        if kind == ReduceKind::Sum
            && let Some((src, center)) = self.squares(x)
        {
            let kind = ReduceKind::SumSquares { center: None };
            return Ok(self.push(Def::Fold(kind, src, center), result.compute(), name.to_string()));
        }
        Ok(self.push(Def::Fold(kind, x, None), result.compute(), name.to_string()))
    }

    /// `square(x - center)` with a row centre, or `square(x)`: what `SumSquares` folds in one pass.
    fn squares(&self, lane: usize) -> Option<(usize, Option<usize>)> {
        let Def::Inst(LaneOp::Op(Op::Square), args) = &self.lanes[lane].def else {
            return None;
        };
        if !self.lanes[lane].dtype.is_float() {
            return None;
        }
        let x = args[0];
        if let Def::Inst(LaneOp::Op(Op::Sub), pair) = &self.lanes[x].def
            && self.lanes[pair[0]].space == Some(Space::Elem)
            && self.lanes[pair[1]].space == Some(Space::Row)
        {
            return Some((pair[0], Some(pair[1])));
        }
        (self.lanes[x].space == Some(Space::Elem)).then_some((x, None))
    }
}

/// A Rust identifier close to `name`, in lower case so that it never names a const of the user; keywords get a
/// trailing underscore.
pub(crate) fn identifier(name: &str) -> String {
    const KEYWORDS: &[&str] = &[
        "as", "async", "await", "box", "break", "const", "continue", "crate", "do", "dyn", "else", "enum",
        "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match",
        "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct",
        "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where",
        "while", "yield", "abstract", "become",
    ];
    let mut s: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '_'
            }
        })
        .collect();
    if s.is_empty() || s.starts_with(|c: char| c.is_ascii_digit()) {
        s.insert(0, '_');
    }
    if KEYWORDS.contains(&s.as_str()) || s.chars().all(|c| c == '_') {
        s.push('_');
    }
    if s == "__" { "value".into() } else { s }
}

/// The source of a fold as a buffer reference; used by the step builder.
pub(crate) fn is_native_source(kernel: &Kernel, b: Buf) -> bool {
    !kernel.buffer(b).dtype.is_half()
}
