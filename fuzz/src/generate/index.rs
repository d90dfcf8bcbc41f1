//! Rearrangements, indices, order.

use super::operands::Need;
use super::{Family, Maker};
use crate::case::A;
use crate::reference::Array;
use tensorplay_graph::{DType, Host, Op};

use Op::*;
pub(super) const FAMILIES: &[Family] = &[
    Family {
        weight: 6,
        ops: &[Flip, Roll, Repeat, Tril, Triu, Pad, Pad],
        args: arrange,
    },
    Family {
        weight: 7,
        ops: &[
            IndexSelect,
            Gather,
            Scatter,
            ScatterAdd,
            IndexAdd,
            SliceScatter,
            Embedding,
            OneHot,
        ],
        args: index,
    },
    Family {
        weight: 3,
        ops: &[Topk, Sort],
        args: order,
    },
];

fn arrange(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let (a, x) = m.receiver(Need {
        rank: if matches!(op, Tril | Triu) { 2 } else { 0 },
        ..Need::default()
    });
    let (one, rank) = (A::V(a), x.shape.len());
    Some(match op {
        Flip => vec![one, A::Is(m.dims(rank))],
        Roll => vec![one, A::I(m.r.range(-7, 9)), A::I(m.dim(rank))],
        Repeat => {
            let mut times: Vec<i64> = (0..rank).map(|_| *m.r.pick(&[1, 1, 2, 3])).collect();
            if m.r.chance(30) {
                times.insert(0, *m.r.pick(&[1, 2, 3]));
            }
            if m.r.one_in(20) {
                let n = m.r.range(-1, 0);
                times.push(n);
            }
            if times.is_empty() {
                times.push(2);
            }
            vec![one, A::Is(times)]
        }
        Tril | Triu => vec![one, A::I(m.r.range(-4, 4))],
        _ => vec![one, A::Is(pads(m, &x)), mode(m)],
    })
}

fn pads(m: &mut Maker, x: &Array) -> Vec<i64> {
    let axes = x.shape.len().min(1 + m.r.below(3));
    let mut l = Vec::new();
    for k in 0..axes {
        let n = x.shape[x.shape.len() - 1 - k] as i64;
        for _ in 0..2 {
            l.push(match m.r.below(12) {
                0 => -1,
                1 => n,
                2..=4 => 0,
                5..=8 => m.r.range(0, (n - 1).clamp(0, 3)),
                _ => m.r.range(0, 3),
            });
        }
    }
    if l.is_empty() || m.r.one_in(40) {
        l.extend([1, 0]);
    }
    l
}

fn mode(m: &mut Maker) -> A {
    let value = *m.r.pick(&[0.0, 1.5, -2.0, 3.0]);
    let number = m.r.below(3) as i64;
    A::O(vec![
        Some(Host::Int(number)),
        (number == 0).then_some(Host::Float(value)),
    ])
}

/// Sizes that are not above those of a shape, and free along an axis.
fn within(m: &mut Maker, shape: &[usize], free: usize) -> Vec<usize> {
    let mut s = shape.to_vec();
    for (i, n) in s.iter_mut().enumerate() {
        if i == free {
            *n = *m.r.pick(&[1, 2, 3, 5]);
        } else if m.r.chance(25) {
            *n = m.r.below(*n + 1);
        }
    }
    if m.r.one_in(50)
        && let Some(n) = s.first_mut()
    {
        *n += 1;
    }
    s
}

