//! One case, every way.

use crate::case::Case;
use crate::reference::{self, Array, Stop};
use crate::{compare, eager};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tensorplay::graph::Run;
use tensorplay::{Result, Tensor};
use tensorplay_graph::{DType, GraphModule};
use tensorplay_stax::lower::lower;
use tensorplay_stax::typing::Typing;

/// A disagreement.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Which comparison failed; shrinking keeps it.
    pub kind: String,
    /// What is wrong.
    pub detail: String,
}

thread_local!(static LAST: RefCell<String> = const { RefCell::new(String::new()) });

/// Keeps panic messages off stderr and within reach.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| LAST.with(|l| *l.borrow_mut() = info.to_string())));
}

/// The results, an error, or a panic.
pub fn guarded(f: impl FnOnce() -> Result<Vec<Tensor>>) -> std::result::Result<Vec<Tensor>, (bool, String)> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(v)) => Ok(v),
        Ok(Err(e)) => Err((false, e.to_string())),
        Err(_) => Err((true, LAST.with(|l| l.borrow().clone()))),
    }
}

fn fail<T>(kind: impl Into<String>, detail: impl Into<String>) -> std::result::Result<T, Failure> {
    Err(Failure {
        kind: kind.into(),
        detail: detail.into(),
    })
}

/// What a right run gives.
pub enum Expected {
    /// These values, for all values of the case.
    Values(Vec<Array>),
    /// An error with the data.
    Error(String),
}

/// The reference's word; `None` if the case is none (while shrinking).
pub fn expected(case: &Case) -> Option<Expected> {
    match reference::run(case) {
        Ok(v) => Some(Expected::Values(v)),
        Err((i, Stop::Data(e))) if i + 1 == case.nodes.len() => Some(Expected::Error(e)),
        Err(_) => None,
    }
}

/// Holds one run against the reference.
///
/// # Errors
/// What disagrees.
pub fn against(
    who: &str,
    case: &Case,
    want: &Expected,
    got: &std::result::Result<Vec<Tensor>, (bool, String)>,
) -> std::result::Result<(), Failure> {
    match (want, got) {
        (_, Err((true, m))) => fail(format!("{who}: panic"), m),
        (Expected::Error(_), Err(_)) => Ok(()),
        (Expected::Error(e), Ok(_)) => fail(format!("{who}: no error"), format!("expected an error: {e}")),
        (Expected::Values(_), Err((_, m))) => fail(format!("{who}: error"), m),
        (Expected::Values(v), Ok(t)) => {
            if t.len() != case.outputs.len() {
                return fail(
                    format!("{who}: count"),
                    format!("{} results, expected {}", t.len(), case.outputs.len()),
                );
            }
            for (&o, t) in case.outputs.iter().zip(t) {
                if let Err(e) = compare::with_reference(&v[o], t) {
                    return fail(format!("{who}: value"), format!("output %{o}: {e}"));
                }
            }
            Ok(())
        }
    }
}

/// Every unit that is to be a kernel is one.
fn kernels(case: &Case, module: &GraphModule) -> std::result::Result<(), Failure> {
    let dtypes: Vec<DType> = case.inputs.iter().map(|i| i.dtype).collect();
    // what needs the sizes of a call is scheduled then
    let Ok(blob) = tensorplay_stax::analyse(module) else {
        return Ok(());
    };
    let Ok(typing) = Typing::infer(&blob.module, &dtypes, &[]) else {
        return Ok(());
    };
    for unit in blob.schedule.units.iter().filter(|u| u.kind.is_kernel()) {
        if let Err(e) = lower(&blob.module, &typing, unit, &|_| false) {
            return fail("schedule: no kernel", e.to_string());
        }
    }
    Ok(())
}

/// Runs a case as a graph and op by op.
///
/// # Errors
/// The first disagreement; `Ok(false)` if the case is not well typed.
pub fn graph(case: &Case) -> std::result::Result<bool, Failure> {
    let Some(want) = expected(case) else {
        return Ok(false);
    };
    let module = match case.module() {
        Ok(m) => m,
        Err((i, e)) => return fail("rule: refuses", format!("call {i}: {e}")),
    };
    match catch_unwind(AssertUnwindSafe(|| kernels(case, &module))) {
        Ok(r) => r?,
        Err(_) => return fail("schedule: panic", LAST.with(|l| l.borrow().clone())),
    }
    let inputs = match catch_unwind(AssertUnwindSafe(|| case.tensors())) {
        Ok(t) => t,
        Err(_) => return fail("inputs: panic", LAST.with(|l| l.borrow().clone())),
    };
    let by_op = guarded(|| eager::run(case, &inputs));
    against("eager", case, &want, &by_op)?;
    let fused = guarded(|| module.run(&inputs));
    against("tile", case, &want, &fused)?;
    if let (Expected::Values(v), Ok(a), Ok(b)) = (&want, &by_op, &fused) {
        for ((&o, a), b) in case.outputs.iter().zip(a).zip(b) {
            if v[o].pure
                && let Err(e) = compare::bitwise(a, b)
            {
                return fail("eager/tile: bits", format!("output %{o}: {e}"));
            }
        }
    }
    Ok(true)
}

/// A case whose last call the reference refuses: the rules, the graph and eager must refuse it.
///
/// # Errors
/// It is accepted, or panics.
pub fn refused(case: &Case) -> std::result::Result<(), Failure> {
    let last = case.nodes.len().saturating_sub(1);
    if !matches!(reference::run(case), Err((i, Stop::Refused(_))) if i == last) {
        return Ok(());
    }
    let mut c = case.clone();
    c.outputs = vec![case.values() - 1];
    c.inputs.iter_mut().for_each(|i| i.spec = crate::case::Spec::None);
    let inputs = c.tensors();
    // what is not known when the graph is built is found when it runs
    if let Ok(m) = c.module() {
        match guarded(|| m.run(&inputs)) {
            Err((false, _)) => {}
            Err((true, m)) => return fail("tile: panics", m),
            Ok(_) => return fail("tile: accepts", format!("{m}")),
        }
    }
    c.inputs.iter_mut().for_each(|i| i.spec = crate::case::Spec::Full);
    if let Ok(m) = c.module() {
        return fail("rule: accepts", format!("{m}"));
    }
    match guarded(|| eager::run(&c, &inputs)) {
        Err((false, _)) => Ok(()),
        Err((true, m)) => fail("eager: panics", m),
        Ok(_) => fail("eager: accepts", format!("{:?}", c.nodes[last])),
    }
}
