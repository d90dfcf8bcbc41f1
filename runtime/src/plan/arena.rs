//! Buffer placement: values whose lives do not overlap share memory of one arena.

use super::{Buffer, Step};
use crate::storage::alignment;

/// A buffer before placement.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub base: u32,
    pub bytes: usize,
    /// It leaves the call.
    pub escapes: bool,
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

/// Places every draft and returns the arena's size: largest first, each at the lowest offset that is free during its life.
pub(crate) fn place(drafts: &[Draft], steps: &[Step]) -> (Vec<Buffer>, usize) {
    let lives: Vec<(usize, usize)> = drafts
        .iter()
        .map(|d| {
            let (mut first, mut last) = (usize::MAX, 0);
            for (i, step) in steps.iter().enumerate() {
                bases(step, &mut |b| {
                    if b == d.base {
                        first = first.min(i);
                        last = i;
                    }
                });
            }
            (first, last)
        })
        .collect();
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
