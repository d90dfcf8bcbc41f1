//! Views, joins and creation.

use super::operands::Need;
use super::{Family, Maker};
use crate::case::A;
use crate::inputs::{self, Flavour};
use tensorplay_graph::{DType, Op, Scalar};

use Op::*;
const VIEWS: &[Op] = &[
    Reshape, Flatten, FlattenAll, Transpose, T, Permute, Unsqueeze, Squeeze, Narrow, Select, Slice, Expand,
    Movedim, Contiguous, Detach, Chunk, Split,
];
const CREATE: &[Op] = &[Zeros, Ones, Full, Arange, Linspace, Eye, ZerosLike, OnesLike];

pub(super) const FAMILIES: &[Family] = &[
    Family {
        weight: 12,
        ops: VIEWS,
        args: view,
    },
    Family {
        weight: 5,
        ops: &[Cat, Stack],
        args: join,
    },
    Family {
        weight: 4,
        ops: CREATE,
        args: create,
    },
];

pub(super) const FUSED: &[Family] = &[Family {
    weight: 1,
    ops: &[Zeros, Ones, Full, Arange],
    args: create,
}];

fn join(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let (a, x) = m.receiver(Need::default());
    let (rank, d) = (x.shape.len(), x.dtype);
    let mut list = vec![a];
    for _ in 0..m.r.below(3) {
        let mut s = x.shape.clone();
        if op == Cat && rank > 0 && m.r.chance(50) {
            s[rank - 1] = m.r.below(4);
        }
        let found = m.pick(|y| y.shape == s);
        list.push(match found {
            Some(v) => v,
            None => {
                let dt = if m.r.chance(75) { Some(d) } else { None };
                m.input(dt, &s, Flavour::Any)
            }
        });
    }
    let last = if op == Cat {
        rank as i64 - 1
    } else {
        m.dim(rank + 1)
    };
    let dim = if op == Cat && list.iter().all(|&v| m.values[v].shape == x.shape) {
        m.dim(rank)
    } else {
        last
    };
    Some(vec![A::Vs(list), A::I(dim)])
}

fn view(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let (a, x) = m.receiver(Need::default());
    let one = A::V(a);
    let rank = x.shape.len();
    let size = |s: &mut Maker, d: i64| {
        let n = x
            .shape
            .get(if d < 0 { d + rank as i64 } else { d } as usize)
            .copied()
            .unwrap_or(1) as i64;
        (s.r.range(0, n), n)
    };
    Some(match op {
        FlattenAll | T | Contiguous | Detach => vec![one],
        Reshape => {
            let mut s: Vec<i64> = x.shape.iter().map(|&n| n as i64).collect();
            match m.r.below(4) {
                0 if rank > 1 => {
                    let i = m.r.below(rank - 1);
                    let n = s.remove(i);
                    s[i] *= n;
                }
                1 if rank > 0 => {
                    let i = m.r.below(rank);
                    let k = (2..5).find(|k| s[i] % k == 0).unwrap_or(1);
                    s[i] /= k;
                    s.insert(i, k);
                }
                2 => s = vec![-1],
                _ => s.reverse(),
            }
            if m.r.chance(25) && !s.is_empty() && !s.contains(&-1) {
                let i = m.r.below(s.len());
                s[i] = -1;
            }
            if s.is_empty() {
                s.push(1);
            }
            vec![one, A::Is(s)]
        }
        Flatten => {
            let (p, q) = (m.dim(rank), m.dim(rank));
            vec![one, A::I(p), A::I(q)]
        }
        Transpose | Movedim => vec![one, A::I(m.dim(rank)), A::I(m.dim(rank))],
        Permute => {
            let mut p: Vec<i64> = (0..rank as i64).collect();
            for i in (1..rank).rev() {
                p.swap(i, m.r.below(i + 1));
            }
            if p.is_empty() {
                return None;
            }
            vec![one, A::Is(p)]
        }
        Unsqueeze => vec![one, A::I(m.dim(rank + 1))],
        Squeeze => vec![one, A::I(m.dim(rank))],
        Narrow => {
            let d = m.dim(rank);
            let (start, n) = size(m, d);
            vec![one, A::I(d), A::I(start), A::I(m.r.range(0, (n - start).max(0)))]
        }
        Select => {
            let d = m.dim(rank);
            let (i, n) = size(m, d);
            let i = if m.r.chance(30) { -i } else { i };
            vec![one, A::I(d), A::I(if i == n && m.r.chance(90) { 0 } else { i })]
        }
        Slice => {
            let d = m.dim(rank);
            let (start, n) = size(m, d);
            let end = *m.r.pick(&[n, -1, i64::MAX, start + 2]);
            let start = if m.r.chance(20) { start - n } else { start };
            vec![one, A::I(d), A::I(start), A::I(end), A::I(m.r.range(1, 3))]
        }
        Expand => {
            let mut s: Vec<i64> = x
                .shape
                .iter()
                .map(|&n| match n {
                    1 => 1 + m.r.below(4) as i64,
                    n if m.r.chance(30) => -i64::from(n > 0),
                    n => n as i64,
                })
                .collect();
            if rank < 4 && m.r.chance(50) {
                s.insert(0, 1 + m.r.below(3) as i64);
            }
            if s.is_empty() {
                s.push(2);
            }
            vec![one, A::Is(s)]
        }
        Chunk | Split => {
            let d = m.dim(rank);
            vec![one, A::I(m.r.range(1, 4)), A::I(d)]
        }
        _ => return None,
    })
}

fn create(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let near = m.r.below(m.values.len());
    let shape = m.values[near].shape.clone();
    let mut shape = m.related(&shape);
    if shape.is_empty() {
        shape.push(1);
    }
    let sizes = A::Is(shape.iter().map(|&n| n as i64).collect());
    let d = inputs::dtype(&mut m.r, m.base, 70);
    let last = shape.last().copied().unwrap_or(1) as i64;
    Some(match op {
        Zeros | Ones => vec![sizes, A::D(d)],
        Full => {
            let s = m.scalar(d, Flavour::Any);
            vec![sizes, A::S(s), A::D(d)]
        }
        Arange => vec![
            A::S(Scalar::Int(m.r.range(-3, 0))),
            A::S(Scalar::Int(last)),
            A::D(if d == DType::Bool || d == DType::U8 {
                DType::I64
            } else {
                d
            }),
        ],
        Linspace => vec![
            A::S(Scalar::Float(-1.0)),
            A::S(Scalar::Float(2.5)),
            A::I(last),
            A::D(if d.is_float() { d } else { DType::F32 }),
        ],
        Eye => vec![A::I(last.min(9)), A::D(d)],
        _ => vec![A::V(near)],
    })
}
