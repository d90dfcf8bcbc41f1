//! Execution of a bound kernel.
//!
//! Method: the work is numbered in units, blocks of rows (and, for element-wise kernels, of lanes), that threads
//! claim. A unit knows the address of each buffer's first lane; the steps then run over its rows, a pass of several
//! steps over a few at a time. A strip call covers all rows at hand, as one row where they are dense.

use super::super::arena::Scratch;
use super::super::par::{self, parts};
use super::super::reduce::{Acc, Moments};
use super::super::strip::{Arg, GROUP, Raw, StripFn};
use super::super::tier::isa;
use super::super::vm::Tile;
use super::copy::{Lanes, gather, scatter};
use super::{Code, Elem, ElemPhase, MapPlan, Nest, Phase, Place, ReducePlan, Share, value_bytes};
use smallvec::SmallVec;
use tensorplay_graph::{DType, Scalar};
use tensorplay_stax::kernel::{Kernel, Space};

/// What runs one map.
#[derive(Clone, Copy)]
enum Runner<'a> {
    Strip(StripFn),
    Tile(&'a Tile),
}

/// Pointers that threads share; the contract of [`Nest::run`] makes that sound.
#[derive(Clone, Copy)]
struct Shared<T>(T);
// SAFETY: operands are only read, and threads write disjoint parts of the outputs and of the shared area.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    fn get(&self) -> T {
        self.0
    }
}

/// One call of [`Nest::run`].
struct Call<'a> {
    nest: &'a Nest,
    runners: SmallVec<[Runner<'a>; 4]>,
    bases: SmallVec<[*mut u8; 8]>,
    params: SmallVec<[u64; 4]>,
}

/// A unit: the buffers of one block of rows.
struct Unit<'u, 'c> {
    call: &'u Call<'c>,
    /// For a direct or row-direct buffer, and for the tensor behind a tile: lane 0 of the first row.
    tensors: &'u [*mut u8],
    /// The rows at hand, of those of the block.
    first: usize,
    rows: usize,
    /// The block's area.
    shared: *mut u8,
}

/// A thread's tiles, which source fills each, and the maps' operands, set up but for the addresses.
struct Local<'a> {
    area: *mut u8,
    filled: SmallVec<[(*const u8, usize, usize, usize); 8]>,
    maps: SmallVec<[Args<'a>; 3]>,
}

/// # Safety
/// The contract of [`Nest::run`].
pub(super) unsafe fn run(
    nest: &Nest,
    kernel: &Kernel,
    code: Code<'_>,
    operands: &[*const u8],
    outputs: &[*mut u8],
    params: &[Scalar],
) {
    let emitted: Option<SmallVec<[Runner<'_>; 4]>> = match code {
        Code::Emitted(strips) => strips.iter().map(|s| s.function().map(Runner::Strip)).collect(),
        Code::Tile => None,
    };
    let runners = emitted.unwrap_or_else(|| {
        let tiles = kernel.maps().zip(&nest.tiles);
        tiles
            .map(|(m, tile)| match tile.get_or_init(|| Tile::new(&m.program)) {
                Ok(t) => Runner::Tile(t),
                Err(e) => panic!("kernel `{}`: {e}", kernel.name),
            })
            .collect()
    });
    let call = Call {
        nest,
        runners,
        bases: operands
            .iter()
            .map(|p| p.cast_mut())
            .chain(outputs.iter().copied())
            .collect(),
        params: params
            .iter()
            .zip(&nest.params)
            .map(|(s, d)| u64::from_ne_bytes(value_bytes(*s, *d)))
            .collect(),
    };
    let call = Shared(&call);
    if nest.flat {
        let Some(Phase::Elem(ElemPhase { steps, .. })) = nest.phases.first() else {
            return;
        };
        let Some(Elem::Map(map)) = steps.first() else {
            return;
        };
        return parts(nest.cost_ns, nest.units, |range| {
            let call = call.get();
            let (from, to) = (range.start * nest.chunk, (range.end * nest.chunk).min(nest.len));
            let mut args = Args::new(call, map);
            for (arg, b) in args.operands() {
                // SAFETY: lanes `from..to` are within every buffer, all of which are contiguous.
                arg.ptr = unsafe { call.bases[usize::from(b.buffer)].add(from * b.size) };
            }
            // SAFETY: the caller's contract.
            unsafe { args.call(1, to - from) };
        });
    }
    let whole_rows = nest.pieces > 1 && nest.units < 4 * par::threads();
    let go = |range: std::ops::Range<usize>| {
        let call = call.get();
        let (shared, local) = (Scratch::new(nest.shared), Scratch::new(nest.local));
        let mut local = Local::new(call, local.ptr());
        // not a vector a unit: moving one just written waits for all stores to the outputs before it
        let mut tensors = call.bases.clone();
        for at in &nest.bool_rows {
            // SAFETY: inside the area. The padding of Bool row tiles is read, so it must be 0 or 1.
            unsafe {
                shared
                    .ptr()
                    .add(*at)
                    .write_bytes(0, nest.block.next_multiple_of(GROUP))
            };
        }
        for u in range {
            // SAFETY: the caller's contract; the scratch has the bound sizes.
            unsafe { call.unit(u, shared.ptr(), &mut local, &mut tensors) };
        }
    };
    if whole_rows {
        // the pieces of each long row are shared out instead
        go(0..nest.units)
    } else {
        parts(nest.cost_ns, nest.units, go)
    }
}

