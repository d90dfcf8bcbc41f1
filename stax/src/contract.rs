//! Contraction, for `options(fast_math)`: a product that only a sum or a difference reads becomes part of it.
//!
//! | written | becomes |
//! |---|---|
//! | `a * b + c`, `c + a * b` | `fmuladd(a, b, c)` |
//! | `a * b - c` | `fmuladd(a, b, -c)` |
//! | `c - a * b` | `fmuladd(-a, b, c)` |
//!
//! Side conditions: the values are floats; nothing else reads the product, and it is not stored. `fmuladd` rounds once
//! where the instruction set can, so a result may differ from that of two roundings.

use crate::kernel::{Inst, LaneOp, Program, Var};
use std::collections::BTreeSet;
use tensorplay_graph::Op;

/// Contracts what it can.
pub fn run(program: &mut Program) {
    let first = program.inputs.len() + program.params.len();
    let mut readers = vec![0u32; first + program.insts.len()];
    let read = program.insts.iter().flat_map(|i| &i.args);
    for v in read.chain(program.outputs.iter().map(|o| &o.value)) {
        readers[usize::from(v.0)] += 1;
    }
    let old = std::mem::take(&mut program.insts);
    let product = |v: Var| -> Option<(usize, [Var; 2])> {
        let at = usize::from(v.0).checked_sub(first)?;
        match (&old[at].op, &old[at].args[..]) {
            (LaneOp::Op(Op::Mul), &[a, b]) if readers[usize::from(v.0)] == 1 => Some((at, [a, b])),
            _ => None,
        }
    };
    let plans: Vec<Option<Contraction>> = old.iter().map(|inst| Contraction::of(inst, product)).collect();
    let absorbed: BTreeSet<usize> = plans.iter().flatten().map(|p| p.product).collect();

    let mut new = Renumbered {
        first,
        taken: old.iter().map(|i| i.name.clone()).collect(),
        insts: Vec::with_capacity(old.len()),
        places: (0..first as u16).map(Var).collect(),
    };
    for (at, (inst, plan)) in old.iter().zip(plans).enumerate() {
        let place = match plan {
            // nothing reads it any more
            _ if absorbed.contains(&at) => Var(u16::MAX),
            Some(plan) => new.contracted(inst, &plan),
            None => new.push(
                inst.op,
                inst.args.iter().map(|a| new.at(*a)).collect(),
                inst,
                &inst.name,
            ),
        };
        new.places.push(place);
    }
    for o in &mut program.outputs {
        o.value = new.at(o.value);
    }
    program.insts = new.insts;
}

/// A sum or difference with the product that becomes part of it.
struct Contraction {
    /// The index of the product.
    product: usize,
    factors: [Var; 2],
    addend: Var,
    /// Which is negated: the product, or the addend.
    negated: Option<Negated>,
}

#[derive(Clone, Copy)]
enum Negated {
    Product,
    Addend,
}

impl Contraction {
    fn of(inst: &Inst, product: impl Fn(Var) -> Option<(usize, [Var; 2])>) -> Option<Contraction> {
        let (op, &[x, y]) = (inst.op, &inst.args[..]) else {
            return None;
        };
        let (when_left, when_right) = match op {
            _ if !inst.dtype.is_float() => return None,
            LaneOp::Op(Op::Add) => (None, None),
            LaneOp::Op(Op::Sub) => (Some(Negated::Addend), Some(Negated::Product)),
            _ => return None,
        };
        let (found, addend, negated) = match (product(x), product(y)) {
            (Some(found), _) => (found, y, when_left),
            (None, Some(found)) => (found, x, when_right),
            (None, None) => return None,
        };
        Some(Contraction {
            product: found.0,
            factors: found.1,
            addend,
            negated,
        })
    }
}

/// The program that is being built, and where the values of the old one are in it.
struct Renumbered {
    first: usize,
    taken: BTreeSet<String>,
    insts: Vec<Inst>,
    places: Vec<Var>,
}

impl Renumbered {
    fn at(&self, old: Var) -> Var {
        self.places[usize::from(old.0)]
    }

    /// An instruction of the dtype of `like`.
    fn push(&mut self, op: LaneOp, args: Vec<Var>, like: &Inst, name: &str) -> Var {
        self.insts.push(Inst {
            op,
            args,
            dtype: like.dtype,
            name: name.to_string(),
        });
        Var((self.first + self.insts.len() - 1) as u16)
    }

    fn negated(&mut self, v: Var, like: &Inst) -> Var {
        let names = std::iter::successors(Some(format!("minus_{}", like.name)), |n| Some(format!("{n}_")));
        let taken = &self.taken;
        let name = names.into_iter().find(|n| !taken.contains(n)).unwrap_or_default();
        self.taken.insert(name.clone());
        self.push(LaneOp::Op(Op::Neg), vec![v], like, &name)
    }

    fn contracted(&mut self, inst: &Inst, c: &Contraction) -> Var {
        let ([mut a, b], mut addend) = (c.factors.map(|f| self.at(f)), self.at(c.addend));
        match c.negated {
            Some(Negated::Product) => a = self.negated(a, inst),
            Some(Negated::Addend) => addend = self.negated(addend, inst),
            None => {}
        }
        self.push(LaneOp::Fmuladd, vec![a, b, addend], inst, &inst.name)
    }
}
