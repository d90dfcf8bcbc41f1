//! Calls on the built-in compiler: linked and bound, or bound to another layout of sizes that were bound before.

use super::bound::Exec;
use super::how::how;
use super::key::Key;
use super::pattern::pattern;
use super::state::State;
use crate::backend::Codegen;
use crate::backend::registry::STAX;
use crate::device::same_device;
use crate::plan::bind::{How, Kept, Meta, bind_kept, rebind};
use crate::plan::link::{Callable, CalleeEntry, Linked, LinkedBlob, Locations, Strips, link};
use crate::plan::{Plan, StepCounts};
use crate::reentry::{Inside, is_inside};
use crate::sync::lock;
use crate::{Error, Result, Tensor};
use smallvec::SmallVec;
use std::mem::discriminant;
use tensorplay_graph::Host;

/// What a call was bound to.
pub(super) struct Made {
    pub key: Key,
    /// The sizes and layouts of its entry.
    pub pattern: String,
    pub path: usize,
    pub exec: Exec,
    pub linked: LinkedBlob<'static>,
    pub locations: Locations<'static>,
    pub lengths: Vec<u32>,
    pub counts: StepCounts,
    pub codegen: Codegen,
    /// What is kept of it, if it was linked anew.
    pub fresh: Option<Fresh>,
}

/// What linking and binding from the start leaves: it is noted when the plan is published.
pub(super) struct Fresh {
    /// What each callee was linked for.
    pub callees: Vec<CalleeEntry>,
    pub bindings: Bindings,
}

/// Links and binds a call for the built-in compiler.
pub(super) fn prepare(
    state: &'static State,
    tensors: &[&Tensor],
    scalars: &[Host],
    of: (u64, u64),
    dynamic: bool,
) -> Result<Made> {
    same_device("call", tensors)?;
    let metas: SmallVec<[Meta; 6]> = tensors.iter().map(|t| Meta::of(t)).collect();
    let options = state.function.settings.options(false);
    let how = how(&options, state.function.path())?;
    let call = Call {
        metas: &metas,
        scalars,
        how,
        dynamic,
    };
    let key = Key::of(tensors, scalars, &state.key_params, of);
    let made = match call.other_layout(state, &key)? {
        Some(made) => made,
        None => call.anew(state, key)?,
    };
    if let (true, Codegen::TileVm, Exec::Plan(plan)) = (options.strict_native, made.codegen, &made.exec) {
        return Err(not_native(state, plan));
    }
    Ok(made)
}

/// A call to bind.
struct Call<'a> {
    metas: &'a [Meta],
    scalars: &'a [Host],
    how: How,
    dynamic: bool,
}

/// Plans that are kept for other layouts of their sizes; the oldest goes first.
const KEPT: usize = 4;

/// What a plan leaves to those of other layouts.
#[derive(Debug)]
pub(super) struct Bindings {
    key: Key,
    scalars: SmallVec<[Host; 4]>,
    path: usize,
    linked: LinkedBlob<'static>,
    locations: Locations<'static>,
    strips: Strips,
    lengths: Vec<u32>,
    kept: Kept,
}

impl Call<'_> {
    /// Binds a call whose sizes were bound before with other strides.
    fn other_layout(&self, state: &'static State, key: &Key) -> Result<Option<Made>> {
        let bindings = lock(&state.kept);
        let types = |b: &Bindings| {
            b.scalars
                .iter()
                .map(discriminant)
                .eq(self.scalars.iter().map(discriminant))
        };
        let fits = |b: &&Bindings| b.kept.how() == self.how && types(b) && key.is_layout_of(&b.key);
        let Some(b) = bindings.iter().find(fits) else {
            return Ok(None);
        };
        let plan = rebind(&b.kept, &b.linked, &b.strips, self.metas)
            .map_err(|e| e.located(|at| b.locations.place(at)))?;
        Ok(plan.map(|plan| b.made(plan, key.clone(), self.dynamic)))
    }

    /// Links and binds a call from the start.
    fn anew(&self, state: &'static State, key: Key) -> Result<Made> {
        let linked = linked(state, state, self.metas, self.scalars, STAX)?;
        let bound = bind_kept(
            &linked.blob,
            &linked.strips,
            self.metas,
            &key.scalars,
            Some(self.scalars),
            self.how,
        );
        let (plan, kept) = bound.map_err(|e| e.located(|at| linked.locations.place(at)))?;
        let bindings = Bindings {
            key: key.clone(),
            scalars: self.scalars.into(),
            path: linked.path,
            linked: linked.blob,
            locations: linked.locations,
            strips: linked.strips,
            lengths: linked.lengths,
            kept,
        };
        let made = bindings.made(plan, key, self.dynamic);
        Ok(Made {
            fresh: Some(Fresh {
                callees: linked.entries,
                bindings,
            }),
            ..made
        })
    }
}

/// Links a call of a function, or of it as it was written.
pub(super) fn linked(
    state: &'static State,
    callable: &'static dyn Callable,
    metas: &[Meta],
    scalars: &[Host],
    backend: &str,
) -> Result<Linked<'static>> {
    // it would be asked for again, and again
    if is_inside(state) {
        let function = state.function.path();
        let e = Error::msg(format!("`{function}` is called while a call of it is bound"));
        return Err(e.with_help("a `reuse_hash_fn` must not call the function that it is asked for"));
    }
    let _binding = Inside::of(state);
    link(callable, metas, scalars, backend)
}

impl Bindings {
    /// Leaves them to plans of other layouts.
    pub(super) fn keep(self, state: &State) {
        let mut all = lock(&state.kept);
        // after a reset the same may be bound again
        all.retain(|b| b.key != self.key || b.scalars != self.scalars);
        if all.len() >= KEPT {
            all.remove(0);
        }
        all.push(self);
    }

    fn made(&self, plan: Plan, key: Key, dynamic: bool) -> Made {
        Made {
            pattern: pattern(&self.linked.module, &key, dynamic),
            key,
            path: self.path,
            linked: self.linked.clone(),
            locations: self.locations.clone(),
            lengths: self.lengths.clone(),
            counts: plan.counts,
            fresh: None,
            codegen: match plan.counts.tile + plan.counts.splits {
                0 => Codegen::StaxNative,
                _ => Codegen::TileVm,
            },
            exec: Exec::Plan(plan),
        }
    }
}

fn not_native(state: &State, plan: &Plan) -> Error {
    let reason = match plan.fallbacks.first() {
        Some(f) => format!("group {f}"),
        None => "TENSORPLAY_KERNELS or options(native = false) keeps it on the tile VM".into(),
    };
    Error::NotNative {
        function: state.function.path().into(),
        reason,
    }
}