impl<'a> Local<'a> {
    fn new(call: &'a Call<'_>, area: *mut u8) -> Local<'a> {
        let nest = call.nest;
        let mut maps = SmallVec::new();
        // in the order of their numbers
        for phase in &nest.phases {
            match phase {
                Phase::Row(map) => maps.push(Args::new(call, map)),
                Phase::Elem(p) => maps.extend(p.steps.iter().filter_map(|s| match s {
                    Elem::Map(map) => Some(Args::new(call, map)),
                    Elem::Reduce(_) => None,
                })),
            }
        }
        Local {
            area,
            filled: SmallVec::from_elem((std::ptr::null(), 0, 0, 0), nest.plans.len()),
            maps,
        }
    }
}

impl Call<'_> {
    /// # Safety
    /// The contract of [`Nest::run`]; `shared` and `local` have the sizes that were bound, `tensors` is as long as the bases.
    unsafe fn unit(&self, u: usize, shared: *mut u8, local: &mut Local<'_>, tensors: &mut [*mut u8]) {
        let nest = self.nest;
        let (rest, chunk) = (u / nest.chunks, u % nest.chunks);
        let (mut rest, block) = (rest / nest.blocks, rest % nest.blocks);
        let first = block * nest.block;
        let rows = nest.block.min(nest.rows - first);
        for ((t, base), plan) in tensors.iter_mut().zip(&self.bases).zip(&nest.plans) {
            // SAFETY: row `first` of the block is within the tensor.
            *t = unsafe { base.offset(first as isize * plan.row) };
        }
        for (axis, extent) in nest.outer.iter().enumerate().rev() {
            let i = (rest % extent) as isize;
            rest /= extent;
            for (t, plan) in tensors.iter_mut().zip(&nest.plans) {
                // SAFETY: index `i` of the axis is within the tensor.
                *t = unsafe { t.offset(i * plan.outer[axis]) };
            }
        }
        let unit = Unit {
            call: self,
            tensors,
            first: 0,
            rows,
            shared,
        };
        // SAFETY: the caller's contract.
        unsafe {
            if nest.rows_matter {
                unit.rows(local);
            } else {
                let from = chunk * nest.chunk;
                let to = (from + nest.chunk).min(nest.len);
                for phase in &nest.phases {
                    if let Phase::Elem(p) = phase {
                        unit.lanes(p, from..to, local, &mut []);
                    }
                }
            }
        }
    }
}

