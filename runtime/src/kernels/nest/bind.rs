//! Binding: from a kernel, shapes and strides to the loop structure of a [`Nest`].

use super::super::par::threads;
use super::super::reduce::{Folder, Moments, moments};
use super::super::strip::GROUP;
use super::{Elem, Input, MapPlan, Nest, Phase, Place, Plan, ReducePlan, Share, View};
use smallvec::SmallVec;
use std::sync::OnceLock;
use tensorplay_graph::{DType, Op};
use tensorplay_stax::kernel::{Access, Buf, Buffer, Kernel, LaneOp, Map, Program, ReduceKind, Space, Step};

/// Bytes of L1 that a block's rows and tiles may take.
const L1: usize = 48 << 10;
/// Bytes of L2 that a block's rows may take where they have no tiles.
const L2: usize = 512 << 10;
/// Bytes of L1 that the rows of a pass of several steps may take at a time: of the 32 KiB that every L1 has.
const PASS: usize = 24 << 10;
/// Lanes of a chunk of a long row: whole blocks of the reducers.
const CHUNK: usize = 4096;
/// Rows are folded in pieces of this many lanes once they have twice as many.
const PIECE: usize = 1 << 16;
/// Rows shorter than this are made dense, so that one call covers a block of them.
const SHORT: usize = 128;

type Dims = SmallVec<[usize; 6]>;
type Strides = SmallVec<[isize; 6]>;

/// Axes under construction: an extent and each buffer's stride in bytes.
struct Axes {
    extents: Dims,
    /// `strides[buffer][axis]`; absent for buffers that do not have these axes.
    strides: Vec<Option<Strides>>,
}

impl Axes {
    /// The axes `range` of the iteration space; `strides` gives a buffer's element strides over them.
    fn new(extents: &[usize], strides: impl Iterator<Item = Option<Strides>>) -> Axes {
        let keep = |i: &usize| extents[*i] != 1;
        Axes {
            extents: (0..extents.len()).filter(keep).map(|i| extents[i]).collect(),
            strides: strides
                .map(|s| s.map(|s| (0..extents.len()).filter(keep).map(|i| s[i]).collect()))
                .collect(),
        }
    }

    fn permute(&mut self, order: &[usize]) {
        self.extents = order.iter().map(|&i| self.extents[i]).collect();
        for s in self.strides.iter_mut().flatten() {
            *s = order.iter().map(|&i| s[i]).collect();
        }
    }

    /// Puts the axes in the memory order of one buffer, widest stride first.
    fn order_by(&mut self, buffer: usize) {
        if let Some(s) = self.strides[buffer].clone() {
            let mut order: SmallVec<[usize; 6]> = (0..s.len()).collect();
            order.sort_by_key(|&i| std::cmp::Reverse(s[i].unsigned_abs()));
            self.permute(&order);
        }
    }

    /// Merges adjacent axes that are one for every buffer.
    fn collapse(&mut self) {
        let mut i = 1;
        while i < self.extents.len() {
            let n = self.extents[i] as isize;
            if self.strides.iter().flatten().all(|s| s[i - 1] == s[i] * n) {
                let outer = self.extents.remove(i - 1);
                self.extents[i - 1] *= outer;
                for s in self.strides.iter_mut().flatten() {
                    s.remove(i - 1);
                }
            } else {
                i += 1;
            }
        }
    }

    /// Takes an axis out: its extent and strides (0 where a buffer lacks it).
    fn take(&mut self, axis: usize) -> (usize, Vec<isize>) {
        let extent = self.extents.remove(axis);
        (
            extent,
            self.strides
                .iter_mut()
                .map(|s| s.as_mut().map_or(0, |s| s.remove(axis)))
                .collect(),
        )
    }
}

