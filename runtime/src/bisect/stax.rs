//! The built-in compiler: its passes one by one, then its groups.

use super::Tolerance;
use super::call::{Call, Found, giving};
use crate::dispatch::{Rehearsal, rehearsal};
use crate::graph_api::{Run, parted};
use crate::plan::bind::{How, Kernels, Meta, bind};
use crate::plan::link::Strips;
use crate::{Error, Result, Tensor};
use tensorplay_graph::passes::{Pass, PassManager};
use tensorplay_graph::{GraphModule, Host, Value};

/// The first pass or group after which a call gives something else.
pub(super) fn find(call: &Call<'_>, tolerance: Tolerance) -> Result<Option<Found>> {
    let want = call.reference()?;
    if let Some(found) = passes(call, &want, tolerance, &sequence())? {
        return Ok(Some(found));
    }
    groups(call, &want, tolerance)
}

/// The passes in the order in which the build runs them.
fn sequence() -> Vec<&'static Pass> {
    let before = PassManager::source();
    let after = PassManager::standard();
    let decompose = Pass::from_name("decompose");
    before
        .passes()
        .iter()
        .copied()
        .chain(decompose)
        .chain(after.passes().iter().copied())
        .collect()
}

/// Applies passes one by one.
pub(super) fn passes(
    call: &Call<'_>,
    want: &[Tensor],
    tolerance: Tolerance,
    sequence: &[&'static Pass],
) -> Result<Option<Found>> {
    let mut graph = call.graph.clone();
    let mut expanded = false;
    for pass in sequence {
        run_pass(pass, &mut graph);
        expanded |= pass.name == "decompose";
        // composites compute in f32 inside, which the tile VM knows and operations by themselves do not
        let got = call.alike(|| match expanded {
            false => graph.run(&call.inputs),
            true => unfused(&graph, &call.inputs),
        });
        if !got.is_ok_and(|got| tolerance.accepts(&got, want)) {
            return Ok(Some(first_wrong(call, &graph, expanded, tolerance, pass)));
        }
    }
    Ok(None)
}

fn run_pass(pass: &Pass, graph: &mut GraphModule) {
    (pass.run)(graph);
    graph.regions.iter_mut().for_each(|r| run_pass(pass, r));
}

/// The operation at which a graph after a pass departs from the one as it was written: the first place of the source all
/// of whose values differ.
fn first_wrong(
    call: &Call<'_>,
    graph: &GraphModule,
    expanded: bool,
    tolerance: Tolerance,
    pass: &'static Pass,
) -> Found {
    let last_of = |m: &GraphModule, location: u32| {
        let ids = m.graph.ids().rev();
        ids.into_iter().find(|id| {
            let n = m.graph.node(*id);
            n.location == location && n.op().is_some()
        })
    };
    let mut suspect = None;
    for node in call.graph.nodes() {
        let Some(op) = node.op() else { continue };
        let found = Found {
            pass: Some(pass.name),
            group: None,
            op,
            location: node.location,
            name: node.name.clone(),
        };
        let (Some(old), Some(new)) = (last_of(&call.graph, node.location), last_of(graph, node.location))
        else {
            suspect.get_or_insert(found);
            continue;
        };
        let value = |m: &GraphModule, id| giving(m, vec![Value { node: id, index: 0 }]);
        let want = call.alike(|| value(&call.graph, old).run(&call.inputs));
        let part = value(graph, new);
        let got = call.alike(|| match expanded {
            false => part.run(&call.inputs),
            true => unfused(&part, &call.inputs),
        });
        match (want, got) {
            (Ok(want), Ok(got)) if tolerance.accepts(&got, &want) => suspect = None,
            (Ok(_), _) => return found,
            (Err(_), _) => {}
        }
    }
    suspect.unwrap_or_else(|| last(call, Some(pass.name)))
}

/// The last operation, where nothing tells which it is.
fn last(call: &Call<'_>, pass: Option<&'static str>) -> Found {
    let node = call.graph.nodes().iter().rev().find(|n| n.op().is_some());
    Found {
        pass,
        group: None,
        op: node
            .and_then(|n| n.op())
            .unwrap_or(tensorplay_graph::Op::Contiguous),
        location: node.map_or(0, |n| n.location),
        name: node.map_or_else(String::new, |n| n.name.clone()),
    }
}

/// Runs a graph operation by operation on the tile VM.
fn unfused(graph: &GraphModule, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let blob = tensorplay_stax::blob::Blob::new(graph.clone(), graph);
    let (tensors, hosts) = parted(graph, inputs)?;
    let metas: Vec<Meta> = tensors.iter().map(Meta::of).collect();
    let known: Vec<Option<Host>> = hosts.iter().copied().map(Some).collect();
    let how = How {
        fused: 0,
        ..How::from(Kernels::Tile)
    };
    let plan = bind(&blob, &Strips::One(&[]), &metas, &known, Some(&hosts), how)?;
    let tensors: Vec<&Tensor> = tensors.iter().collect();
    Ok(plan.run(&tensors, &hosts)?.into_vec())
}

/// Fuses groups one by one.
fn groups(call: &Call<'_>, want: &[Tensor], tolerance: Tolerance) -> Result<Option<Found>> {
    let r = rehearsal(call.function(), &call.noted.tensors, &call.noted.scalars)?;
    let units = r.blob().schedule.units.len() as u32;
    if call
        .alike(|| r.run(units, None))
        .is_ok_and(|got| tolerance.accepts(&got, want))
    {
        return Ok(None);
    }
    for fused in 0..=units {
        let got = call.alike(|| r.run(fused, None));
        if got.is_ok_and(|got| tolerance.accepts(&got, want)) {
            continue;
        }
        // with nothing fused it is wrong already: a library's product, a copy, an operation of the runtime
        let Some(unit) = fused.checked_sub(1) else {
            return Ok(Some(last(call, None)));
        };
        return wrong_in(call, &r, unit, tolerance).map(Some);
    }
    Ok(None)
}

/// The first group whose outputs are not those of its operations.
pub(super) fn group_by_group(call: &Call<'_>, tolerance: Tolerance) -> Result<Option<Found>> {
    let r = rehearsal(call.function(), &call.noted.tensors, &call.noted.scalars)?;
    for (u, unit) in (0..).zip(&r.blob().schedule.units) {
        for v in unit.outputs.iter().filter(|_| unit.kind.is_kernel()) {
            let want = call.alike(|| r.run(u, Some(*v)))?;
            if !tolerance.accepts(&call.alike(|| r.run(u + 1, Some(*v)))?, &want) {
                return wrong_in(call, &r, u, tolerance).map(Some);
            }
        }
    }
    Ok(None)
}

/// Which operation of a group is wrong: the one of its first output that differs.
fn wrong_in(call: &Call<'_>, r: &Rehearsal, unit: u32, tolerance: Tolerance) -> Result<Found> {
    let blob = r.blob();
    let outputs = &blob.schedule.units[unit as usize].outputs;
    let kernel = blob
        .instances
        .first()
        .and_then(|i| i.kernels[unit as usize].as_ref());
    let group = kernel.map(|(lowered, _)| lowered.kernel.name.clone());
    let mut at = *outputs
        .last()
        .ok_or_else(|| Error::msg("a group has no outputs"))?;
    for v in outputs {
        let want = call.alike(|| r.run(unit, Some(*v)))?;
        let got = call.alike(|| r.run(unit + 1, Some(*v)));
        if !got.is_ok_and(|got| tolerance.accepts(&got, &want)) {
            at = *v;
            break;
        }
    }
    let node = blob.module.graph.node(at.node);
    let mut found = last(call, None);
    if let Some(op) = node.op() {
        found.op = blob.written_op(at.node, op);
    }
    found.name.clone_from(&node.name);
    let here = call
        .graph
        .nodes()
        .iter()
        .find(|n| n.op() == Some(found.op) && n.name == node.name);
    found.location = here.map_or(node.location, |n| n.location);
    found.group = Some(group.unwrap_or_else(|| found.op.name().into()));
    Ok(found)
}
