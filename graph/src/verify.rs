//! The verifier: what every graph satisfies, whoever built it.
//!
//! Problem: capture, passes, the parser and run-time tracing all build graphs; a broken one should be named where
//! it arose, not by a kernel.
//!
//! Method: one walk in node order. Structure first (order, indices, argument counts and kinds); where a
//! node's structure holds, its rules are run again over the recorded types of its arguments, and the
//! recorded results may know less or more than the rules tell, but never the contrary.
//!
//! Linear in the size of the graph. Errors are collected, one walk finds all.

use crate::builder::infer_call;
use crate::error::count;
use crate::op::row::Lowering;
use crate::{
    Arg, Callee, Dim, Expr, GraphModule, HostType, NodeId, NodeKind, Op, OpError, Symbol, TensorType, Value,
    Write,
};
use std::fmt;

/// A broken invariant.
#[derive(Clone, PartialEq, Debug)]
pub struct VerifyError {
    /// The node at fault; `None` for the module itself.
    pub node: Option<NodeId>,
    /// What is broken.
    pub kind: VerifyErrorKind,
}

/// What is broken. Apart from [`Rule`](VerifyErrorKind::Rule), each is a bug of whatever built the graph.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum VerifyErrorKind {
    /// A value is used at or before its definition, or is not defined at all.
    Order(Value),
    /// A value is a result that its node does not have.
    ResultIndex {
        /// The value.
        value: Value,
        /// How many results the node has.
        results: usize,
    },
    /// A call has more or fewer arguments than its row.
    ArgumentCount {
        /// The operation.
        op: Op,
        /// How many were given.
        got: usize,
    },
    /// An argument is not what its parameter takes.
    ArgumentKind {
        /// The operation.
        op: Op,
        /// The parameter's position.
        param: usize,
        /// The argument as the text form prints it.
        got: String,
    },
    /// A node has another number of results than its operation.
    ResultCount {
        /// What the node records.
        recorded: usize,
        /// What the rules tell.
        expected: usize,
    },
    /// A call of regions that the module does not have, or with other inputs than they take.
    Region,
    /// A guard that is not a condition.
    Guard(String),
    /// There are fewer outputs than new values of parameters.
    NewValues,
    /// The place of a new value is not there, has another one, or takes a list where the value is none.
    NewValue(Write),
    /// Input nodes and `Graph::inputs` do not name each other.
    Input(u32),
    /// A symbol that the module does not declare.
    Symbol(u32),
    /// A symbol whose bounds exclude every size.
    SymbolRange(String),
    /// A scalar parameter that the module does not declare, or not with this type.
    Param(u32, HostType),
    /// A location that the module does not list.
    Location(u32),
    /// The number of specs or output specs is not that of inputs or outputs.
    Specs {
        /// `input` or `output`.
        what: &'static str,
        /// How many specs there are.
        specs: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A recorded type contradicts the rules, or an input's type its spec.
    Contradiction {
        /// Which result.
        index: usize,
        /// The recorded type as the text form prints it.
        recorded: String,
        /// The type that the rules give.
        inferred: String,
    },
    /// The arguments break a shape or dtype rule.
    Rule(OpError),
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(n) = self.node {
            write!(f, "%{}: ", n.0)?;
        }
        self.kind.fmt(f)
    }
}

