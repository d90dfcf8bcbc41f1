//! The tile VM: runs a program without emitted code.
//!
//! Problem: groups that the binary lacks must run with the results of emitted strips, at a useful speed.
//! Method: [`Tile::new`] compiles a program once: every value gets a place, an operand (read or written in
//! place) or a register, reused when the value is dead. [`Tile::run`] walks the lanes in tiles that keep all
//! registers in L1 and calls one prebuilt strip per instruction and tile ([`instructions`]).
//!
//! Invariants: an instruction never writes a register that it reads; an output that the program updates is read in
//! place, and written by the last store of a tile; values of splats and constants live in
//! registers of their own, filled once a call (once a row where they differ); registers never leave the call.

mod instructions;
#[cfg(test)]
mod tests;

use super::arena::Scratch;
use super::nest::value_bytes;
use super::strip::Raw;
use super::tier::isa;
use instructions::{InstFns, cast_fns, fmuladd_fns, load_fns, op_fns, round_fns, store_fns};
use tensorplay_graph::DType;
use tensorplay_stax::kernel::{Access, LaneOp, Program, Var};

/// Where a value is.
#[derive(Clone, Copy, Debug)]
enum Place {
    Register(u16),
    Input(u16, u8),
    Output(u16, u8),
}

#[derive(Clone, Debug)]
struct Step {
    fns: InstFns,
    args: [Place; 4],
    arity: u8,
    out: Place,
}

/// What a constant register holds.
#[derive(Clone, Copy, Debug)]
enum Fill {
    /// The one element of a splat input or param.
    Splat(u16, DType),
    /// A literal.
    Literal([u8; 8], DType),
}

/// A program compiled for the VM.
#[derive(Clone, Debug)]
pub(crate) struct Tile {
    /// The last operands of a call.
    outputs: usize,
    fills: Vec<(u16, Fill)>,
    steps: Vec<Step>,
    registers: usize,
    /// Lanes of a tile.
    lanes: usize,
    /// Bytes between registers.
    pitch: usize,
}

/// Bytes of L1 that the registers may take.
const BUDGET: usize = 24 << 10;

/// Registers with liveness.
struct Registers {
    free: Vec<u16>,
    count: u16,
}

impl Registers {
    fn take(&mut self) -> u16 {
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }
}

impl Tile {
    /// Compiles a program; an error names an instruction that kernels lack.
    pub(crate) fn new(program: &Program) -> Result<Tile, String> {
        let splats = program.inputs.len() + program.params.len();
        // an updated input is no operand of its own
        let updated = program.inputs.last().filter(|_| program.updates());
        let operands = program.inputs.len() - usize::from(updated.is_some());
        let values = splats + program.insts.len();
        let mut last = vec![0usize; values];
        for (k, inst) in program.insts.iter().enumerate() {
            inst.args.iter().for_each(|a| last[usize::from(a.0)] = k);
        }
        program
            .outputs
            .iter()
            .for_each(|o| last[usize::from(o.value.0)] = usize::MAX);

        let mut regs = Registers {
            free: vec![],
            count: 0,
        };
        let mut places: Vec<Option<Place>> = vec![None; values];
        let (mut fills, mut steps, mut pinned) = (vec![], vec![], vec![false; values]);
        let none = [Place::Register(0); 4];
        // constants first: their registers are never reused
        for (i, input) in program
            .inputs
            .iter()
            .enumerate()
            .filter(|(_, p)| p.access == Access::Splat)
        {
            let r = regs.take();
            fills.push((r, Fill::Splat(i as u16, input.dtype)));
            (places[i], pinned[i]) = (Some(Place::Register(r)), true);
        }
        for (k, param) in program.params.iter().enumerate() {
            let (r, i) = (regs.take(), program.inputs.len() + k);
            fills.push((r, Fill::Splat((operands + k) as u16, param.dtype)));
            (places[i], pinned[i]) = (Some(Place::Register(r)), true);
        }
        for (k, inst) in program.insts.iter().enumerate() {
            if let LaneOp::Const(s) = inst.op {
                let (r, i) = (regs.take(), splats + k);
                fills.push((r, Fill::Literal(value_bytes(s, inst.dtype), inst.dtype)));
                (places[i], pinned[i]) = (Some(Place::Register(r)), true);
            }
        }
        for (i, input) in program
            .inputs
            .iter()
            .enumerate()
            .filter(|(_, p)| p.access != Access::Splat)
        {
            let size = input.dtype.size() as u8;
            let source = match input.access {
                Access::Update => Place::Output(0, size),
                _ => Place::Input(i as u16, size),
            };
            places[i] = Some(match load_fns(input.dtype) {
                Some(fns) => {
                    let out = Place::Register(regs.take());
                    steps.push(Step {
                        fns,
                        args: [source; 4],
                        arity: 1,
                        out,
                    });
                    out
                }
                None => source,
            });
        }
        let mut written = vec![false; program.outputs.len()];
        for (k, inst) in program.insts.iter().enumerate() {
            let from = inst.args.last().map_or(inst.dtype, |a| program.dtype(*a));
            let fns = match inst.op {
                LaneOp::Const(_) => continue,
                LaneOp::Cast => cast_fns(from, inst.dtype),
                LaneOp::RoundF16 => round_fns(DType::F16),
                LaneOp::RoundBF16 => round_fns(DType::BF16),
                LaneOp::Op(op) => op_fns(op, from),
                LaneOp::Fmuladd => fmuladd_fns(from),
            };
            let fns = fns.ok_or_else(|| format!("no kernel instruction {:?} of {from}", inst.op))?;
            let v = splats + k;
            let stored = program
                .outputs
                .iter()
                .zip(&written)
                .enumerate()
                .filter(|(o, _)| *o > 0 || updated.is_none())
                .find(|(_, (o, w))| !**w && usize::from(o.value.0) == v && o.dtype == inst.dtype)
                .map(|(o, _)| o);
            let out = match stored {
                Some(o) => {
                    written[o] = true;
                    Place::Output(o as u16, inst.dtype.size() as u8)
                }
                None => Place::Register(regs.take()),
            };
            let mut args = none;
            for (slot, Var(a)) in args.iter_mut().zip(&inst.args) {
                *slot = places[usize::from(*a)].expect("a program uses earlier values only");
            }
            steps.push(Step {
                fns,
                args,
                arity: inst.args.len() as u8,
                out,
            });
            places[v] = Some(out);
            // the arguments that die here, and a result that nobody reads
            let mut dead: Vec<usize> = inst
                .args
                .iter()
                .map(|a| usize::from(a.0))
                .filter(|a| last[*a] == k)
                .collect();
            dead.sort_unstable();
            dead.dedup();
            if last[v] <= k {
                dead.push(v);
            }
            for d in dead {
                if let (Some(Place::Register(r)), false) = (places[d], pinned[d]) {
                    regs.free.push(r);
                }
            }
        }
        // the update last: other stores may read what it replaces
        let rest = program.outputs.iter().enumerate().rev();
        for (o, output) in rest.filter(|(o, _)| !written[*o]) {
            let source = places[usize::from(output.value.0)].expect("a program stores its own values");
            let fns = store_fns(output.dtype).ok_or("no store")?;
            let out = Place::Output(o as u16, output.dtype.size() as u8);
            steps.push(Step {
                fns,
                args: [source; 4],
                arity: 1,
                out,
            });
        }

        let size = (0..values)
            .map(|v| program.dtype(Var(v as u16)).size())
            .max()
            .unwrap_or(1);
        let registers = usize::from(regs.count);
        let lanes = (BUDGET / (size * registers.max(1)) / 64 * 64).clamp(128, 1024);
        // one cache line more, so that registers do not share cache sets
        Ok(Tile {
            outputs: program.outputs.len(),
            fills,
            steps,
            registers,
            lanes,
            pitch: lanes * size + 64,
        })
    }