pub(super) fn bind(
    kernel: &Kernel,
    shape: &[usize],
    reduced: usize,
    operands: &[View],
    outputs: &[View],
) -> Nest {
    assert_eq!(
        (operands.len(), outputs.len()),
        (kernel.operands.len(), kernel.outputs.len()),
        "views of a kernel"
    );
    let rows_matter = kernel.has_rows();
    let split = if rows_matter { shape.len() - reduced } else { 0 };
    let buffers: Vec<&Buffer> = kernel
        .operands
        .iter()
        .chain(&kernel.outputs)
        .chain(&kernel.scratch)
        .collect();
    let tensors = operands.len() + outputs.len();
    let bytes = |b: usize, from: usize, to: usize| -> Option<Strides> {
        let view = operands.iter().chain(outputs).nth(b)?;
        let size = buffers[b].dtype.size() as isize;
        Some(view.strides[from..to].iter().map(|s| s * size).collect())
    };
    // the axes of rows (all buffers have them) and those of lanes (element buffers only)
    let mut outer = Axes::new(&shape[..split], (0..buffers.len()).map(|b| bytes(b, 0, split)));
    let mut lanes = Axes::new(
        &shape[split..],
        (0..buffers.len()).map(|b| match buffers[b].space {
            Space::Elem => bytes(b, split, shape.len()),
            Space::Row => None,
        }),
    );
    let has_arg = kernel
        .steps
        .iter()
        .any(|s| matches!(s, Step::Reduce(r) if matches!(r.kind, ReduceKind::ArgMax | ReduceKind::ArgMin)));
    // memory order: that of the first output with elements, else of the first operand that has them
    let elem = |b: &usize| buffers[*b].space == Space::Elem;
    let reference = (operands.len()..tensors)
        .find(elem)
        .or_else(|| (0..operands.len()).find(elem))
        .unwrap_or(0);
    if tensors > 0 {
        outer.order_by(reference);
        if !has_arg {
            lanes.order_by(reference);
        }
    }
    outer.collapse();
    lanes.collapse();
    if !rows_matter {
        // element-wise: the last axis is the lanes, the others are outer
        outer = Axes {
            extents: lanes.extents.clone(),
            strides: lanes.strides.clone(),
        };
        lanes = Axes {
            extents: Dims::new(),
            strides: lanes
                .strides
                .iter()
                .map(|s| s.as_ref().map(|_| Strides::new()))
                .collect(),
        };
        if let Some(last) = outer.extents.len().checked_sub(1) {
            let (extent, strides) = outer.take(last);
            lanes.extents.push(extent);
            for (l, s) in lanes.strides.iter_mut().zip(strides) {
                if let Some(l) = l {
                    l.push(s);
                }
            }
        }
    }
    let len: usize = lanes.extents.iter().product();
    let dense = |b: usize| -> bool {
        let s = lanes.strides[b].as_ref();
        len <= 1 || s.is_some_and(|s| s.len() == 1 && s[0] == buffers[b].dtype.size() as isize)
    };
    let strided = |b: usize| {
        elem(&b)
            && !dense(b)
            && lanes.strides[b]
                .as_ref()
                .is_some_and(|s| s.iter().any(|v| *v != 0))
    };
    // the row axis: where a strided tensor is contiguous, else the innermost
    let row_axis = (0..tensors)
        .filter(|b| strided(*b))
        .find_map(|b| {
            outer.strides[b]
                .as_ref()?
                .iter()
                .position(|s| *s == buffers[b].dtype.size() as isize)
        })
        .or(outer.extents.len().checked_sub(1));
    let (rows, row_strides) = row_axis.map_or((1, vec![0; buffers.len()]), |a| outer.take(a));

    let mut steps = phases(kernel);
    let phase_count = steps.len();
    let touched = |b: usize| -> (usize, usize, usize) {
        // first phase, last phase, number of phases that touch the buffer
        let used: Vec<usize> = (0..phase_count).filter(|p| steps[*p].touches(b)).collect();
        (
            used.first().copied().unwrap_or(0),
            used.last().copied().unwrap_or(0),
            used.len(),
        )
    };
    let short = !rows_matter && len < SHORT && rows > 1;
    let tiled = |b: usize| -> bool {
        elem(&b)
            && (b >= tensors
                || !dense(b)
                || (short && row_strides[b] != (len * buffers[b].dtype.size()) as isize))
    };
    let tile_bytes: usize = (0..buffers.len())
        .filter(|b| tiled(*b))
        .map(|b| buffers[b].dtype.size())
        .sum();
    // operands that are the same in all rows take room once
    let varies = |b: &usize| *b >= operands.len() || row_strides[*b] != 0;
    let (mut all_bytes, mut same_bytes) = (0, 0);
    for b in (0..buffers.len()).filter(elem) {
        *(if varies(&b) {
            &mut all_bytes
        } else {
            &mut same_bytes
        }) += buffers[b].dtype.size();
    }
    let transposed = (0..tensors).any(|b| tiled(b) && strided(b));
    // rows of a block and lanes of a chunk
    let (block, chunk) = if rows_matter {
        let row_bytes = (len * all_bytes).max(1);
        let fit = L1.saturating_sub(len * same_bytes) / row_bytes;
        // what is between two passes is latency, of all rows of a block at once: rows without tiles may come from L2
        let fit = match tile_bytes {
            0 if len <= CHUNK => fit.max((L2 / row_bytes).min(rows.div_ceil(4 * threads()))),
            _ => fit,
        };
        // several rows at a time, if their tiles stay in L2
        let one_pass = (0..buffers.len())
            .filter(|b| tiled(*b))
            .all(|b| touched(b).2 <= 1);
        let abreast = transposed && (one_pass || len * 16 * tile_bytes <= 512 << 10);
        let chunk = if abreast { CHUNK / 4 } else { CHUNK };
        (
            (if abreast { fit.max(16) } else { fit })
                .clamp(1, 64)
                .min(rows.max(1)),
            len.min(chunk),
        )
    } else if tile_bytes == 0 {
        // long rows are cut only to have something to share out
        let chunk = len.min(1 << 15);
        ((1 << 14) / chunk.max(1), chunk)
    } else if short {
        (L1 / (len * tile_bytes).max(1), len)
    } else {
        let rows_wanted = if transposed { 32 } else { 8 };
        let chunk = L1 / (rows_wanted.min(rows.max(1)) * tile_bytes) / 64 * 64;
        (rows_wanted, len.min(chunk.max(64)))
    };
    let block = block.max(1).min(rows.max(1));
    let abreast = match tile_bytes {
        0 => (PASS / (len * all_bytes).max(1)).clamp(1, block),
        _ => block,
    };
    let pieces = if rows_matter && len >= 2 * PIECE {
        len.div_ceil(PIECE).min(1024)
    } else {
        1
    };
    let piece = len.div_ceil(pieces).next_multiple_of(CHUNK);
    let pieces = if pieces > 1 { len.div_ceil(piece) } else { 1 };

    // places of buffers, and room for tiles
    // half a page off: a tile's stores must not look like the loads of a page-aligned tensor's next lanes
    let (mut shared, mut local) = (2048usize, 2048usize);
    let room = |area: &mut usize, bytes: usize| {
        let at = *area;
        *area += bytes.next_multiple_of(64) + 64;
        at
    };
    let mut plans = Vec::with_capacity(buffers.len());
    let mut bool_rows = SmallVec::new();
    for (b, buffer) in buffers.iter().enumerate() {
        let size = buffer.dtype.size();
        let tensor = b < tensors;
        let (first, last, count) = touched(b);
        let place = if buffer.space == Space::Row {
            let at = room(&mut shared, block.next_multiple_of(GROUP) * size);
            if buffer.dtype == DType::Bool {
                bool_rows.push(at);
            }
            Place::RowTile { at }
        } else if !tiled(b) {
            Place::Direct
        } else if rows_matter && len > chunk && (count > 1 || first != last) {
            Place::Full {
                at: room(&mut shared, block * len * size),
            }
        } else {
            let lone = tensor && b < operands.len() && row_strides[b] == 0 && !short;
            Place::Chunk {
                at: room(&mut local, if lone { 1 } else { block } * chunk * size),
                lone,
            }
        };
        plans.push(Plan {
            size,
            space: buffer.space,
            outer: outer.strides[b]
                .clone()
                .unwrap_or_else(|| SmallVec::from_elem(0, outer.extents.len())),
            row: row_strides[b],
            lane: lanes.strides[b].clone().unwrap_or_default(),
            place,
        });
    }
    let pass_tiles = |p: usize, range: std::ops::Range<usize>, steps: &[Phase]| -> SmallVec<[u16; 4]> {
        let tile = |b: &usize| matches!(plans[*b].place, Place::Chunk { .. } | Place::Full { .. });
        let outputs_only = range.start > 0 || operands.is_empty();
        range
            .filter(|b| {
                tile(b)
                    && if outputs_only {
                        // an output that is updated is written back once
                        steps[p].writes(*b) && !steps[p + 1..].iter().any(|s| s.writes(*b))
                    } else {
                        steps[p].touches(*b)
                    }
            })
            .map(|b| b as u16)
            .collect()
    };
    for p in 0..steps.len() {
        let gathers = pass_tiles(p, 0..operands.len(), &steps);
        let scatters = pass_tiles(p, operands.len()..tensors, &steps);
        if let Phase::Elem(phase) = &mut steps[p] {
            (phase.gathers, phase.scatters) = (gathers, scatters);
        }
    }
    let whole = rows_matter && pieces == 1 && (1..=chunk).contains(&len);
    if whole {
        share_moments(&mut steps, &buffers, || {
            room(&mut shared, block * size_of::<Moments>())
        });
    }
    let reduces = steps.iter().map(|p| p.reduces()).max().unwrap_or(0);
    let accs = room(
        &mut shared,
        reduces * block * pieces * size_of::<super::super::reduce::Acc>(),
    );
    let blocks = rows.div_ceil(block);
    let outer_count: usize = outer.extents.iter().product();
    let chunks = if rows_matter {
        1
    } else {
        len.div_ceil(chunk.max(1))
    };
    let picos = cost(kernel);
    let flat = !rows_matter
        && kernel.steps.len() == 1
        && rows == 1
        && outer.extents.is_empty()
        && plans.iter().all(|p| matches!(p.place, Place::Direct));
    Nest {
        phases: steps,
        operands: operands.len(),
        outputs: outputs.len(),
        rows_matter,
        outer: outer.extents,
        rows,
        lanes: lanes.extents,
        len,
        plans,
        block,
        abreast,
        chunk,
        piece,
        pieces,
        whole,
        units: outer_count * blocks * chunks,
        blocks,
        chunks,
        shared,
        local,
        accs,
        bool_rows,
        flat,
        cost_ns: (outer_count as u64 * rows as u64 * len as u64).saturating_mul(picos) / 1000,
        params: kernel.params.iter().map(|p| p.dtype).collect(),
        tiles: kernel.maps().map(|_| OnceLock::new()).collect(),
    }
}

