//! From lane values to steps: what is stored when, and one program a `Map`.

use super::{Def, Lane, LowerError, identifier, is_native_source, not_one_kernel};
use crate::kernel::{
    Access, Buf, Buffer, Input, Inst, Kernel, Map, Output, Param, Program, Reduce, ReduceKind, Space, Step,
    Var,
};
use std::collections::{BTreeMap, BTreeSet};

/// Fills `kernel.steps` so that `outputs` (one lane each) are stored.
pub(super) fn build(kernel: &mut Kernel, lanes: &[Lane], outputs: &[usize]) -> Result<(), LowerError> {
    let live = live(lanes, outputs);
    let mut b = Steps {
        kernel,
        lanes,
        outputs,
        live,
        stored: BTreeMap::new(),
        written: BTreeSet::new(),
        last: 0,
    };
    b.last = b.live.iter().map(|&l| lanes[l].level).max().unwrap_or(0);
    for level in 0..=b.last {
        b.row_pass(level)?;
        b.elem_pass(level)?;
        b.folds(level)?;
    }
    Ok(())
}

fn live(lanes: &[Lane], outputs: &[usize]) -> BTreeSet<usize> {
    let mut live = BTreeSet::new();
    let mut todo = outputs.to_vec();
    while let Some(l) = todo.pop() {
        if live.insert(l) {
            match &lanes[l].def {
                Def::Inst(_, args) => todo.extend(args),
                Def::Fold(_, src, center) => {
                    todo.push(*src);
                    todo.extend(center);
                }
                Def::Operand(_) | Def::Param(_) => {}
            }
        }
    }
    live
}

struct Steps<'a> {
    kernel: &'a mut Kernel,
    lanes: &'a [Lane],
    outputs: &'a [usize],
    live: BTreeSet<usize>,
    /// Lanes that later steps read from scratch, or from the output that is updated in place.
    stored: BTreeMap<usize, Buf>,
    /// Outputs that are written.
    written: BTreeSet<usize>,
    /// The level of the last pass.
    last: usize,
}

