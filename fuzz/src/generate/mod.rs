//! Well-typed random programs.
//!
//! Problem: random calls are mostly refused, and random values mostly end in NaN.
//! Method: a step proposes an operation of a family with fitting operands (existing values, or new inputs),
//! evaluates it in the reference, and keeps it if it is accepted and still tells something. Operations with jumps take
//! exact operands. Values are numbered as they are made; the inputs come first.
//! Every third case is drawn for fusion: point operations and reductions of few tensors, of some of which the shape is
//! known, so that values meet again that a schedule has put into groups.
//! Invariants: the case follows from the seed; every call but an intended failing last one is accepted by the
//! reference. Refused proposals are kept apart: the product's rules must refuse them too.

mod elementwise;
mod index;
mod operands;
mod rows;
mod views;
mod windows;

use crate::case::{A, Case, Node, Spec};
use crate::inputs::{self, Flavour};
use crate::reference::{self, Array, Stop};
use crate::rng::Rng;
use tensorplay_graph::{DType, Op};

/// What is generated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Run-time graphs.
    Graph,
    /// Rust functions.
    Program,
}

/// A case, and others whose last call the rules must refuse.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The case.
    pub case: Case,
    /// Cases that end in a refused call.
    pub refused: Vec<Case>,
}

/// Operations that are proposed alike.
struct Family {
    /// How often.
    weight: usize,
    ops: &'static [Op],
    /// Proposes the arguments of one.
    args: fn(&mut Maker, Op) -> Option<Vec<A>>,
}

/// What is never drawn: hidden rows, random numbers, regions, and `batch_norm_train`, whose statistics are variables.
const FAMILIES: &[&[Family]] = &[
    elementwise::FAMILIES,
    rows::FAMILIES,
    windows::FAMILIES,
    index::FAMILIES,
    views::FAMILIES,
];

/// What a case is drawn from that is to be fused.
const FUSED: &[&[Family]] = &[elementwise::FUSED, rows::FUSED, views::FUSED];

/// The operations that the families name.
pub fn named() -> Vec<Op> {
    let families = FAMILIES.iter().copied().flatten();
    let mut ops: Vec<Op> = families.flat_map(|f| f.ops).copied().collect();
    ops.sort();
    ops.dedup();
    ops
}

struct Maker {
    r: Rng,
    mode: Mode,
    base: DType,
    loyal: usize,
    /// What is known of every input; `None`: of each something else.
    spec: Option<Spec>,
    /// Whether the case is drawn for fusion.
    fused: bool,
    /// Its calls name values in the order in which they were made.
    case: Case,
    values: Vec<Array>,
    /// Which values are inputs.
    is_input: Vec<bool>,
    refused: Vec<Case>,
}

/// The case of a seed.
pub fn case(seed: u64, mode: Mode) -> Generated {
    let mut r = Rng::new(seed.wrapping_mul(2) + u64::from(mode == Mode::Program));
    let base = inputs::base(&mut r);
    let one_dtype = mode == Mode::Program && r.chance(65);
    // known shapes beside unknown ones are where a schedule has most to assume
    let fused = r.one_in(3);
    let spec = *r.pick(&[
        Some(Spec::None),
        Some(Spec::None),
        Some(Spec::DType),
        Some(Spec::Full),
        Some(Spec::Named),
        None,
        None,
        None,
    ]);
    let loyal = if one_dtype { 100 } else { *r.pick(&[100, 85, 60]) };
    let case = Case {
        seed,
        ..Case::default()
    };
    let mut m = Maker {
        r,
        mode,
        base,
        loyal,
        spec,
        fused,
        case,
        values: Vec::new(),
        is_input: Vec::new(),
        refused: Vec::new(),
    };
    let want = match mode {
        _ if fused => 4 + m.r.below(9),
        Mode::Graph => 1 + m.r.below(9),
        Mode::Program => 2 + m.r.below(8),
    };
    let shape = inputs::shape(&mut m.r);
    if fused {
        m.one_known_and_one_unknown(&shape);
    } else {
        m.input(None, &shape, Flavour::Any);
    }
    let mut stopped = false;
    for _ in 0..want * 30 {
        if m.case.nodes.len() >= want || stopped {
            break;
        }
        stopped = m.step();
    }
    m.case.outputs = m.outputs(stopped);
    Generated {
        case: m.numbered(&m.case),
        refused: m.refused,
    }
}