impl Unit<'_, '_> {
    /// The address of lane `from` of the first row of an element buffer as strips see it, and the distance of
    /// its rows; `from` is the chunk's first lane.
    #[inline]
    unsafe fn elem(&self, b: u16, from: usize, area: *mut u8) -> (*mut u8, usize) {
        let nest = self.call.nest;
        let plan = &nest.plans[usize::from(b)];
        // SAFETY: inside the tensor or the tile.
        let (start, pitch) = unsafe {
            match plan.place {
                Place::Direct => (
                    self.tensors[usize::from(b)].add(from * plan.size),
                    plan.row as usize,
                ),
                Place::Chunk { at, lone } => (area.add(at), if lone { 0 } else { nest.chunk * plan.size }),
                Place::Full { at } => (self.shared.add(at + from * plan.size), nest.len * plan.size),
                Place::RowTile { .. } => unreachable!("a row buffer read as elements"),
            }
        };
        (start.wrapping_add(self.first.wrapping_mul(pitch)), pitch)
    }

    /// The address of the first row's value of a row buffer, and the distance to the next.
    #[inline]
    unsafe fn row(&self, b: u16) -> (*mut u8, usize) {
        let plan = &self.call.nest.plans[usize::from(b)];
        let (start, step) = match plan.place {
            // SAFETY: inside the block's area.
            Place::RowTile { at } => (unsafe { self.shared.add(at) }, plan.size),
            _ => (self.tensors[usize::from(b)], plan.row as usize),
        };
        (start.wrapping_add(self.first.wrapping_mul(step)), step)
    }

    /// All phases of a block of rows.
    unsafe fn rows(&self, local: &mut Local<'_>) {
        let nest = self.call.nest;
        // SAFETY: the contract of `Nest::run`.
        unsafe {
            self.row_values(0..nest.operands, true);
            for phase in &nest.phases {
                match phase {
                    Phase::Row(map) => {
                        let args = &mut local.maps[map.number];
                        for (arg, b) in args.operands() {
                            arg.ptr = self.row(b.buffer).0;
                        }
                        // row tiles are padded to whole groups
                        args.call(1, self.rows.next_multiple_of(GROUP));
                    }
                    Phase::Elem(p) if nest.whole => self.whole(p, local),
                    Phase::Elem(p) => self.fold(p, local),
                }
            }
            self.row_values(nest.operands..nest.operands + nest.outputs, false);
        }
    }

    /// Fills (or writes back) the row tiles of some tensors.
    unsafe fn row_values(&self, tensors: std::ops::Range<usize>, read: bool) {
        for b in tensors {
            let plan = &self.call.nest.plans[b];
            if let Place::RowTile { at } = plan.place {
                let l = Lanes {
                    dims: &[self.rows],
                    strides: &[plan.row],
                    start: 0,
                    n: self.rows,
                };
                // SAFETY: the rows are in the tensor, and the tile has room for them.
                unsafe {
                    let (tile, tensor) = (self.shared.add(at), self.tensors[b]);
                    if read {
                        gather(plan.size, tensor, tile, 1, 0, 0, l);
                    } else {
                        scatter(plan.size, tile, tensor, 1, 0, 0, l);
                    }
                }
            }
        }
    }

    /// One pass over rows that are one chunk, as many at a time as the steps leave in L1 for each other.
    unsafe fn whole(&self, phase: &ElemPhase, local: &mut Local<'_>) {
        let n = self.call.nest.len;
        let abreast = match phase.steps.len() {
            1 => self.rows,
            _ => self.call.nest.abreast,
        };
        // SAFETY: the contract of `Nest::run`.
        unsafe {
            self.tiles(phase, 0, n, local, true);
            for first in (0..self.rows).step_by(abreast) {
                let rows = abreast.min(self.rows - first);
                let part = Unit { first, rows, ..*self };
                for step in &phase.steps {
                    match step {
                        Elem::Map(map) if first > 0 => local.maps[map.number].advance(abreast, rows, n),
                        Elem::Map(map) => part.map(map, 0, n, local),
                        Elem::Reduce(r) => part.reduce(r, n, local),
                    }
                }
            }
            self.tiles(phase, 0, n, local, false);
        }
    }