impl Steps<'_> {
    fn scratch(&mut self, lane: usize, space: Space) -> Buf {
        let Lane { name, dtype, .. } = &self.lanes[lane];
        self.kernel.scratch.push(Buffer {
            name: name.clone(),
            dtype: *dtype,
            space,
        });
        Buf::Scratch(self.kernel.scratch.len() as u16 - 1)
    }

    /// Outputs of a space whose lane is ready at `level` and not written yet.
    fn ready_outputs(&self, level: usize, space: Space) -> Vec<usize> {
        (0..self.outputs.len())
            .filter(|&o| {
                self.kernel.outputs[o].space == space
                    && self.lanes[self.outputs[o]].level == level
                    && !self.written.contains(&o)
            })
            .collect()
    }

    /// The folds whose operand is complete in pass `level`.
    fn folds_at(&self, level: usize) -> Vec<usize> {
        let of_level =
            |l: &usize| matches!(self.lanes[*l].def, Def::Fold(..)) && self.lanes[*l].level == level + 1;
        self.live.iter().copied().filter(of_level).collect()
    }

    /// A buffer that holds an element lane, if one does.
    fn buffer_of(&self, lane: usize) -> Option<Buf> {
        if let Some(b) = self.stored.get(&lane) {
            return Some(*b);
        }
        match self.lanes[lane].def {
            Def::Operand(i) if is_native_source(self.kernel, Buf::Operand(i)) => Some(Buf::Operand(i)),
            _ => None,
        }
    }

    /// Row values of this level: those that element passes or folds read go to scratch, outputs to outputs.
    fn row_pass(&mut self, level: usize) -> Result<(), LowerError> {
        let mut targets: Vec<(usize, Buf)> = Vec::new();
        let wanted: Vec<usize> = self
            .live
            .iter()
            .copied()
            .filter(|&l| {
                self.lanes[l].space == Some(Space::Row)
                    && self.lanes[l].level == level
                    && matches!(self.lanes[l].def, Def::Inst(..))
                    && self.read_as_element(l)
            })
            .collect();
        for l in wanted {
            let b = self.scratch(l, Space::Row);
            targets.push((l, b));
        }
        for o in self.ready_outputs(level, Space::Row) {
            self.written.insert(o);
            targets.push((self.outputs[o], Buf::Output(o as u16)));
        }
        self.map(Space::Row, &targets)
    }

    /// Whether a row value is read by an element instruction, as a fold's centre, or by a later level's row values.
    fn read_as_element(&self, row: usize) -> bool {
        self.live.iter().any(|&l| match &self.lanes[l].def {
            Def::Inst(_, args) => {
                args.contains(&row)
                    && (self.lanes[l].space == Some(Space::Elem)
                        || self.lanes[l].level > self.lanes[row].level)
            }
            Def::Fold(_, _, center) => *center == Some(row),
            _ => false,
        })
    }

    fn elem_pass(&mut self, level: usize) -> Result<(), LowerError> {
        let mut targets: Vec<(usize, Buf)> = Vec::new();
        for fold in self.folds_at(level) {
            let Def::Fold(_, src, _) = self.lanes[fold].def else {
                continue;
            };
            if self.buffer_of(src).is_none() && !targets.iter().any(|(l, _)| *l == src) {
                let b = match self.host(src, &targets) {
                    Some(o) => Buf::Output(o as u16),
                    None => self.scratch(src, Space::Elem),
                };
                targets.push((src, b));
            }
        }
        for o in self.ready_outputs(level, Space::Elem) {
            self.written.insert(o);
            targets.push((self.outputs[o], Buf::Output(o as u16)));
        }
        self.map(Space::Elem, &targets)
    }

    /// The output that can hold the element value `src` until the last pass computes it from `src`.
    /// One output of a kernel does, so that a program updates one.
    fn host(&self, src: usize, targets: &[(usize, Buf)]) -> Option<usize> {
        let output = |b: &Buf| matches!(b, Buf::Output(_));
        let taken = self.stored.values().any(output) || targets.iter().any(|(_, b)| output(b));
        if taken || self.lanes[src].level == self.last {
            return None;
        }
        (0..self.outputs.len()).find(|&o| {
            let Buffer { dtype, space, .. } = &self.kernel.outputs[o];
            *space == Space::Elem
                && *dtype == self.lanes[src].dtype
                && self.lanes[self.outputs[o]].level == self.last
                && self.reads(self.outputs[o], src)
        })
    }

    /// Whether a program that computes `lane` from what is stored by then has `src` as an input.
    fn reads(&self, lane: usize, src: usize) -> bool {
        let folded = |l: usize| {
            self.live
                .iter()
                .any(|&f| matches!(self.lanes[f].def, Def::Fold(_, s, _) if s == l))
        };
        let (mut todo, mut seen) = (vec![lane], BTreeSet::new());
        while let Some(l) = todo.pop() {
            if l == src {
                return true;
            }
            if seen.insert(l)
                && let Def::Inst(_, args) = &self.lanes[l].def
                && !folded(l)
            {
                todo.extend(args);
            }
        }
        false
    }

    fn folds(&mut self, level: usize) -> Result<(), LowerError> {
        for fold in self.folds_at(level) {
            let Def::Fold(kind, src, center) = self.lanes[fold].def else {
                continue;
            };
            let Some(src) = self.buffer_of(src) else {
                return not_one_kernel(format!("what `{}` folds is not stored", self.lanes[fold].name));
            };
            let center = match center {
                Some(c) => match (&self.lanes[c].def, self.stored.get(&c)) {
                    (Def::Operand(i), _) => Some(Buf::Operand(*i)),
                    (_, Some(b)) => Some(*b),
                    (_, None) => {
                        return not_one_kernel(format!(
                            "the centre of `{}` is not stored",
                            self.lanes[fold].name
                        ));
                    }
                },
                None => None,
            };
            let kind = match kind {
                ReduceKind::SumSquares { .. } => ReduceKind::SumSquares { center },
                kind => kind,
            };
            let dst = self.fold_target(fold);
            self.kernel.steps.push(Step::Reduce(Reduce { kind, src, dst }));
        }
        Ok(())
    }

    /// Straight into the output if nothing else reads the fold and no conversion is due.
    fn fold_target(&mut self, fold: usize) -> Buf {
        let outputs: Vec<usize> = (0..self.outputs.len())
            .filter(|&o| self.outputs[o] == fold)
            .collect();
        let read = self.live.iter().any(|&l| match &self.lanes[l].def {
            Def::Inst(_, args) => args.contains(&fold),
            Def::Fold(_, _, center) => *center == Some(fold),
            _ => false,
        });
        if let [o] = outputs[..]
            && !read
            && self.kernel.outputs[o].dtype == self.lanes[fold].dtype
        {
            self.written.insert(o);
            return Buf::Output(o as u16);
        }
        let b = self.scratch(fold, Space::Row);
        self.stored.insert(fold, b);
        b
    }

    /// One program that computes `targets` from operands and what is stored; none for no targets.
    fn map(&mut self, space: Space, targets: &[(usize, Buf)]) -> Result<(), LowerError> {
        if targets.is_empty() {
            return Ok(());
        }
        let other = |(l, _): &&(usize, Buf)| self.lanes[*l].space.is_some_and(|s| s != space);
        if let Some((lane, _)) = targets.iter().find(other) {
            return not_one_kernel(format!("`{}` is stored in another space", self.lanes[*lane].name));
        }
        let mut p = Assembler {
            kernel: self.kernel,
            lanes: self.lanes,
            stored: &self.stored,
            space,
            inputs: Vec::new(),
            input_lanes: Vec::new(),
            params: Vec::new(),
            order: Vec::new(),
            seen: BTreeSet::new(),
        };
        for (lane, _) in targets {
            p.visit(*lane)?;
        }
        let map = p.finish(space, targets);
        self.kernel.steps.push(Step::Map(map));
        for (lane, b) in targets {
            let held = matches!(b, Buf::Output(o) if !self.written.contains(&usize::from(*o)));
            if held || matches!(b, Buf::Scratch(_)) {
                self.stored.insert(*lane, *b);
            }
        }
        Ok(())
    }
}