/// Picoseconds a lane.
fn cost(kernel: &Kernel) -> u64 {
    let program = |p: &Program| -> u64 {
        p.insts
            .iter()
            .map(|i| match i.op {
                LaneOp::Const(_) => 0,
                LaneOp::Op(
                    Op::Add
                    | Op::Sub
                    | Op::Mul
                    | Op::Neg
                    | Op::Abs
                    | Op::Square
                    | Op::Relu
                    | Op::Maximum
                    | Op::Minimum
                    | Op::Eq
                    | Op::Ne
                    | Op::Lt
                    | Op::Le
                    | Op::Gt
                    | Op::Ge
                    | Op::WhereCond
                    | Op::Clamp
                    | Op::ClampMin
                    | Op::ClampMax
                    | Op::LogicalAnd
                    | Op::LogicalOr
                    | Op::LogicalNot,
                )
                | LaneOp::Fmuladd
                | LaneOp::Cast
                | LaneOp::RoundF16
                | LaneOp::RoundBF16 => 30,
                LaneOp::Op(Op::Div | Op::Sqrt | Op::Rsqrt | Op::Reciprocal) => 120,
                LaneOp::Op(_) => 350,
            })
            .sum()
    };
    let steps: u64 = kernel
        .steps
        .iter()
        .map(|s| match s {
            Step::Map(m) if m.space == Space::Elem => program(&m.program),
            Step::Map(_) => 0,
            Step::Reduce(_) => 30,
        })
        .sum();
    let memory: usize = kernel
        .operands
        .iter()
        .chain(&kernel.outputs)
        .map(|b| b.dtype.size())
        .sum();
    steps + 15 * memory as u64
}