    /// One fold of rows that are one chunk.
    unsafe fn reduce(&self, r: &ReducePlan, n: usize, local: &Local<'_>) {
        let (fold, start) = (r.folder.chunk(), r.folder.start());
        // SAFETY: the contract of `Nest::run`; the area has room for the moments of all rows.
        unsafe {
            let (src, pitch) = self.elem(r.src, 0, local.area);
            let (dst, step) = self.row(r.dst);
            let moments = |at: usize| self.shared.add(at).cast::<Moments>().add(self.first);
            if let Share::Give { at, fns } = r.share {
                fns[isa() as usize](src, pitch, self.rows, n, moments(at));
            }
            for row in 0..self.rows {
                let known = match r.share {
                    Share::No => None,
                    Share::Give { at, .. } => Some((*moments(at).add(row)).sum),
                    Share::Take { at } => (*moments(at).add(row)).around(self.center(r, row), n),
                };
                let mut acc = start;
                match known {
                    Some(f) => acc.know(f),
                    None => {
                        let src = src.wrapping_add(row.wrapping_mul(pitch));
                        fold(src, n, 0, self.center(r, row), &mut acc);
                    }
                }
                let dst = dst.wrapping_add(row.wrapping_mul(step));
                r.folder.store(&acc, r.dtype, dst);
            }
        }
    }

    /// What a fold subtracts from the elements of a row.
    #[inline]
    unsafe fn center(&self, r: &ReducePlan, row: usize) -> f64 {
        r.center.map_or(0.0, |(c, dtype)| {
            // SAFETY: the row belongs to the block.
            unsafe {
                let (p, step) = self.row(c);
                read_f64(p.wrapping_add(row.wrapping_mul(step)), dtype)
            }
        })
    }

    /// One pass over the rows, and the results of its folds.
    unsafe fn fold(&self, phase: &ElemPhase, local: &mut Local<'_>) {
        let nest = self.call.nest;
        let folds: SmallVec<[&ReducePlan; 4]> = phase
            .steps
            .iter()
            .filter_map(|s| match s {
                Elem::Reduce(r) => Some(r),
                Elem::Map(_) => None,
            })
            .collect();
        // states: [piece][fold][row]
        let width = folds.len() * nest.block;
        // SAFETY: the area has room for the states of all pieces; every state is written before it is read.
        unsafe {
            let states = self.shared.add(nest.accs).cast::<Acc>();
            for piece in 0..nest.pieces {
                for (f, r) in folds.iter().enumerate() {
                    for row in 0..self.rows {
                        states
                            .add(piece * width + f * nest.block + row)
                            .write(r.folder.start());
                    }
                }
            }
            let of = |piece: usize| std::slice::from_raw_parts_mut(states.add(piece * width), width);
            if nest.pieces == 1 {
                self.lanes(phase, 0..nest.len, local, of(0));
            } else {
                let run = |pieces: std::ops::Range<usize>, local: &mut Local<'_>| {
                    for p in pieces {
                        let lanes = p * nest.piece..((p + 1) * nest.piece).min(nest.len);
                        self.lanes(phase, lanes, local, of(p));
                    }
                };
                if nest.units < 4 * par::threads() {
                    let this = Shared((self, &run));
                    parts(nest.cost_ns / nest.units as u64, nest.pieces, |pieces| {
                        let (unit, run) = this.get();
                        let area = Scratch::new(nest.local);
                        run(pieces, &mut Local::new(unit.call, area.ptr()));
                    });
                } else {
                    run(0..nest.pieces, local);
                }
            }
            for (f, r) in folds.iter().enumerate() {
                let (dst, step) = self.row(r.dst);
                for row in 0..self.rows {
                    let state = |p: usize| states.add(p * width + f * nest.block + row);
                    let mut total = *state(0);
                    for p in 1..nest.pieces {
                        r.folder.merge(&mut total, *state(p));
                    }
                    r.folder.store(&total, r.dtype, dst.add(row * step));
                }
            }
        }
    }

    /// The steps of a pass over some lanes of the rows, chunk by chunk.
    unsafe fn lanes(
        &self,
        phase: &ElemPhase,
        lanes: std::ops::Range<usize>,
        local: &mut Local<'_>,
        states: &mut [Acc],
    ) {
        let nest = self.call.nest;
        let mut from = lanes.start;
        while from < lanes.end {
            let n = nest.chunk.min(lanes.end - from);
            // SAFETY: the contract of `Nest::run`; the chunk is within the row.
            unsafe {
                self.tiles(phase, from, n, local, true);
                let mut folds = 0;
                for step in &phase.steps {
                    match step {
                        Elem::Map(map) => self.map(map, from, n, local),
                        Elem::Reduce(r) => {
                            let states = &mut states[folds * nest.block..];
                            folds += 1;
                            let (mut src, pitch) = self.elem(r.src, from, local.area);
                            let fold = r.folder.chunk();
                            for (row, state) in states.iter_mut().take(self.rows).enumerate() {
                                fold(src, n, from as i64, self.center(r, row), state);
                                src = src.wrapping_add(pitch);
                            }
                        }
                    }
                }
                self.tiles(phase, from, n, local, false);
            }
            from += n;
        }
    }

    /// Fills the tiles of operands, or writes back those of outputs, that the pass touches.
    unsafe fn tiles(&self, phase: &ElemPhase, from: usize, n: usize, local: &mut Local<'_>, read: bool) {
        let nest = self.call.nest;
        let each = |b: usize, local: &mut Local<'_>| {
            let plan = &nest.plans[b];
            let (Place::Chunk { .. } | Place::Full { .. }) = plan.place else {
                return;
            };
            let l = Lanes {
                dims: &nest.lanes,
                strides: &plan.lane,
                start: from,
                n,
            };
            let rows = if matches!(plan.place, Place::Chunk { lone: true, .. }) {
                1
            } else {
                self.rows
            };
            // SAFETY: the chunk is within the tensor, and the tile has room for it.
            unsafe {
                let (tile, pitch) = self.elem(b as u16, from, local.area);
                let tensor = self.tensors[b];
                if !read {
                    return scatter(plan.size, tile, tensor, rows, plan.row, pitch, l);
                }
                if matches!(plan.place, Place::Chunk { .. }) {
                    let key = (tensor.cast_const(), from, rows, n);
                    if std::mem::replace(&mut local.filled[b], key) == key {
                        return;
                    }
                }
                gather(plan.size, tensor, tile, rows, plan.row, pitch, l);
            }
        };
        for b in if read { &phase.gathers } else { &phase.scatters } {
            each(usize::from(*b), local);
        }
    }

    /// One map over `n` lanes of all rows.
    unsafe fn map(&self, map: &MapPlan, from: usize, n: usize, local: &mut Local<'_>) {
        let area = local.area;
        let args = &mut local.maps[map.number];
        let mut dense = true;
        // SAFETY: the contract of `Nest::run`; every address belongs to a row of the block.
        unsafe {
            for (arg, b) in args.operands() {
                let row_space = self.call.nest.plans[usize::from(b.buffer)].space == Space::Row;
                let (ptr, step) = if row_space {
                    self.row(b.buffer)
                } else {
                    self.elem(b.buffer, from, area)
                };
                dense &= !b.splat && step == n * b.size;
                (arg.ptr, arg.step) = (ptr, step as isize);
            }
            args.dense = dense;
            args.rows(self.rows, n);
        }
    }
}

