//! Binding a layout where a plan of the same sizes was bound before.
//!
//! Problem: the same sizes come contiguous, transposed, as a slice of a batch; and most of a plan does not depend on that.
//! Method: a bound plan leaves its types, shapes and places. For other strides only the units are bound again that read an
//! input whose strides changed, itself or through views; the other steps are shared.
//! Invariants: buffers are numbered in the order of the units, and placed by their sizes and lives; where a unit that is
//! bound again needs other buffers than before, or for other steps, nothing is shared, and the caller binds all of it.

use super::*;
use crate::plan::Buffer;
use crate::plan::arena;

/// What the units up to one made, and what that one did.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    steps: usize,
    drafts: usize,
    constants: usize,
    draws: usize,
    counts: StepCounts,
    fallbacks: Vec<Fallback>,
}

/// What a plan leaves to those of the same sizes.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Which of the emitted instances its kernels are.
    pub(super) instance: Option<usize>,
    pub(super) typing: Arc<Typing>,
    pub(super) shapes: Arc<Vec<Vec<Sizes>>>,
    pub(super) inputs: Vec<Meta>,
    pub(super) scalars: Vec<Option<Host>>,
    pub(super) how: How,
    /// With bases as they are before the last numbering.
    pub(super) places: Vec<Vec<Option<Place>>>,
    pub(super) drafts: Vec<Draft>,
    pub(super) marks: Vec<Mark>,
    pub(super) steps: Vec<Step>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) constants: Vec<Tensor>,
    /// The bases of the outputs.
    pub(super) outputs: Vec<u32>,
    pub(super) arena: usize,
}

impl Kept {
    pub(super) fn place(&self, v: Value) -> Option<&Place> {
        self.places.get(v.node.index())?.get(v.index as usize)?.as_ref()
    }

    pub(crate) fn how(&self) -> How {
        self.how
    }
}

impl Binder<'_> {
    pub(super) fn mark(&self, before: StepCounts, fallbacks: usize) -> Mark {
        Mark {
            steps: self.steps.len(),
            drafts: self.drafts.len(),
            constants: self.constants.len(),
            draws: self.draws,
            counts: self.counts.since(before),
            fallbacks: self.fallbacks[fallbacks..].to_vec(),
        }
    }
}

/// Binds inputs that differ from those of `kept` in strides alone; `None` if its plan does not fit them.
pub(crate) fn rebind(kept: &Kept, blob: &Blob, strips: &Strips, inputs: &[Meta]) -> Result<Option<Plan>> {
    let graph = &blob.module.graph;
    let changed: Vec<bool> = inputs
        .iter()
        .zip(&kept.inputs)
        .map(|(a, b)| a.strides != b.strides)
        .collect();
    // what shows an input whose strides changed
    let mut shows = vec![false; graph.nodes.len()];
    for (at, node) in graph.nodes.iter().enumerate() {
        shows[at] = match &node.kind {
            NodeKind::Input(i) => changed[*i as usize],
            NodeKind::Call(op, args) => match (op.row().lowering, args.first()) {
                (Lowering::View, Some(Arg::Value(of))) => shows[of.node.index()],
                _ => false,
            },
        };
    }
    let reads = |unit: &Unit| {
        unit.members.iter().any(|m| {
            let mut found = false;
            let args = graph.node(m.node).args().iter();
            args.for_each(|a| a.tensors(&mut |v| found |= shows[v.node.index()]));
            found
        })
    };
    let mut b = Binder {
        blob,
        strips,
        typing: kept.typing.clone(),
        scalars: &kept.scalars,
        how: kept.how,
        instance: kept.instance.and_then(|i| blob.instances.get(i)),
        shapes: kept.shapes.clone(),
        places: vec![Vec::new(); graph.nodes.len()],
        kept: Some(kept),
        inputs,
        drafts: Vec::with_capacity(kept.drafts.len()),
        bytes: 0,
        constants: Vec::with_capacity(kept.constants.len()),
        steps: Vec::with_capacity(kept.steps.len()),
        draws: 0,
        wide: Vec::new(),
        counts: StepCounts::default(),
        fallbacks: Vec::new(),
    };
    let mut fresh = Vec::new();
    let mut first = Mark::start();
    for (u, (unit, mark)) in blob.schedule.units.iter().zip(&kept.marks).enumerate() {
        let start = b.steps.len();
        if reads(unit) {
            b.unit(u as u32, unit)?;
            fresh.extend(start..b.steps.len());
            if !b.is_at(mark) {
                return Ok(None);
            }
        } else {
            b.steps.extend_from_slice(&kept.steps[first.steps..mark.steps]);
            b.drafts
                .extend_from_slice(&kept.drafts[first.drafts..mark.drafts]);
            b.constants
                .extend_from_slice(&kept.constants[first.constants..mark.constants]);
            b.draws = mark.draws;
            b.counts.add(mark.counts, 1);
            b.fallbacks.extend_from_slice(&mark.fallbacks);
        }
        first = Mark {
            fallbacks: Vec::new(),
            ..*mark
        };
    }
    b.share(kept, &fresh)
}

impl Mark {
    fn start() -> Mark {
        Mark {
            steps: 0,
            drafts: 0,
            constants: 0,
            draws: 0,
            counts: StepCounts::default(),
            fallbacks: Vec::new(),
        }
    }
}

impl Binder<'_> {
    /// Whether as much was made as had been there.
    fn is_at(&self, mark: &Mark) -> bool {
        (
            self.steps.len(),
            self.drafts.len(),
            self.constants.len(),
            self.draws,
        ) == (mark.steps, mark.drafts, mark.constants, mark.draws)
    }

    /// The plan in the memory of the kept one, if its fresh steps use that alike.
    fn share(mut self, kept: &Kept, fresh: &[usize]) -> Result<Option<Plan>> {
        let sizes = self
            .drafts
            .iter()
            .zip(&kept.drafts)
            .all(|(a, b)| a.bytes == b.bytes);
        let (mut outputs, handles) = self.outputs()?;
        let bases = Bases::of(&self);
        outputs.iter_mut().for_each(|p| p.base = bases.last(p.base));
        let places = outputs.iter().map(|p| p.base).eq(kept.outputs.iter().copied());
        if !sizes || !places || self.constants.len() != kept.constants.len() {
            return Ok(None);
        }
        let buffers = bases.inputs + bases.constants;
        for &i in fresh {
            bases_mut(&mut self.steps[i], &mut |base| *base = bases.last(*base));
            let used = |step: &Step| {
                let mut all: SmallVec<[u32; 8]> = SmallVec::new();
                arena::bases(step, &mut |b| {
                    if b >= buffers {
                        all.push(b);
                    }
                });
                all.sort_unstable();
                all.dedup();
                all
            };
            if used(&self.steps[i]) != used(&kept.steps[i]) {
                return Ok(None);
            }
        }
        let contiguous: Vec<bool> = self.inputs.iter().map(Meta::is_contiguous).collect();
        let mut plan = Plan {
            inputs: self.inputs.len(),
            buffers: kept.buffers.clone(),
            constants: self.constants,
            draws: self.draws,
            steps: self.steps,
            outputs,
            handles,
            reuses: Vec::new(),
            arena: kept.arena,
            counts: self.counts,
            fallbacks: self.fallbacks,
        };
        plan.reuses = reuse::find(&self.blob.module, &plan, &contiguous);
        Ok(Some(plan))
    }
}
