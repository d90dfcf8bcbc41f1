//! Outputs that may be written where an input lies.
//!
//! Problem: `*cache = cache.slice_scatter(1, at, &row)` copies the cache to change a row of it.
//!
//! Method: binding finds outputs that a `&mut` parameter is given and that begin with a whole copy of that same
//! parameter. Where a call finds that nobody else holds the parameter's memory, the copy is left out, and the steps behind
//! it write there.
//!
//! Invariants: no step behind the copy reads the input; none can fail, so that nothing is written unless the call
//! succeeds; the caller has lent the input for the call, so that no other handle comes to be while it runs.

use super::arena::bases;
use super::{Buffer, Param, Place, Plan, Step};
use crate::Tensor;
use smallvec::SmallVec;
use tensorplay_graph::{GraphModule, Write};

/// An output that may be written where an input lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reuse {
    /// Which output.
    pub output: usize,
    /// Which input.
    pub input: usize,
    /// The output's buffer.
    pub buffer: usize,
    /// The step that copies the input there.
    pub copy: usize,
}

/// The outputs of a bound path that may be written in place; `contiguous` tells which inputs are row-major.
pub(super) fn find(module: &GraphModule, plan: &Plan, contiguous: &[bool]) -> Vec<Reuse> {
    // variables are given their new values when the steps have run, which may fail
    if !module.updates.is_empty() {
        return Vec::new();
    }
    let first = module.graph.outputs.len() - module.writes.len();
    let candidate = |(k, write): (usize, &Write)| {
        let Write::Input(input) = write else { return None };
        let (output, input) = (first + k, *input as usize);
        let place = plan.outputs.get(output)?;
        let buffer = (place.base as usize).checked_sub(plan.inputs + plan.constants.len())?;
        let whole = place.layout.is_contiguous() && place.layout.offset() == 0;
        if !whole || !*contiguous.get(input)? || !matches!(plan.buffers.get(buffer)?, Buffer::Fresh(_)) {
            return None;
        }
        let copy = plan.steps.iter().position(|s| touches(s, place.base))?;
        let behind = &plan.steps[copy + 1..];
        let fits = copies(&plan.steps[copy], input as u32, place)
            && !behind.iter().any(|s| touches(s, input as u32) || can_fail(s))
            && !plan.outputs.iter().any(|p| p.base as usize == input);
        fits.then_some(Reuse {
            output,
            input,
            buffer,
            copy,
        })
    };
    module.writes.iter().enumerate().filter_map(candidate).collect()
}

/// Those whose input nobody else holds.
pub(super) fn unshared<'p>(plan: &'p Plan, inputs: &[&Tensor]) -> SmallVec<[&'p Reuse; 2]> {
    plan.reuses
        .iter()
        .filter(|r| inputs[r.input].is_unshared())
        .collect()
}

fn touches(step: &Step, base: u32) -> bool {
    let mut found = false;
    bases(step, &mut |b| found |= b == base);
    if let Step::Kernel(k) = step {
        found |= k.divisors.iter().any(|d| d.at.base == base);
    }
    found
}

/// Whether a step copies all of an input, element by element, to a place.
fn copies(step: &Step, input: u32, place: &Place) -> bool {
    let Step::Copy(c) = step else {
        return false;
    };
    c.src.base == input
        && c.src.offset == 0
        && c.dst == place.at()
        && c.src_strides == c.dst_strides
        && c.shape.iter().product::<usize>() == place.layout.elem_count()
}

fn can_fail(step: &Step) -> bool {
    match step {
        Step::Matmul(_) | Step::Copy(_) => false,
        Step::Kernel(k) => !k.divisors.is_empty() || k.params.iter().any(|p| matches!(p, Param::Call(..))),
        Step::Draw(_) | Step::Op(_) | Step::Region(_) => true,
    }
}
