//! What is in a graph that is copied into another: values, numbers, regions and locations become those of the other.

use crate::Result;
use std::collections::BTreeMap;
use std::sync::Arc;
use tensorplay_graph::{Arg, Expr, GraphModule, Host, HostType, Location, NodeId, Value};
use tensorplay_stax::blob::Blob;
use tensorplay_stax::lower::Lowered;

/// Stands for a value that is not there.
pub(super) const GONE: Value = Value {
    node: NodeId(u32::MAX),
    index: 0,
};

/// A kernel over the values of the linked graph.
pub(super) fn renamed(l: &Lowered, hosts: &[Expr], to: &dyn Fn(Value) -> Result<Value>) -> Result<Lowered> {
    let mut l = l.clone();
    for v in l.operands.iter_mut().chain(&mut l.outputs) {
        *v = to(*v)?;
    }
    for e in &mut l.params {
        *e = substituted(e, hosts, &mut |v| to(v).unwrap_or(GONE));
    }
    Ok(l)
}

/// The expression as a value of that type: a literal takes any.
pub(crate) fn typed(e: &Expr, ty: HostType) -> Expr {
    match (e, ty) {
        (Expr::Literal(Host::Int(_) | Host::Float(_)), ty)
            if !matches!(
                ty,
                HostType::Number | HostType::IntLiteral | HostType::FloatLiteral
            ) =>
        {
            Expr::Cast(ty, Box::new(e.clone()))
        }
        _ => e.clone(),
    }
}

pub(super) fn substitute(
    arg: &mut Arg,
    hosts: &[Expr],
    lists: &BTreeMap<Value, Vec<Value>>,
    to: &mut impl FnMut(Value) -> Value,
) {
    match arg {
        Arg::Value(v) => *v = to(*v),
        Arg::Host(e) => *e = substituted(e, hosts, to),
        Arg::List(l) => {
            let mut all = Vec::with_capacity(l.len());
            for mut a in std::mem::take(l) {
                if let Arg::Value(v) = &a
                    && let Some(list) = lists.get(v)
                {
                    all.extend(list.iter().copied().map(Arg::Value));
                    continue;
                }
                substitute(&mut a, hosts, lists, to);
                all.push(a);
            }
            *l = all;
        }
        Arg::Field(_) | Arg::None => {}
    }
}

/// The expression over other values, with the scalars that `hosts` says.
fn substituted(e: &Expr, hosts: &[Expr], to: &mut impl FnMut(Value) -> Value) -> Expr {
    e.substituted(&|i| hosts.get(i as usize).cloned(), to)
}

/// The last location of a path or of the graphs inside it.
pub(super) fn last_location(blob: &Blob) -> u32 {
    let own = blob.module.graph.nodes.iter().map(|n| n.location);
    own.chain(blob.regions.iter().map(last_location))
        .max()
        .unwrap_or(0)
}

/// Numbers the locations of a graph that has those of the one around it, whose table takes the place of its own.
pub(super) fn move_locations(blob: &mut Blob, by: u32) {
    fn module(m: &mut GraphModule, by: u32) {
        m.graph.nodes.iter_mut().for_each(|n| n.location += by);
        m.locations.clear();
        m.regions.iter_mut().for_each(|r| module(r, by));
    }
    module(&mut blob.module, by);
    blob.written.nodes.iter_mut().for_each(|n| n.location += by);
    blob.regions.iter_mut().for_each(|r| move_locations(r, by));
}

/// Gives graphs that have no table of locations that of the one around them.
pub(super) fn share_locations(modules: &mut [GraphModule], blobs: &mut [Blob], table: &[Location]) {
    fn module(m: &mut GraphModule, table: &[Location]) {
        if m.locations.is_empty() {
            m.locations = table.to_vec();
            m.regions.iter_mut().for_each(|r| module(r, table));
        }
    }
    fn blob(b: &mut Blob, table: &[Location]) {
        if b.module.locations.is_empty() {
            module(&mut b.module, table);
            b.regions.iter_mut().for_each(|r| blob(r, table));
        }
    }
    // only graphs as they were written have places
    if !table.is_empty() {
        modules.iter_mut().for_each(|m| module(m, table));
        blobs.iter_mut().for_each(|b| blob(b, table));
    }
}

/// Replaces the scalars of a graph inside a path by their values.
pub(super) fn close(blob: &mut Blob, known: &[Expr]) {
    for graph in [&mut blob.module.graph, &mut blob.written] {
        for node in &mut graph.nodes {
            for a in node.args_mut() {
                substitute(a, known, &BTreeMap::new(), &mut |v| v);
            }
        }
    }
    for instance in &mut blob.instances {
        for (lowered, _) in instance.kernels.iter_mut().flatten() {
            let mut l = (**lowered).clone();
            for e in &mut l.params {
                *e = substituted(e, known, &mut |v| v);
            }
            *lowered = Arc::new(l);
        }
    }
    blob.regions.iter_mut().for_each(|r| close(r, known));
}
