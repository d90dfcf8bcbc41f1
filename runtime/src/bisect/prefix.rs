//! Other backends: growing prefixes of the graph.

use super::Tolerance;
use super::call::{Call, Found, giving, results};
use crate::backend::guarded;
use crate::backend::registry::Slot;
use crate::example::Example;
use crate::graph_api::Run;
use crate::{Result, Tensor};
use tensorplay_graph::GraphModule;

/// The first node whose value the backend gets wrong, or fails on.
pub(super) fn find(call: &Call<'_>, slot: &'static Slot, tolerance: Tolerance) -> Result<Option<Found>> {
    let want = call.reference()?;
    if agrees(call, slot, &call.graph, &want, tolerance)? {
        return Ok(None);
    }
    for (i, values) in results(&call.graph.graph) {
        let part = giving(&call.graph, values);
        let want = call.alike(|| part.run(&call.inputs))?;
        if !agrees(call, slot, &part, &want, tolerance)? {
            let node = &call.graph.graph.nodes[i];
            return Ok(node.op().map(|op| Found {
                pass: None,
                group: None,
                op,
                location: node.location,
                name: node.name.clone(),
            }));
        }
    }
    // every value is right where it is the result: the last call is what gives the results together
    let last = call.graph.graph.nodes.iter().rev();
    Ok(last
        .filter_map(|n| Some((n, n.op()?)))
        .next()
        .map(|(n, op)| Found {
            pass: None,
            group: None,
            op,
            location: n.location,
            name: n.name.clone(),
        }))
}

fn agrees(
    call: &Call<'_>,
    slot: &'static Slot,
    graph: &GraphModule,
    want: &[Tensor],
    tolerance: Tolerance,
) -> Result<bool> {
    let backend = slot.backend()?;
    let examples: Vec<Example> = call.inputs.iter().map(Example::of).collect();
    let options = call.function().compile_options();
    let got = call.alike(|| guarded(|| backend.compile(graph, &examples, &options)?.run(&call.inputs)));
    Ok(got.is_ok_and(|got| tolerance.accepts(&got, want)))
}