/// The operands of a strip call under construction.
struct Args<'a> {
    runner: Runner<'a>,
    map: &'a MapPlan,
    /// Inputs, params, outputs.
    all: SmallVec<[Arg; 12]>,
    /// Whether every row follows the one before without a gap.
    dense: bool,
}

impl<'a> Args<'a> {
    fn new(call: &'a Call<'_>, map: &'a MapPlan) -> Self {
        let arg = |ptr| Arg { ptr, step: 0 };
        let null = std::ptr::null();
        let mut all = SmallVec::new();
        all.extend(map.inputs.iter().map(|_| arg(null)));
        for p in &map.params {
            all.push(arg((&raw const call.params[usize::from(*p)]).cast()));
        }
        all.extend(map.outputs.iter().map(|_| arg(null)));
        Args {
            runner: call.runners[map.number],
            map,
            all,
            dense: false,
        }
    }

    /// The rows after the `past` ones that the last call was about.
    ///
    /// # Safety
    /// As [`call`](Self::call).
    unsafe fn advance(&mut self, past: usize, rows: usize, n: usize) {
        for arg in &mut self.all {
            arg.ptr = arg.row(past);
        }
        // SAFETY: the caller's contract.
        unsafe { self.rows(rows, n) }
    }

    /// # Safety
    /// As [`call`](Self::call).
    unsafe fn rows(&self, rows: usize, n: usize) {
        let (rows, n) = if self.dense { (1, n * rows) } else { (rows, n) };
        // SAFETY: the caller's contract.
        unsafe { self.call(rows, n) }
    }