impl Maker {
    /// Two inputs whose shapes broadcast, of which the graph knows one.
    fn one_known_and_one_unknown(&mut self, shape: &[usize]) {
        let all = self.spec;
        let known = *self.r.pick(&[Spec::Full, Spec::Full, Spec::Named]);
        let unknown = *self.r.pick(&[Spec::None, Spec::None, Spec::DType]);
        let mut specs = [known, unknown];
        if self.r.chance(50) {
            specs.reverse();
        }
        let other = self.related(shape);
        for (spec, shape) in specs.into_iter().zip([shape, &other]) {
            self.spec = Some(spec);
            self.input(Some(self.base), shape, Flavour::Any);
        }
        self.spec = all;
    }

    /// Proposes a call; whether it is one that fails with its data, the last.
    fn step(&mut self) -> bool {
        let families = if self.fused { FUSED } else { FAMILIES };
        let all = || families.iter().copied().flatten();
        let mut at = self.r.below(all().map(|f| f.weight).sum());
        let mut family = &families[0][0];
        for f in all() {
            if at < f.weight {
                family = f;
                break;
            }
            at -= f.weight;
        }
        let op = *self.r.pick(family.ops);
        let before = self.values.len();
        let Some(args) = (family.args)(self, op) else {
            self.forget(before);
            return false;
        };
        let mut node = Node { op, args, results: 1 };
        match reference::eval(op, &node.args, &self.values) {
            Ok(out) => {
                let size: usize = out.iter().map(|a| a.cells.len()).sum();
                let dull = out.iter().any(|a| a.poisoned() > 60) && !self.r.one_in(6);
                if size > 4000 || dull || out.len() > 12 || out.iter().any(|a| a.shape.len() > 6) {
                    self.forget(before);
                    return false;
                }
                node.results = out.len();
                self.is_input.extend(out.iter().map(|_| false));
                self.values.extend(out);
                self.case.nodes.push(node);
                false
            }
            Err(Stop::Data(_)) => {
                self.case.nodes.push(node);
                true
            }
            Err(Stop::Refused(_)) if self.mode == Mode::Graph && self.refused.len() < 3 => {
                let mut c = self.case.clone();
                c.nodes.push(node);
                self.refused.push(self.numbered(&c));
                self.forget(before);
                false
            }
            Err(_) => {
                self.forget(before);
                false
            }
        }
    }

    /// Drops the inputs of a proposal.
    fn forget(&mut self, to: usize) {
        let made = self.values.len() - to;
        self.case.inputs.truncate(self.case.inputs.len() - made);
        self.values.truncate(to);
        self.is_input.truncate(to);
    }

    /// The case with its inputs as the first values.
    fn numbered(&self, case: &Case) -> Case {
        let (mut input, mut result) = (0, self.is_input.iter().filter(|i| **i).count());
        let mut next = |is_input: &bool| {
            let counter = if *is_input { &mut input } else { &mut result };
            *counter += 1;
            *counter - 1
        };
        let map: Vec<usize> = self.is_input.iter().map(&mut next).collect();
        // the result of a call that fails is behind all values
        let renamed = |v: &mut usize| *v = map.get(*v).copied().unwrap_or(*v);
        let mut c = case.clone();
        for n in &mut c.nodes {
            n.args.iter_mut().for_each(|a| a.values(&mut |v| renamed(v)));
        }
        c.outputs.iter_mut().for_each(renamed);
        c
    }

    fn outputs(&mut self, stopped: bool) -> Vec<usize> {
        let n = self.values.len();
        if stopped {
            return vec![n];
        }
        let made: Vec<usize> = (0..n).filter(|&v| !self.is_input[v]).collect();
        if made.is_empty() {
            return vec![0];
        }
        let mut used = vec![false; n];
        for node in &mut self.case.nodes {
            node.args
                .iter_mut()
                .for_each(|a| a.values(&mut |v| used[*v] = true));
        }
        // what nobody reads is an output, up to three
        let mut out: Vec<usize> = made.iter().rev().copied().filter(|&v| !used[v]).take(3).collect();
        if self.r.chance(35) {
            let v = *self.r.pick(&made);
            if !out.contains(&v) {
                out.push(v);
            }
        }
        if self.mode == Mode::Graph && self.r.one_in(25) {
            let inputs: Vec<usize> = (0..n).filter(|&v| self.is_input[v]).collect();
            out.push(*self.r.pick(&inputs));
        }
        if self.r.chance(30) {
            out.reverse();
        }
        out
    }
}