/// Groups the steps into passes over the rows: a pass ends where a step needs what the pass still folds.
fn phases(kernel: &Kernel) -> Vec<Phase> {
    let index = |b: Buf| -> u16 {
        match b {
            Buf::Operand(i) => i,
            Buf::Output(i) => kernel.operands.len() as u16 + i,
            Buf::Scratch(i) => (kernel.operands.len() + kernel.outputs.len()) as u16 + i,
        }
    };
    let mut phases: Vec<Phase> = vec![];
    let mut map_number = 0;
    for step in &kernel.steps {
        match step {
            Step::Map(m) => {
                let plan = map_plan(m, map_number, index);
                map_number += 1;
                if m.space == Space::Row {
                    phases.push(Phase::Row(plan));
                } else {
                    let needs = plan.inputs.iter().any(|i| folded(phases.last(), i.buffer));
                    elem_phase(&mut phases, needs).steps.push(Elem::Map(plan));
                }
            }
            Step::Reduce(r) => {
                let source = kernel.buffer(r.src).dtype;
                let center = match r.kind {
                    ReduceKind::SumSquares { center: Some(c) } => Some((index(c), kernel.buffer(c).dtype)),
                    _ => None,
                };
                let plan = ReducePlan {
                    folder: Folder::new(r.kind, source),
                    src: index(r.src),
                    dst: index(r.dst),
                    dtype: kernel.buffer(r.dst).dtype,
                    center,
                    share: Share::No,
                };
                let needs = center.is_some_and(|(c, _)| folded(phases.last(), c));
                elem_phase(&mut phases, needs).steps.push(Elem::Reduce(plan));
            }
        }
    }
    phases
}