    /// Inputs (without params) and outputs, with what they are.
    fn operands(&mut self) -> impl Iterator<Item = (&mut Arg, &'a super::Input)> {
        let (inputs, rest) = self.all.split_at_mut(self.map.inputs.len());
        let outputs = &mut rest[self.map.params.len()..];
        inputs
            .iter_mut()
            .zip(&self.map.inputs)
            .chain(outputs.iter_mut().zip(&self.map.outputs))
    }

    /// # Safety
    /// The contract of [`StripFn`] for `n` lanes of so many rows.
    unsafe fn call(&self, rows: usize, n: usize) {
        let raw = |n| Raw {
            operands: &self.all,
            rows,
            n,
        };
        // SAFETY: the caller's contract.
        unsafe {
            match self.runner {
                Runner::Tile(t) => t.run(&raw(n)),
                Runner::Strip(f) => {
                    let whole = n & !(GROUP - 1);
                    if whole > 0 {
                        f(&raw(whole));
                    }
                    if whole < n {
                        self.tail(f, rows, n);
                    }
                }
            }
        }
    }

    /// The lanes after the last whole group: the last group is computed again, or, where there is none or an output
    /// is updated, they are computed on padded copies.
    ///
    /// # Safety
    /// As [`call`](Self::call).
    #[inline(never)]
    unsafe fn tail(&self, f: StripFn, rows: usize, n: usize) {
        let (map, params) = (self.map, self.map.params.len());
        let mut copy = self.all.clone();
        // the operands that have lanes: where each is, and the size of its elements
        let read = map.inputs.iter().enumerate().filter(|(_, i)| !i.splat);
        let written = map.outputs.iter().enumerate();
        let read = read.map(|(k, i)| (k, i.size));
        let written = written.map(|(k, o)| (map.inputs.len() + params + k, o.size));
        // SAFETY: the caller's contract; padded copies have room for a group of the largest element.
        unsafe {
            if n > GROUP && !map.updates {
                for (k, size) in read.chain(written) {
                    copy[k].ptr = copy[k].ptr.add((n - GROUP) * size);
                }
                return f(&Raw {
                    operands: &copy,
                    rows,
                    n: GROUP,
                });
            }
            let pad = Scratch::new(copy.len() * GROUP * 8);
            let place = |k: usize| pad.ptr().add(k * GROUP * 8);
            let first = n & !(GROUP - 1);
            let n = n - first;
            for row in 0..rows {
                let from = |k: usize, size: usize| self.all[k].row(row).add(first * size);
                for (k, arg) in copy.iter_mut().enumerate() {
                    arg.ptr = self.all[k].row(row);
                }
                let updated = written.clone().take(usize::from(map.updates));
                for (k, size) in read.clone().chain(updated) {
                    let to = place(k);
                    to.copy_from_nonoverlapping(from(k, size), n * size);
                    to.add(n * size).write_bytes(0, (GROUP - n) * size);
                }
                for (k, _) in read.clone().chain(written.clone()) {
                    copy[k].ptr = place(k);
                }
                f(&Raw {
                    operands: &copy,
                    rows: 1,
                    n: GROUP,
                });
                for (k, size) in written.clone() {
                    from(k, size).copy_from_nonoverlapping(place(k), n * size);
                }
            }
        }
    }
}

/// # Safety
/// `p` is one readable element of `dtype`.
unsafe fn read_f64(p: *const u8, dtype: DType) -> f64 {
    // SAFETY: the caller's contract.
    unsafe {
        match dtype {
            DType::F32 => f64::from(*p.cast::<f32>()),
            DType::F64 => *p.cast::<f64>(),
            DType::F16 => f64::from(*p.cast::<half::f16>()),
            DType::BF16 => f64::from(*p.cast::<half::bf16>()),
            DType::I32 => f64::from(*p.cast::<i32>()),
            DType::I64 => *p.cast::<i64>() as f64,
            DType::U8 => f64::from(*p),
            DType::Bool => f64::from(*p),
        }
    }
}