fn index(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    if op == OneHot {
        let found = m.pick(|x| {
            x.dtype.is_int()
                && x.exact()
                && x.cells.len() < 300
                && x.cells.iter().all(|c| (0..20).contains(&c.i))
        });
        let x = match found.filter(|_| m.r.chance(50)) {
            Some(v) => A::V(v),
            None => {
                let shape = crate::inputs::shape(&mut m.r);
                m.indices(&shape, 5)
            }
        };
        let A::V(v) = x else { return None };
        let most = m.values[v].cells.iter().map(|c| c.i).max().unwrap_or(0);
        let classes = if m.r.one_in(15) {
            most
        } else {
            most + m.r.range(1, 3)
        };
        return Some(vec![x, A::I(classes)]);
    }
    if op == Embedding {
        let found = m.pick(|x| x.shape.len() == 2);
        let table = match found.filter(|_| m.r.chance(60)) {
            Some(v) => v,
            None => {
                let (rows, width) = (*m.r.pick(&[1, 3, 7, 10]), *m.r.pick(&[1, 3, 8]));
                m.input(None, &[rows, width], crate::inputs::Flavour::Any)
            }
        };
        let rows = m.values[table].shape[0];
        if m.r.chance(40)
            && let Some(idx) = m.computed(rows, 3)
        {
            return Some(vec![A::V(table), idx]);
        }
        let shape =
            m.r.pick(&[vec![], vec![3], vec![2, 3], vec![1], vec![0], vec![2, 1, 4]])
                .clone();
        return Some(vec![A::V(table), m.indices(&shape, rows)]);
    }
    let scalar = m.r.one_in(15);
    let (a, x) = m.receiver(Need {
        rank: usize::from(!scalar),
        ..Need::default()
    });
    let (one, rank, d) = (A::V(a), x.shape.len(), x.dtype);
    let dim = m.dim(rank);
    let at = if dim < 0 { dim + rank as i64 } else { dim } as usize;
    let n = x.shape.get(at).copied().unwrap_or(1);
    Some(match op {
        IndexSelect => {
            if m.r.chance(40)
                && let Some(idx) = m.computed(n, 1)
            {
                return Some(vec![one, idx, A::I(dim)]);
            }
            let shape = m.r.pick(&[vec![1], vec![3], vec![5], vec![0], vec![]]).clone();
            vec![one, m.indices(&shape, n), A::I(dim)]
        }
        IndexAdd => {
            let k = *m.r.pick(&[0, 1, 2, 3, 6]);
            let mut shape = x.shape.clone();
            if let Some(s) = shape.get_mut(at) {
                *s = if m.r.one_in(40) { k + 1 } else { k };
            }
            let idx = m.indices(&[k], n);
            vec![one, idx, source(m, d, &shape)?, A::I(dim)]
        }
        SliceScatter => {
            let len = m.r.below(n + 1);
            let beyond = usize::from(m.r.one_in(40));
            let start = m.r.below(n - len + 1 + beyond) as i64;
            let mut shape = x.shape.clone();
            if let Some(s) = shape.get_mut(at) {
                *s = len;
            }
            let start = if m.r.one_in(60) { -1 } else { start };
            vec![one, A::I(dim), A::I(start), source(m, d, &shape)?]
        }
        Gather => {
            let shape = within(m, &x.shape, at);
            vec![one, m.indices(&shape, n), A::I(dim)]
        }
        _ => {
            let shape = within(m, &x.shape, at);
            let idx = m.indices(&shape, n);
            let mut larger = shape;
            larger.iter_mut().for_each(|n| {
                if m.r.chance(20) {
                    *n += m.r.below(3);
                }
            });
            if m.r.one_in(50) {
                larger.pop();
            }
            vec![one, idx, source(m, d, &larger)?, A::I(dim)]
        }
    })
}

/// What is written: mostly of the receiver's dtype.
fn source(m: &mut Maker, d: DType, shape: &[usize]) -> Option<A> {
    if m.r.one_in(40) {
        return Some(A::V(m.input(None, shape, crate::inputs::Flavour::Any)));
    }
    m.like(d, shape)
}

fn order(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let exact = !m.r.one_in(12);
    let (a, x) = m.receiver(Need {
        exact,
        ..Need::default()
    });
    let (rank, one) = (x.shape.len(), A::V(a));
    let dim = m.dim(rank);
    if op == Sort {
        return Some(vec![one, A::I(dim), A::B(m.r.chance(50))]);
    }
    let at = if dim < 0 { dim + rank as i64 } else { dim } as usize;
    let n = x.shape.get(at).copied().unwrap_or(1) as i64;
    let k = if m.r.one_in(30) { n + 1 } else { m.r.range(0, n) };
    Some(vec![one, A::I(k), A::I(dim)])
}