/// Lets the squares around a row value take them from a sum of the same rows, where one comes before.
fn share_moments(phases: &mut [Phase], buffers: &[&Buffer], mut room: impl FnMut() -> usize) {
    for p in 1..phases.len() {
        let (before, rest) = phases.split_at_mut(p);
        for squares in rest[0].folds() {
            if squares.center.is_none() || squares.folder.kind() == ReduceKind::Sum {
                continue;
            }
            let sum = before
                .iter_mut()
                .flat_map(Phase::folds)
                .find(|r| r.folder.kind() == ReduceKind::Sum && r.src == squares.src);
            let (Some(sum), Some(fns)) = (sum, moments(buffers[usize::from(squares.src)].dtype)) else {
                continue;
            };
            let at = match sum.share {
                Share::Give { at, .. } => at,
                _ => room(),
            };
            sum.share = Share::Give { at, fns };
            squares.share = Share::Take { at };
        }
    }
}

/// Whether the pass still folds into that buffer.
fn folded(phase: Option<&Phase>, buffer: u16) -> bool {
    match phase {
        Some(Phase::Elem(p)) => p
            .steps
            .iter()
            .any(|s| matches!(s, Elem::Reduce(r) if r.dst == buffer)),
        _ => false,
    }
}

fn elem_phase(phases: &mut Vec<Phase>, fresh: bool) -> &mut super::ElemPhase {
    if fresh || !matches!(phases.last(), Some(Phase::Elem(_))) {
        phases.push(Phase::Elem(super::ElemPhase {
            steps: vec![],
            gathers: SmallVec::new(),
            scatters: SmallVec::new(),
        }));
    }
    match phases.last_mut() {
        Some(Phase::Elem(p)) => p,
        _ => unreachable!("an element pass was just pushed"),
    }
}

fn map_plan(m: &Map, number: usize, index: impl Fn(Buf) -> u16) -> MapPlan {
    // a row map sees its row buffers as lanes
    MapPlan {
        number,
        inputs: m
            .program
            .inputs
            .iter()
            .zip(&m.inputs)
            .filter(|(i, _)| i.access != Access::Update)
            .map(|(i, b)| Input {
                buffer: index(*b),
                splat: i.access == Access::Splat,
                size: i.dtype.size(),
            })
            .collect(),
        params: m.params.iter().copied().collect(),
        outputs: m
            .program
            .outputs
            .iter()
            .zip(&m.outputs)
            .map(|(o, b)| Input {
                buffer: index(*b),
                splat: false,
                size: o.dtype.size(),
            })
            .collect(),
        updates: m.program.updates(),
    }
}

/// The bytes of a host scalar as a compute type.
pub(crate) fn value_bytes(s: tensorplay_graph::Scalar, dtype: DType) -> [u8; 8] {
    let mut out = [0; 8];
    let mut put = |b: &[u8]| out[..b.len()].copy_from_slice(b);
    match dtype {
        DType::F32 => put(&match s {
            tensorplay_graph::Scalar::Int(i) => i as f32,
            s => s.to_f64() as f32,
        }
        .to_ne_bytes()),
        DType::F64 => put(&s.to_f64().to_ne_bytes()),
        DType::F16 => put(&half::f16::from_f64(s.to_f64()).to_ne_bytes()),
        DType::BF16 => put(&half::bf16::from_f64(s.to_f64()).to_ne_bytes()),
        DType::I32 => put(&match s {
            tensorplay_graph::Scalar::Float(v) => v as i32,
            s => s.to_i64() as i32,
        }
        .to_ne_bytes()),
        DType::I64 => put(&s.to_i64().to_ne_bytes()),
        DType::U8 => put(&match s {
            tensorplay_graph::Scalar::Float(v) => v as u8,
            s => s.to_i64() as u8,
        }
        .to_ne_bytes()),
        DType::Bool => put(&[u8::from(match s {
            tensorplay_graph::Scalar::Float(v) => v != 0.0,
            s => s.to_i64() != 0,
        })]),
    }
    out
}
