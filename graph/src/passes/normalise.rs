//! Canonical forms of arguments, so that later passes compare and schedule one form.
//!
//! ```text
//! sum(x, -1)        == sum(x, [1])          rank 2
//! softmax(x, -1)    == softmax(x, 1)        rank 2
//! unsqueeze(x, -1)  == unsqueeze(x, 2)      rank 2: one place more than dims
//! reshape(x, 6)     == reshape(x, [6])
//! dim(x, -1)        == dim(x, 1)            rank 2, inside host expressions
//! ```
//! A dim of a tensor of unknown rank, a dim out of range and the dims of a scalar stay as written. `rsub` and `rdiv` stay: `s - x` is not
//! `-(x - s)` for `-0.0`.

use crate::op::row::ParamKind;
use crate::{Arg, Env, Expr, Graph, GraphModule, Host, Node, Op, TypeEnv};

/// Runs the pass.
pub fn run(module: &mut GraphModule) -> bool {
    let mut changed = false;
    for i in 0..module.graph.nodes.len() {
        let Some(op) = module.graph.nodes[i].op() else {
            continue;
        };
        let places = places(&module.graph, &module.graph.nodes[i], op);
        let mut args = std::mem::take(args_of(&mut module.graph.nodes[i]));
        for (arg, p) in args.iter_mut().zip(op.row().params) {
            changed |= expressions(arg, &TypeEnv(&module.graph));
            if matches!(p.kind, ParamKind::Dims | ParamKind::Ints | ParamKind::Shape)
                && let Arg::Host(e) = arg
            {
                *arg = Arg::List(vec![Arg::Host(e.clone())]);
                changed = true;
            }
            if matches!(p.kind, ParamKind::Dim | ParamKind::Dims)
                && let Some(places) = places
            {
                changed |= dims(arg, places);
            }
        }
        *args_of(&mut module.graph.nodes[i]) = args;
    }
    changed
}

fn args_of(node: &mut Node) -> &mut Vec<Arg> {
    match &mut node.kind {
        crate::NodeKind::Call(_, args) => args,
        crate::NodeKind::Input(_) => unreachable!("the node is a call"),
    }
}

/// How many places a dim argument chooses from; `None` if not known, or for a scalar's dims.
fn places(graph: &Graph, node: &Node, op: Op) -> Option<usize> {
    let mut rank = None;
    if let Some(a) = node.args().first() {
        a.tensors(&mut |v| rank = rank.or(graph.ty(v).shape.as_ref().map(Vec::len)));
    }
    let extra = usize::from(matches!(op, Op::Unsqueeze | Op::Stack));
    rank.map(|r| r + extra).filter(|&places| places > 0)
}

fn dims(arg: &mut Arg, places: usize) -> bool {
    match arg {
        Arg::Host(e) => from_front(e, places),
        Arg::List(l) => l.iter_mut().fold(false, |c, a| dims(a, places) | c),
        Arg::Value(_) | Arg::Field(_) | Arg::None => false,
    }
}

fn from_front(e: &mut Expr, places: usize) -> bool {
    match e.literal() {
        Some(Host::Int(d)) if d < 0 && d + places as i64 >= 0 => {
            *e = Expr::int(d + places as i64);
            true
        }
        _ => false,
    }
}

/// Every `dim(x, -1)` inside an argument.
fn expressions(arg: &mut Arg, env: &TypeEnv<'_>) -> bool {
    match arg {
        Arg::Host(e) => expression(e, env),
        Arg::List(l) => l.iter_mut().fold(false, |c, a| expressions(a, env) | c),
        Arg::Value(_) | Arg::Field(_) | Arg::None => false,
    }
}

fn expression(e: &mut Expr, env: &TypeEnv<'_>) -> bool {
    match e {
        Expr::Dim(v, i) => {
            let inner = expression(i, env);
            inner | env.rank(*v).is_some_and(|rank| from_front(i, rank))
        }
        Expr::Cast(_, a) | Expr::Unary(_, a) => expression(a, env),
        Expr::Binary(_, a, b) => expression(a, env) | expression(b, env),
        _ => false,
    }
}
