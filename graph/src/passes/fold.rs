//! Folds host expressions, and drops calls that give back their operand.
//!
//! ```text
//! dim(x, i)              == n    where the type of x tells it
//! a + b                  == n    host arithmetic on known values that does not fail
//! to_dtype(x, dtype(x))  == x
//! reshape(x, shape(x))   == x    every size known, or the same symbol
//! expand(x, shape(x))    == x
//! ```
//! An expression that would fail (`usize` underflow, division by zero) stays: the call reports it. A known part of an unknown
//! expression keeps its Rust type, by its neighbour or by a cast, because the type decides where overflow is.
//! Tensors are never computed. A call whose result the graph returns stays if its operand is an input.

use super::rewrite::{Edit, rewrite};
use crate::{Arg, Env, Expr, Graph, GraphModule, Host, HostType, Node, NodeKind, Op, TypeEnv, Value};

/// Runs the pass.
pub fn run(module: &mut GraphModule) -> bool {
    let mut changed = false;
    let outputs = module.graph.outputs.clone();
    rewrite(&mut module.graph, |graph, id, mut node| {
        let env = TypeEnv(graph);
        for arg in node.args_mut() {
            changed |= fold_arg(arg, &env);
        }
        // a result is a value, where an input that is returned as it came may be a variable
        let returned = |v: Value| {
            let input = matches!(graph.node(v.node).kind, NodeKind::Input(_));
            input && outputs.iter().any(|o| o.node == id)
        };
        match identity(graph, &node).filter(|v| !returned(*v)) {
            Some(v) => {
                changed = true;
                Edit::Use(vec![v])
            }
            None => Edit::Keep(node),
        }
    });
    // types may know what a guard promises, so a guard that they confirm stays
    module.graph.guards.retain(|g| {
        let holds = g.eval(&Nothing) == Ok(Host::Bool(true));
        changed |= holds;
        !holds
    });
    changed
}

/// The operand, if the call gives it back.
fn identity(graph: &Graph, node: &Node) -> Option<Value> {
    let Some(Arg::Value(v)) = node.args().first() else {
        return None;
    };
    let (x, result) = (graph.ty(*v), node.types.first()?);
    let same = match node.op()? {
        Op::ToDtype => x.dtype.is_some() && x.dtype == result.dtype,
        Op::Reshape | Op::Expand => match (&x.shape, &result.shape) {
            (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(p, q)| p.same(*q)),
            _ => false,
        },
        _ => false,
    };
    same.then_some(*v)
}

fn fold_arg(arg: &mut Arg, env: &dyn Env) -> bool {
    match arg {
        Arg::Host(e) => fold(e, env),
        Arg::List(l) => l.iter_mut().fold(false, |c, a| fold_arg(a, env) | c),
        Arg::Value(_) | Arg::Field(_) | Arg::None => false,
    }
}

/// Folds an expression whose type no neighbour needs.
fn fold(e: &mut Expr, env: &dyn Env) -> bool {
    if e.literal().is_some() {
        return false;
    }
    match e.eval(env) {
        Ok(h) => {
            *e = Expr::Literal(h);
            true
        }
        Err(_) => fold_operands(e, env),
    }
}

fn fold_operands(e: &mut Expr, env: &dyn Env) -> bool {
    match e {
        Expr::Dim(_, a) | Expr::Cast(_, a) => fold(a, env),
        Expr::Unary(_, a) => fold_typed(a, env),
        Expr::Binary(_, a, b) => {
            let changed = fold_typed(a, env) | fold_typed(b, env);
            changed | drop_cast(a, b) | drop_cast(b, a)
        }
        _ => false,
    }
}

/// Folds an operand; its type stays.
fn fold_typed(e: &mut Expr, env: &dyn Env) -> bool {
    let ty = e.host_type();
    let known = matches!(e, Expr::Literal(_)) || cast_literal(e).is_some();
    if known || matches!(ty, HostType::IntLiteral | HostType::FloatLiteral) {
        return false;
    }
    match e.eval(env) {
        Ok(h) => {
            let literal = Expr::Literal(h);
            *e = match ty {
                HostType::Bool | HostType::DType => literal,
                _ => Expr::Cast(ty, Box::new(literal)),
            };
            true
        }
        Err(_) => fold_operands(e, env),
    }
}

/// The type and value of `usize(3)`.
fn cast_literal(e: &Expr) -> Option<(HostType, Host)> {
    match e {
        Expr::Cast(t, a) if a.literal().is_some() => Some((*t, e.eval(&Nothing).ok()?)),
        _ => None,
    }
}

/// `usize(3) + b == 3 + b` where b is a `usize`.
fn drop_cast(a: &mut Expr, b: &Expr) -> bool {
    match cast_literal(a) {
        Some((t, h)) if b.host_type() == t && cast_literal(b).is_none() => {
            *a = Expr::Literal(h);
            true
        }
        _ => false,
    }
}

/// An environment that knows nothing.
struct Nothing;

impl Env for Nothing {
    fn param(&self, _: u32) -> Option<Host> {
        None
    }
    fn rank(&self, _: Value) -> Option<usize> {
        None
    }
    fn dim(&self, _: Value, _: usize) -> Option<usize> {
        None
    }
    fn dtype(&self, _: Value) -> Option<crate::DType> {
        None
    }
}
