//! Execution: walks a plan's steps over the memory of one call.

use super::bind::host_error;
use super::reuse::{self, Reuse};
use super::{Buffer, CallScalars, KernelStep, Param, Place, Plan, Results, Step, check, reserve};
use crate::error::panic_message;
use crate::kernels::gemm;
use crate::kernels::nest::Code;
use crate::layout::Layout;
use crate::storage::{Storage, alignment};
use crate::tensor::copy::strided_copy;
use crate::tensor::{StorageRef, create};
use crate::{Error, Result, Tensor, random};
use smallvec::SmallVec;
use std::alloc;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use tensorplay_graph::{Host, HostError, Op, Scalar};
use tensorplay_stax::kernel::{LaneOp, Map};

type Bases = SmallVec<[*mut u8; 24]>;

/// The inputs' values. A variable that is passed more than once is read once.
fn read_once<'a>(inputs: &[&'a Tensor]) -> SmallVec<[StorageRef<'a>; 8]> {
    let mut held: SmallVec<[StorageRef<'a>; 8]> = SmallVec::with_capacity(inputs.len());
    for (i, t) in inputs.iter().enumerate() {
        let earlier = if t.is_variable() {
            inputs[..i].iter().position(|u| t.same_variable(u))
        } else {
            None
        };
        let value = match earlier {
            Some(j) => held[j].clone(),
            None => t.value(),
        };
        held.push(value);
    }
    held
}

impl Plan {
    /// Runs the plan on tensors whose metadata is the one it was bound to.
    pub(crate) fn run(&self, inputs: &[&Tensor], scalars: &[Host]) -> Result<Results> {
        self.run_with(inputs, scalars, &[])
    }

    /// The same where the inputs that the path assigns are lent for the call: nobody else reaches these handles until it
    /// returns. An output may then lie where its input did.
    ///
    /// # Safety
    /// That is so.
    pub(crate) unsafe fn run_lent(&self, inputs: &[&Tensor], scalars: &[Host]) -> Result<Results> {
        let reuses = reuse::unshared(self, inputs);
        let results = self.run_with(inputs, scalars, &reuses)?;
        for r in reuses {
            inputs[r.input].value().storage().renew();
        }
        Ok(results)
    }

    fn run_with(&self, inputs: &[&Tensor], scalars: &[Host], reuses: &[&Reuse]) -> Result<Results> {
        debug_assert_eq!(inputs.len(), self.inputs);
        let held = read_once(inputs);
        let mut bases: Bases = held.iter().map(|s| s.data_ptr().cast_mut()).collect();
        bases.extend(self.constants.iter().map(|c| c.value().data_ptr().cast_mut()));
        let arena = Arena::take(self.arena)?;
        let mut fresh: SmallVec<[(u32, Storage); 2]> = SmallVec::new();
        for (i, b) in self.buffers.iter().enumerate() {
            if let Some(r) = reuses.iter().find(|r| r.buffer == i) {
                bases.push(bases[r.input]);
                continue;
            }
            bases.push(match *b {
                Buffer::Arena(at) => arena.at(at),
                Buffer::Fresh(bytes) => {
                    // SAFETY: the steps write every element of a buffer before the call returns it; on an
                    // error the storage is dropped unread.
                    let storage = unsafe { Storage::uninit(bytes)? };
                    let p = storage.as_mut_ptr();
                    fresh.push(((self.inputs + self.constants.len() + i) as u32, storage));
                    p
                }
            });
        }
        let memory = Memory {
            plan: self,
            inputs,
            held: &held,
            fresh: &fresh,
            bases: &bases,
        };
        // what a region draws comes between: then each draw takes its number when it runs
        let one_by_one = self.draws > 0 && self.steps.iter().any(|s| matches!(s, Step::Region(_)));
        let key = if one_by_one { None } else { reserve(self.draws) };
        // a panic leaves only this call's own memory half-written, and that is dropped
        let run = catch_unwind(AssertUnwindSafe(|| -> Result<()> {
            for (i, step) in self.steps.iter().enumerate() {
                if reuses.iter().any(|r| r.copy == i) {
                    continue;
                }
                // SAFETY: every base is the memory that the plan was bound to: inputs of the same shape, strides and dtype,
                // held for the call; constants; buffers of the sizes that binding computed, or inputs of that size that
                // nobody else holds.
                unsafe { step_of(step, &memory, scalars, key)? }
            }
            Ok(())
        }));
        match run {
            Ok(done) => done?,
            Err(panic) => return Err(kernel_panic(panic)),
        }
        let mut results = Results::new();
        for (k, (place, handle)) in self.outputs.iter().zip(&self.handles).enumerate() {
            if let Some(r) = reuses.iter().find(|r| r.output == k) {
                results.push(inputs[r.input].clone());
                continue;
            }
            // a variable that is handed through stays the variable that it is
            if let Some(t) = handle.map(|i| inputs[i as usize]).filter(|t| t.is_variable()) {
                results.push(t.clone());
                continue;
            }
            results.push(memory.tensor(place)?);
        }
        Ok(results)
    }
}

/// # Safety
/// `memory` is that which the step's plan was bound to.
unsafe fn step_of(
    step: &Step,
    memory: &Memory<'_>,
    scalars: &[Host],
    key: Option<random::RandomKey>,
) -> Result<()> {
    match step {
        // SAFETY: the caller's contract.
        Step::Kernel(k) => unsafe { kernel(k, memory.bases, scalars) },
        Step::Matmul(m) => {
            let shape = gemm::Shape {
                m: m.m,
                n: m.n,
                k: m.k,
                a: m.a_strides,
                b: m.b_strides,
                out: m.out_strides,
            };
            let offsets = |i: usize| m.batch[i].map(|at| at as isize);
            // SAFETY: binding derived sizes, strides and batch offsets from layouts inside these bases.
            unsafe {
                gemm::batched(
                    m.dtype,
                    shape,
                    memory.at(m.a),
                    memory.at(m.b),
                    memory.at(m.out),
                    m.batch.len(),
                    offsets,
                )
            };
            Ok(())
        }
        Step::Copy(c) => {
            // SAFETY: both layouts lie inside their bases, which differ.
            unsafe {
                strided_copy(
                    c.size,
                    &c.shape,
                    memory.at(c.src),
                    &c.src_strides,
                    memory.at(c.dst),
                    &c.dst_strides,
                )
            };
            Ok(())
        }
        // SAFETY: the caller's contract.
        Step::Region(r) => unsafe { r.run(|p| memory.tensor(p), |r| memory.at(r), scalars) },
        // SAFETY: the caller's contract.
        Step::Op(o) => unsafe { o.run(|r| memory.at(r)) },
        Step::Draw(d) => {
            let key = key.map_or_else(random::reserve_op, |key| key.nth(d.number));
            let t = match d.op {
                Op::Randn => create::randn(&d.shape, d.dtype, key)?,
                _ => create::rand(&d.shape, d.dtype, key)?,
            };
            let bytes = t.elem_count() * d.dtype.size();
            // SAFETY: the buffer was bound to this shape and dtype; the tensor is row-major.
            unsafe {
                t.value()
                    .data_ptr()
                    .copy_to_nonoverlapping(memory.bases[d.base as usize], bytes)
            };
            Ok(())
        }
    }
}

/// The memory of a call.
struct Memory<'a> {
    plan: &'a Plan,
    inputs: &'a [&'a Tensor],
    held: &'a [StorageRef<'a>],
    fresh: &'a [(u32, Storage)],
    bases: &'a Bases,
}