struct Assembler<'a> {
    kernel: &'a Kernel,
    lanes: &'a [Lane],
    stored: &'a BTreeMap<usize, Buf>,
    space: Space,
    inputs: Vec<Buf>,
    input_lanes: Vec<usize>,
    params: Vec<(u16, usize)>,
    order: Vec<usize>,
    seen: BTreeSet<usize>,
}

impl Assembler<'_> {
    /// Depth first; explicit stack, since chains may be long.
    fn visit(&mut self, lane: usize) -> Result<(), LowerError> {
        let mut stack = vec![(lane, false)];
        while let Some((l, done)) = stack.pop() {
            if done {
                self.order.push(l);
                continue;
            }
            if !self.seen.insert(l) {
                continue;
            }
            if let Some(b) = self.stored.get(&l) {
                self.inputs.push(*b);
                self.input_lanes.push(l);
                continue;
            }
            match &self.lanes[l].def {
                Def::Operand(i) => {
                    self.inputs.push(Buf::Operand(*i));
                    self.input_lanes.push(l);
                }
                Def::Param(i) => self.params.push((*i, l)),
                Def::Inst(_, args) => {
                    stack.push((l, true));
                    stack.extend(args.iter().rev().map(|&a| (a, false)));
                }
                Def::Fold(..) => {
                    return not_one_kernel(format!("`{}` is read before it is complete", self.lanes[l].name));
                }
            }
        }
        Ok(())
    }

    fn finish(mut self, space: Space, targets: &[(usize, Buf)]) -> Map {
        // an update comes last of the inputs and first of the outputs
        let mut targets = targets.to_vec();
        let updated = targets.iter().position(|(_, b)| self.inputs.contains(b));
        if let Some(t) = updated {
            targets[..=t].rotate_right(1);
            if let Some(i) = self.inputs.iter().position(|b| *b == targets[0].1) {
                self.inputs[i..].rotate_left(1);
                self.input_lanes[i..].rotate_left(1);
            }
        }
        let last = self.inputs.len().wrapping_sub(1);
        let mut names = Names::default();
        let mut vars: BTreeMap<usize, Var> = BTreeMap::new();
        let mut program = Program {
            name: String::new(),
            ..Program::default()
        };
        for (i, (b, lane)) in self.inputs.iter().zip(&self.input_lanes).enumerate() {
            let buffer = self.kernel.buffer(*b);
            let splat = self.space == Space::Elem && buffer.space == Space::Row;
            let access = match splat {
                true => Access::Splat,
                false if updated.is_some() && i == last => Access::Update,
                false => Access::Lanes,
            };
            vars.insert(*lane, Var(program.inputs.len() as u16));
            // the buffer of an update has the name of its last value
            let name = match access {
                Access::Update => &self.lanes[*lane].name,
                _ => &buffer.name,
            };
            program.inputs.push(Input {
                name: names.unique(name),
                dtype: buffer.dtype,
                access,
            });
        }
        for (i, lane) in &self.params {
            let Param { name, dtype } = &self.kernel.params[usize::from(*i)];
            vars.insert(*lane, Var((program.inputs.len() + program.params.len()) as u16));
            program.params.push(Param {
                name: names.unique(name),
                dtype: *dtype,
            });
        }
        let base = program.inputs.len() + program.params.len();
        for (k, lane) in self.order.iter().enumerate() {
            let Def::Inst(op, args) = &self.lanes[*lane].def else {
                continue;
            };
            program.insts.push(Inst {
                op: *op,
                args: args.iter().map(|a| vars[a]).collect(),
                dtype: self.lanes[*lane].dtype,
                name: names.unique(&self.lanes[*lane].name),
            });
            vars.insert(*lane, Var((base + k) as u16));
        }
        let mut out_names = Names::default();
        for (lane, b) in &targets {
            let buffer = self.kernel.buffer(*b);
            program.outputs.push(Output {
                value: vars[lane],
                dtype: buffer.dtype,
                name: out_names.unique(&format!("{}_out", self.lanes[*lane].name)),
            });
        }
        program.name = self.kernel.name.clone();
        Map {
            space,
            inputs: self.inputs,
            params: self.params.iter().map(|(i, _)| *i).collect(),
            program,
            outputs: targets.iter().map(|(_, b)| *b).collect(),
        }
    }
}

#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn unique(&mut self, name: &str) -> String {
        let base = identifier(name);
        let mut s = base.clone();
        let mut k = 2;
        while !self.0.insert(s.clone()) {
            s = format!("{base}_{k}");
            k += 1;
        }
        s
    }
}