impl fmt::Display for VerifyErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VerifyErrorKind::Order(v) => write!(f, "{v} is not defined before its use"),
            VerifyErrorKind::ResultIndex { value, results } => {
                let results = count(*results, "result");
                write!(f, "{value} does not exist, %{} has {results}", value.node.0)
            }
            VerifyErrorKind::ArgumentCount { op, got } => {
                let takes = count(op.row().params.len(), "argument");
                write!(f, "{op} takes {takes}, got {got}")
            }
            VerifyErrorKind::ArgumentKind { op, param, got } => {
                let p = op.row().params[*param];
                write!(f, "`{}` of {op} is {}, got {got}", p.name, p.kind.takes())
            }
            VerifyErrorKind::ResultCount { recorded, expected } => {
                let recorded = count(*recorded, "result");
                write!(f, "{recorded} recorded, the operation has {expected}")
            }
            VerifyErrorKind::Region => f.write_str("the regions are not there, or take other inputs"),
            VerifyErrorKind::Guard(guard) => write!(f, "the guard {guard} is not a condition"),
            VerifyErrorKind::NewValues => {
                f.write_str("there are fewer outputs than new values of parameters")
            }
            VerifyErrorKind::NewValue(place) => {
                write!(f, "{place} has two new values, or is not there")
            }
            VerifyErrorKind::Input(i) => write!(f, "input {i} is not the node that the graph lists for it"),
            VerifyErrorKind::Symbol(s) => write!(f, "symbol {s} is not declared"),
            VerifyErrorKind::SymbolRange(name) => write!(f, "no size fits the bounds of `{name}`"),
            VerifyErrorKind::Param(i, t) => {
                write!(f, "there is no scalar parameter ${i} of type {}", t.name())
            }
            VerifyErrorKind::Location(l) => write!(f, "location {l} is not listed"),
            VerifyErrorKind::Specs {
                what,
                specs,
                expected,
            } => {
                write!(f, "{} for {}", count(*specs, "spec"), count(*expected, what))
            }
            VerifyErrorKind::Contradiction {
                index,
                recorded,
                inferred,
            } => {
                write!(f, "result {index} is recorded as {recorded}, but is {inferred}")
            }
            VerifyErrorKind::Rule(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for VerifyError {}

/// Checks every invariant of a graph.
///
/// # Errors
/// Everything that is broken, in node order.
pub fn verify(module: &GraphModule) -> Result<(), Vec<VerifyError>> {
    let mut errors = Vec::new();
    check_module(module, &mut errors);
    for id in module.graph.ids() {
        check_node(module, id, &mut errors);
    }
    for &v in &module.graph.outputs {
        let end = NodeId(module.graph.nodes.len() as u32);
        if let Err(kind) = check_value(module, v, end) {
            errors.push(VerifyError { node: None, kind });
        }
    }
    for guard in &module.graph.guards {
        let end = NodeId(module.graph.nodes.len() as u32);
        let mut push = |kind| errors.push(VerifyError { node: None, kind });
        guard.values(&mut |v| {
            if let Err(kind) = check_value(module, v, end) {
                push(kind);
            }
        });
        check_params(module, &Arg::Host(guard.clone()), &mut push);
        if guard.host_type() != HostType::Bool {
            push(VerifyErrorKind::Guard(guard.to_string()));
        }
    }
    for region in &module.regions {
        if let Err(inner) = verify(region) {
            errors.extend(inner.into_iter().map(|e| VerifyError { node: None, ..e }));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Whether two types cannot be those of one tensor.
pub fn contradict(a: &TensorType, b: &TensorType, symbols: &[Symbol]) -> bool {
    let dtypes = matches!((a.dtype, b.dtype), (Some(x), Some(y)) if x != y);
    let shapes = match (&a.shape, &b.shape) {
        (Some(x), Some(y)) => x.len() != y.len() || x.iter().zip(y).any(|(p, q)| p.differs_in(*q, symbols)),
        _ => false,
    };
    dtypes || shapes
}

fn check_module(module: &GraphModule, errors: &mut Vec<VerifyError>) {
    let mut push = |kind| errors.push(VerifyError { node: None, kind });
    let graph = &module.graph;
    for s in &module.symbols {
        if s.hi.is_some_and(|hi| hi < s.lo) {
            push(VerifyErrorKind::SymbolRange(s.name.clone()));
        }
    }
    if module.specs.len() != graph.inputs.len() {
        push(VerifyErrorKind::Specs {
            what: "input",
            specs: module.specs.len(),
            expected: graph.inputs.len(),
        });
    }
    if !module.output_specs.is_empty() && module.output_specs.len() != module.returned() {
        push(VerifyErrorKind::Specs {
            what: "output",
            specs: module.output_specs.len(),
            expected: module.returned(),
        });
    }
    if module.updates.len() + module.writes.len() > graph.outputs.len() {
        push(VerifyErrorKind::NewValues);
    }
    let is_there = |i: u32| (i as usize) < graph.inputs.len();
    for (k, &i) in module.updates.iter().enumerate() {
        if !is_there(i) || module.updates[..k].contains(&i) {
            push(VerifyErrorKind::NewValue(Write::Input(i)));
        }
    }
    let first = graph.outputs.len().saturating_sub(module.writes.len());
    for (k, write) in module.writes.iter().enumerate() {
        let list = graph.outputs.get(first + k).is_some_and(|v| graph.is_list(*v));
        let fits = match write {
            Write::Input(i) => is_there(*i) && !list,
            Write::Elements(path, _) => (path.root as usize) < module.aggregates.len() && list,
        };
        if !fits || module.writes[..k].contains(write) {
            push(VerifyErrorKind::NewValue(write.clone()));
        }
    }
    for spec in module.specs.iter().chain(&module.output_specs).flatten() {
        if let Some(s) = undeclared(spec, &module.symbols) {
            push(VerifyErrorKind::Symbol(s));
        }
    }
    for (i, id) in graph.inputs.iter().enumerate() {
        if graph
            .nodes
            .get(id.index())
            .is_none_or(|n| n.kind != NodeKind::Input(i as u32))
        {
            push(VerifyErrorKind::Input(i as u32));
        }
    }
}

fn undeclared(ty: &TensorType, symbols: &[Symbol]) -> Option<u32> {
    ty.shape.iter().flatten().find_map(|d| match d {
        Dim::Symbol(s) if *s as usize >= symbols.len() => Some(*s),
        _ => None,
    })
}

fn check_node(module: &GraphModule, id: NodeId, errors: &mut Vec<VerifyError>) {
    let node = module.graph.node(id);
    let before = errors.len();
    let mut push = |kind| errors.push(VerifyError { node: Some(id), kind });
    if node.location as usize >= module.locations.len().max(1) {
        push(VerifyErrorKind::Location(node.location));
    }
    for ty in &node.types {
        if let Some(s) = undeclared(ty, &module.symbols) {
            push(VerifyErrorKind::Symbol(s));
        }
    }
    match &node.kind {
        NodeKind::Input(i) => {
            if module.graph.inputs.get(*i as usize) != Some(&id) {
                push(VerifyErrorKind::Input(*i));
            }
            if node.types.len() != 1 {
                push(VerifyErrorKind::ResultCount {
                    recorded: node.types.len(),
                    expected: 1,
                });
            } else if let Some(Some(spec)) = module.specs.get(*i as usize) {
                check_types(module, id, std::slice::from_ref(spec), errors);
            }
        }
        NodeKind::Call(..) => {
            verify_call(module, id, errors);
            if errors.len() > before {
                return;
            }
            match infer_node(module, id) {
                Ok(types) => {
                    if types.len() != node.types.len() {
                        errors.push(VerifyError {
                            node: Some(id),
                            kind: VerifyErrorKind::ResultCount {
                                recorded: node.types.len(),
                                expected: types.len(),
                            },
                        });
                    }
                    check_types(module, id, &types, errors);
                }
                Err(e) => errors.push(VerifyError {
                    node: Some(id),
                    kind: VerifyErrorKind::Rule(e),
                }),
            }
        }
    }
}

fn check_types(module: &GraphModule, id: NodeId, inferred: &[TensorType], errors: &mut Vec<VerifyError>) {
    for (index, (recorded, inferred)) in module.graph.node(id).types.iter().zip(inferred).enumerate() {
        if contradict(recorded, inferred, &module.symbols) {
            let show = |t: &TensorType| t.display(&module.symbols).to_string();
            let kind = VerifyErrorKind::Contradiction {
                index,
                recorded: show(recorded),
                inferred: show(inferred),
            };
            errors.push(VerifyError { node: Some(id), kind });
        }
    }
}

/// The types that the rules give a call whose structure holds.
pub(crate) fn infer_node(module: &GraphModule, id: NodeId) -> Result<Vec<TensorType>, OpError> {
    match &module.graph.node(id).kind {
        NodeKind::Input(_) => Ok(module.graph.node(id).types.clone()),
        NodeKind::Call(op, args) => {
            let wanted = module.graph.node(id).types.len();
            if matches!(op.row().lowering, Lowering::Link) {
                infer_call(&module.graph, &module.symbols, *op, args, wanted)?;
                return Ok(module.graph.node(id).types.clone());
            }
            if let Some(call) = module.graph.node(id).region_call() {
                infer_call(&module.graph, &module.symbols, *op, args, wanted)?;
                return Ok(module.region_types(&call));
            }
            infer_call(&module.graph, &module.symbols, *op, args, wanted)
        }
    }
}

/// Checks the structure of a call: argument count and kinds, and every value that it names.
pub(crate) fn verify_call(module: &GraphModule, id: NodeId, errors: &mut Vec<VerifyError>) {
    let NodeKind::Call(op, args) = &module.graph.node(id).kind else {
        return;
    };
    let mut push = |kind| errors.push(VerifyError { node: Some(id), kind });
    let row = op.row();
    if args.len() != row.params.len() {
        push(VerifyErrorKind::ArgumentCount {
            op: *op,
            got: args.len(),
        });
    }
    for (param, (arg, p)) in args.iter().zip(row.params).enumerate() {
        if !p.kind.accepts(arg) {
            push(VerifyErrorKind::ArgumentKind {
                op: *op,
                param,
                got: arg.to_string(),
            });
        }
    }
    if matches!(row.lowering, Lowering::Region) {
        let fits = module.graph.node(id).region_call().is_some_and(|call| {
            let takes = |&r: &usize| {
                let region = module.regions.get(r);
                region.is_some_and(|m| m.graph.inputs.len() == call.inputs.len())
            };
            call.regions.iter().all(takes)
        });
        if !fits {
            push(VerifyErrorKind::Region);
        }
    }
    if matches!(row.lowering, Lowering::Link) {
        let fits = module
            .graph
            .node(id)
            .link()
            .is_some_and(|link| match link.callee {
                Callee::Function(f) => f < module.callees.len(),
                Callee::Body { regions, .. } => regions.iter().all(|r| *r < module.regions.len()),
            });
        if !fits {
            push(VerifyErrorKind::Region);
        }
    }
    for arg in args {
        arg.values(&mut |v| {
            if let Err(kind) = check_value(module, v, id) {
                push(kind);
            }
        });
        check_params(module, arg, &mut push);
    }
}

/// Whether `v` exists before node `end`.
fn check_value(module: &GraphModule, v: Value, end: NodeId) -> Result<(), VerifyErrorKind> {
    if v.node >= end || v.node.index() >= module.graph.nodes.len() {
        return Err(VerifyErrorKind::Order(v));
    }
    let results = module.graph.node(v.node).types.len();
    if v.index as usize >= results {
        return Err(VerifyErrorKind::ResultIndex { value: v, results });
    }
    Ok(())
}

fn check_params(module: &GraphModule, arg: &Arg, push: &mut impl FnMut(VerifyErrorKind)) {
    fn walk(module: &GraphModule, e: &Expr, push: &mut impl FnMut(VerifyErrorKind)) {
        match e {
            Expr::Param(i, t) => {
                if module.scalars.get(*i as usize).is_none_or(|s| s.ty != *t) {
                    push(VerifyErrorKind::Param(*i, *t));
                }
            }
            Expr::Dim(_, a) | Expr::Cast(_, a) | Expr::Unary(_, a) => walk(module, a, push),
            Expr::Binary(_, a, b) => {
                walk(module, a, push);
                walk(module, b, push);
            }
            Expr::Literal(_)
            | Expr::Rank(_)
            | Expr::ElemCount(_)
            | Expr::DTypeOf(_)
            | Expr::SameShape(..) => {}
        }
    }
    match arg {
        Arg::Host(e) => walk(module, e, push),
        Arg::List(l) => l.iter().for_each(|a| check_params(module, a, push)),
        Arg::Value(_) | Arg::Field(_) | Arg::None => {}
    }
}