impl Memory<'_> {
    fn at(&self, r: super::Ref) -> *mut u8 {
        self.bases[r.base as usize].wrapping_add(r.offset)
    }

    /// The tensor at a place: it shares storage, or is a copy of what lies in the arena.
    fn tensor(&self, place: &Place) -> Result<Tensor> {
        let (base, l) = (place.base as usize, &place.layout);
        if base < self.plan.inputs {
            let offset = self.inputs[base].layout().offset() + l.offset();
            let layout = Layout::new(l.shape().into(), l.strides().into(), offset)?;
            return Ok(Tensor::from_parts(
                self.held[base].storage().clone(),
                layout,
                place.dtype,
            ));
        }
        if let Some(c) = self.plan.constants.get(base - self.plan.inputs) {
            return Ok(c.with_layout(l.clone()));
        }
        if let Some((_, storage)) = self.fresh.iter().find(|(b, _)| *b == place.base) {
            return Ok(Tensor::from_parts(storage.clone(), l.clone(), place.dtype));
        }
        let dense = Layout::contiguous(l.shape())?;
        // SAFETY: the copy writes every element; the place lies inside the arena.
        unsafe {
            let storage = Storage::uninit(dense.elem_count() * place.dtype.size())?;
            strided_copy(
                place.dtype.size(),
                l.shape(),
                self.at(place.at()),
                l.strides(),
                storage.as_mut_ptr(),
                dense.strides(),
            );
            Ok(Tensor::from_parts(storage, dense, place.dtype))
        }
    }
}