    /// Runs the program on one call's operands.
    ///
    /// # Safety
    /// The contract of [`StripFn`](super::strip::StripFn), with the signature of the program.
    pub(crate) unsafe fn run(&self, raw: &Raw<'_>) {
        let scratch = Scratch::new(self.registers * self.pitch);
        let base = scratch.ptr();
        let isa = isa() as usize;
        let width = raw.n.min(self.lanes);
        let outputs = raw.operands.len() - self.outputs;
        for row in 0..raw.rows {
            let start = |i: usize| raw.operands[i].row(row);
            for (r, fill) in &self.fills {
                // SAFETY: the register has room for `lanes` elements; a splat is one readable element.
                unsafe {
                    let to = base.add(usize::from(*r) * self.pitch);
                    match fill {
                        Fill::Splat(i, dtype) => {
                            if row == 0 || raw.operands[usize::from(*i)].step != 0 {
                                fill_register(start(usize::from(*i)), *dtype, to, width);
                            }
                        }
                        Fill::Literal(bytes, dtype) if row == 0 => {
                            fill_register(bytes.as_ptr(), *dtype, to, width)
                        }
                        Fill::Literal(..) => {}
                    }
                }
            }
            let mut at = 0;
            while at < raw.n {
                let n = (raw.n - at).min(self.lanes);
                let place = |p: Place| -> *mut u8 {
                    // SAFETY: registers lie in the scratch, operands have `raw.n` elements and `at < raw.n`.
                    unsafe {
                        match p {
                            Place::Register(r) => base.add(usize::from(r) * self.pitch),
                            Place::Input(i, size) => start(usize::from(i)).add(at * usize::from(size)),
                            Place::Output(o, size) => {
                                start(outputs + usize::from(o)).add(at * usize::from(size))
                            }
                        }
                    }
                };
                for step in &self.steps {
                    let mut args = [std::ptr::null(); 4];
                    for (arg, p) in args.iter_mut().zip(&step.args).take(usize::from(step.arity)) {
                        *arg = place(*p).cast_const();
                    }
                    // SAFETY: places hold `n` elements of the types the instruction was chosen for, none overlaps its
                    // output; `isa` names an instruction set of this CPU.
                    unsafe { step.fns[isa](&args, place(step.out), n) };
                }
                at += n;
            }
        }
    }
}

/// Fills `n` lanes of a register with one stored element, widened to its compute type.
///
/// # Safety
/// `from` is one readable element; `to` has room for `n` elements of the compute type.
unsafe fn fill_register(from: *const u8, dtype: DType, to: *mut u8, n: usize) {
    use crate::lane::Store;
    macro_rules! fill {
        ($t:ty) => {
            // SAFETY: the caller's contract; registers are aligned to 64 bytes.
            unsafe {
                let v = from.cast::<$t>().read_unaligned().load();
                std::slice::from_raw_parts_mut(to.cast::<std::mem::MaybeUninit<<$t as Store>::Elem>>(), n)
                    .fill(std::mem::MaybeUninit::new(v))
            }
        };
    }
    match dtype {
        DType::F32 => fill!(f32),
        DType::F64 => fill!(f64),
        DType::F16 => fill!(half::f16),
        DType::BF16 => fill!(half::bf16),
        DType::I32 => fill!(i32),
        DType::I64 => fill!(i64),
        DType::U8 => fill!(u8),
        DType::Bool => fill!(bool),
    }
}
