//! Buffer placement: values whose lives do not overlap share memory of one arena.

use super::{Buffer, Step};
use crate::storage::alignment;
use std::sync::Arc;

/// A buffer before placement; its number is its place among them.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub bytes: usize,
    /// It leaves the call.
    pub escapes: bool,
}

/// What begins the number of a buffer before placement.
pub(crate) const BUFFER: u32 = 1 << 31;

/// Which draft a base is, if it is one.
fn draft(base: u32) -> Option<usize> {
    (base & BUFFER != 0).then_some((base & !BUFFER) as usize)
}

/// Calls `f` with every base that a step touches.
pub(crate) fn bases(step: &Step, f: &mut impl FnMut(u32)) {
    match step {
        Step::Kernel(k) => k.operands.iter().chain(&k.outputs).for_each(|r| f(r.base)),
        Step::Matmul(m) => [m.a, m.b, m.out].iter().for_each(|r| f(r.base)),
        Step::Copy(c) => [c.src, c.dst].iter().for_each(|r| f(r.base)),
        Step::Draw(d) => f(d.base),
        Step::Op(o) => o.operands.iter().chain(&o.outputs).for_each(|d| f(d.at.base)),
        Step::Region(r) => {
            r.places().for_each(|p| f(p.base));
            r.outputs.iter().for_each(|d| f(d.at.base));
        }
    }
}

/// Calls `f` with every base of a step that no other plan holds.
pub(crate) fn bases_mut(step: &mut Step, f: &mut impl FnMut(&mut u32)) {
    match step {
        Step::Kernel(k) => {
            let Some(k) = Arc::get_mut(k) else { return };
            let refs = k.operands.iter_mut().chain(&mut k.outputs);
            refs.for_each(|r| f(&mut r.base));
            k.divisors.iter_mut().for_each(|d| f(&mut d.at.base));
        }
        Step::Matmul(m) => {
            let Some(m) = Arc::get_mut(m) else { return };
            [&mut m.a, &mut m.b, &mut m.out]
                .into_iter()
                .for_each(|r| f(&mut r.base));
        }
        Step::Copy(c) => {
            let Some(c) = Arc::get_mut(c) else { return };
            [&mut c.src, &mut c.dst].into_iter().for_each(|r| f(&mut r.base));
        }
        Step::Draw(d) => {
            let Some(d) = Arc::get_mut(d) else { return };
            f(&mut d.base);
        }
        Step::Op(o) => {
            let Some(o) = Arc::get_mut(o) else { return };
            let all = o.operands.iter_mut().chain(&mut o.outputs);
            all.for_each(|d| f(&mut d.at.base));
        }
        Step::Region(r) => {
            let Some(r) = Arc::get_mut(r) else { return };
            r.bases_mut().for_each(f);
        }
    }
}

/// Places every draft and returns the arena's size: largest first, each at the lowest offset that is free during its life.
pub(crate) fn place(drafts: &[Draft], steps: &[Step]) -> (Vec<Buffer>, usize) {
    let mut lives = vec![(usize::MAX, 0); drafts.len()];
    for (i, step) in steps.iter().enumerate() {
        bases(step, &mut |b| {
            if let Some(life) = draft(b).and_then(|d| lives.get_mut(d)) {
                life.0 = life.0.min(i);
                life.1 = i;
            }
        });
    }
    let mut order: Vec<usize> = (0..drafts.len()).filter(|&i| !drafts[i].escapes).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(drafts[i].bytes), i));
    let mut buffers: Vec<Buffer> = drafts.iter().map(|d| Buffer::Fresh(d.bytes)).collect();
    let mut placed: Vec<(usize, usize, usize)> = Vec::new();
    let mut size = 0;
    for i in order {
        let align = alignment(drafts[i].bytes);
        let bytes = drafts[i].bytes.next_multiple_of(align);
        let overlaps = |j: usize| lives[i].0 <= lives[j].1 && lives[j].0 <= lives[i].1;
        let mut taken: Vec<(usize, usize)> = placed
            .iter()
            .filter(|p| overlaps(p.0))
            .map(|p| (p.1, p.1 + p.2))
            .collect();
        taken.sort_unstable();
        let mut at = 0;
        for (start, end) in taken {
            if at + bytes <= start {
                break;
            }
            at = at.max(end).next_multiple_of(align);
        }
        placed.push((i, at, bytes));
        buffers[i] = Buffer::Arena(at);
        size = size.max(at + bytes);
    }
    (buffers, size)
}