/// # Safety
/// `bases` are the memory that the step was bound to.
unsafe fn kernel(k: &KernelStep, bases: &Bases, scalars: &[Host]) -> Result<()> {
    for d in &k.divisors {
        // SAFETY: the divisor's layout lies inside its base.
        unsafe { d.check(bases[d.at.base as usize])? };
    }
    let at = |r: &super::Ref| bases[r.base as usize].wrapping_add(r.offset);
    let operands: SmallVec<[*const u8; 8]> = k.operands.iter().map(|r| at(r).cast_const()).collect();
    let outputs: SmallVec<[*mut u8; 4]> = k.outputs.iter().map(at).collect();
    let mut params: SmallVec<[Scalar; 4]> = SmallVec::new();
    for p in &k.params {
        params.push(match p {
            Param::Known(s) => *s,
            Param::Call(e, op, place) => match e.eval(&CallScalars(scalars)) {
                Ok(h) => h.as_scalar().unwrap_or(Scalar::Int(0)),
                Err(HostError::Failed(m)) => return Err(host_error(op, m).placed(*place)),
                Err(HostError::Unknown) => {
                    return Err(Error::msg("a scalar of a kernel is not known at the call"));
                }
            },
        });
    }
    if let Some((op, _)) = int_division_by_param(k, &params) {
        return Err(check::by_zero(op).placed(k.place));
    }
    let code = match k.strips {
        Some(strips) => Code::Emitted(strips),
        None => Code::Tile,
    };
    // SAFETY: binding gave the nest these operands' shapes and strides, and outputs overlap nothing.
    unsafe { k.nest.run(&k.lowered.kernel, code, &operands, &outputs, &params) };
    Ok(())
}

/// An integer division of elements whose divisor is a run-time scalar of value 0.
fn int_division_by_param(k: &KernelStep, params: &[Scalar]) -> Option<(&'static str, usize)> {
    if params.is_empty() || !params.iter().any(|p| matches!(p, Scalar::Int(0))) {
        return None;
    }
    let some = |m: &&Map| !k.nest.is_empty(m.space);
    k.lowered.kernel.maps().filter(some).find_map(|m| {
        let base = m.program.inputs.len();
        m.program.insts.iter().find_map(|i| match i.op {
            LaneOp::Op(op @ (Op::FloorDiv | Op::Fmod | Op::Remainder)) if i.dtype.is_int() => {
                let at = usize::from(i.args[1].0).checked_sub(base)?;
                let p = usize::from(*m.params.get(at)?);
                matches!(params[p], Scalar::Int(0)).then_some((op.name(), p))
            }
            _ => None,
        })
    })
}

#[cold]
fn kernel_panic(panic: Box<dyn std::any::Any + Send>) -> Error {
    Error::Kernel {
        kernel: "plan".into(),
        message: panic_message(&*panic).into(),
    }
}

/// Scratch memory of a call, kept by the thread for its next call.
struct Arena {
    ptr: NonNull<u8>,
    len: usize,
}

thread_local!(static KEPT: Cell<Option<Arena>> = const { Cell::new(None) });

/// More than this is given back after a call.
const KEEP: usize = 64 << 20;

impl Arena {
    fn take(bytes: usize) -> Result<Arena> {
        let kept = KEPT.try_with(Cell::take).ok().flatten();
        match kept {
            Some(a) if a.len >= bytes => Ok(a),
            kept => {
                drop(kept);
                if bytes == 0 {
                    return Ok(Arena {
                        ptr: NonNull::dangling(),
                        len: 0,
                    });
                }
                let len = bytes.next_power_of_two();
                let oom = || Error::OutOfMemory { bytes: len };
                let layout = alloc::Layout::from_size_align(len, alignment(len)).map_err(|_| oom())?;
                // SAFETY: the size is not zero.
                let ptr = NonNull::new(unsafe { alloc::alloc(layout) }).ok_or_else(oom)?;
                Ok(Arena { ptr, len })
            }
        }
    }

    fn at(&self, offset: usize) -> *mut u8 {
        self.ptr.as_ptr().wrapping_add(offset)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if self.len == 0 {
            return;
        }
        if self.len <= KEEP {
            let back = Arena {
                ptr: self.ptr,
                len: std::mem::take(&mut self.len),
            };
            let mut back = Some(back);
            let _ = KEPT.try_with(|k| {
                let old = k.replace(back.take());
                if let Some(mut old) = old {
                    old.free();
                }
            });
            if let Some(mut back) = back {
                back.free();
            }
            return;
        }
        self.free();
    }
}

impl Arena {
    fn free(&mut self) {
        let len = std::mem::take(&mut self.len);
        if let (true, Ok(layout)) = (len > 0, alloc::Layout::from_size_align(len, alignment(len))) {
            // SAFETY: the memory came from `alloc` with this layout and is freed once: `len` is 0 from now on.
            unsafe { alloc::dealloc(self.ptr.as_ptr(), layout) }
        }
    }
}
