//! Which inputs of a segment its graphs use, and which numbers its shapes and branches depend on.

use tensorplay_graph::op::row::{LaneClass, Lowering, ParamKind};
use tensorplay_graph::passes::decompose;
use tensorplay_graph::{Arg, GraphModule, NodeKind, Value, Write};

/// The tensors and scalars that some path uses, by number.
pub struct Used {
    pub tensors: Vec<bool>,
    pub scalars: Vec<bool>,
}

/// The inputs that some path uses.
pub fn used(modules: &[GraphModule]) -> Used {
    let longest = |n: fn(&GraphModule) -> usize| vec![false; modules.iter().map(n).max().unwrap_or(0)];
    let mut used = Used {
        tensors: longest(|m| m.graph.inputs.len()),
        scalars: longest(|m| m.scalars.len()),
    };
    for m in modules {
        let mut read = |v: Value| {
            if let NodeKind::Input(i) = m.graph.node(v.node).kind {
                used.tensors[i as usize] = true;
            }
        };
        let nodes = m.graph.nodes.iter().flat_map(|n| n.args());
        nodes.for_each(|a| a.values(&mut read));
        m.graph.outputs.iter().for_each(|v| read(*v));
        m.graph.guards.iter().for_each(|g| g.values(&mut read));
        let written = m.writes.iter().filter_map(|w| match w {
            Write::Input(i) => Some(i),
            Write::Elements(..) => None,
        });
        let changed = m.updates.iter().chain(written);
        changed.for_each(|i| used.tensors[*i as usize] = true);
        all_scalars(m, &mut used.scalars);
    }
    used
}

fn all_scalars(m: &GraphModule, used: &mut [bool]) {
    let mut mark = |i: u32| {
        if let Some(u) = used.get_mut(i as usize) {
            *u = true;
        }
    };
    m.graph.guards.iter().for_each(|g| g.params(&mut mark));
    m.graph
        .nodes
        .iter()
        .flat_map(|n| n.args())
        .for_each(|a| params(a, &mut mark));
    m.regions.iter().for_each(|r| all_scalars(r, used));
}

fn params(a: &Arg, f: &mut impl FnMut(u32)) {
    match a {
        Arg::Host(e) => e.params(f),
        Arg::List(l) => l.iter().for_each(|a| params(a, f)),
        Arg::Value(_) | Arg::Field(_) | Arg::None => {}
    }
}

/// The scalars that decide shapes or branches: a call with another value is bound anew.
pub fn keyed(modules: &[GraphModule], numbers: usize) -> Vec<bool> {
    let mut key = vec![false; numbers];
    for m in modules {
        let mut expanded = m.clone();
        // what cannot be expanded was reported
        let _ = decompose::try_run(&mut expanded);
        sizes(m, &mut key, |_, kind| {
            !matches!(kind, ParamKind::Operand | ParamKind::Scalar | ParamKind::Float)
        });
        sizes(
            &expanded,
            &mut key,
            |lowering, _| !matches!(lowering, Lowering::Lane(c) if c != LaneClass::Cast),
        );
    }
    key
}

fn sizes(m: &GraphModule, key: &mut [bool], decides: fn(Lowering, ParamKind) -> bool) {
    let mut mark = |i: u32| {
        if let Some(k) = key.get_mut(i as usize) {
            *k = true;
        }
    };
    m.graph.guards.iter().for_each(|g| g.params(&mut mark));
    for node in &m.graph.nodes {
        let Some(op) = node.op() else { continue };
        for (a, p) in node.args().iter().zip(op.row().params) {
            if decides(op.row().lowering, p.kind) {
                params(a, &mut mark);
            }
        }
    }
    m.regions.iter().for_each(|r| sizes(r, key, decides));
}
