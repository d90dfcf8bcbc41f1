//! Reductions, scans, normalisations, losses, products of matrices.

use super::operands::{Need, float};
use super::{Family, Maker, Mode};
use crate::case::A;
use tensorplay_graph::Op;

use Op::*;
const REDUCE: &[Op] = &[
    Sum,
    Sum,
    SumKeepdim,
    SumAll,
    Mean,
    MeanKeepdim,
    MeanAll,
    Max,
    MaxKeepdim,
    MaxAll,
    Min,
    MinKeepdim,
    MinAll,
    Prod,
    Var,
    VarKeepdim,
    StdDev,
    Norm,
    Logsumexp,
    Any,
    All,
];
const ARG: &[Op] = &[Argmax, ArgmaxKeepdim, Argmin, ArgminKeepdim];
const NORMS: &[Op] = &[Softmax, LogSoftmax, LayerNorm, RmsNorm];
const LOSSES: &[Op] = &[
    CrossEntropy,
    NllLoss,
    MseLoss,
    L1Loss,
    BinaryCrossEntropyWithLogits,
];

pub(super) const FAMILIES: &[Family] = &[
    Family {
        weight: 14,
        ops: REDUCE,
        args: reduce,
    },
    Family {
        weight: 2,
        ops: ARG,
        args: arg,
    },
    Family {
        weight: 3,
        ops: &[Cumsum, Cumprod],
        args: scan,
    },
    Family {
        weight: 7,
        ops: NORMS,
        args: norm,
    },
    Family {
        weight: 4,
        ops: &[BatchNorm, GroupNorm],
        args: by_channel,
    },
    Family {
        weight: 5,
        ops: LOSSES,
        args: loss,
    },
    Family {
        weight: 1,
        ops: &[Dropout],
        args: dropout,
    },
    Family {
        weight: 6,
        ops: &[Matmul, Matmul, Linear],
        args: contract,
    },
];

pub(super) const FUSED: &[Family] = &[
    Family {
        weight: 5,
        ops: &[SumAll, MeanAll, MaxAll, MinAll],
        args: reduce,
    },
    Family {
        weight: 5,
        ops: &[Sum, SumKeepdim, Mean, MeanKeepdim, Max, MaxKeepdim, VarKeepdim],
        args: reduce,
    },
    Family {
        weight: 1,
        ops: &[Softmax, LayerNorm],
        args: norm,
    },
];

fn reduce(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let (a, x) = m.receiver(Need {
        exact: matches!(op, Any | All),
        float: matches!(
            op,
            Mean | MeanKeepdim | MeanAll | Var | VarKeepdim | StdDev | Norm
        ),
        ..Need::default()
    });
    let (one, rank) = (A::V(a), x.shape.len());
    Some(match op {
        SumAll | MeanAll | MaxAll | MinAll => vec![one],
        Var | VarKeepdim | StdDev => vec![one, A::Is(m.dims(rank)), A::I(m.r.range(0, 1))],
        Norm => {
            let p = *m.r.pick(&[0.0, 1.0, 2.0, 2.0, 3.0, 0.5, 1.5]);
            let p = if m.mode == Mode::Graph && m.r.one_in(5) {
                *m.r.pick(&[f64::INFINITY, f64::NEG_INFINITY])
            } else {
                p
            };
            vec![one, float(p), A::Is(m.dims(rank))]
        }
        _ => vec![one, A::Is(m.dims(rank))],
    })
}

fn arg(m: &mut Maker, _: Op) -> Option<Vec<A>> {
    let exact = !m.r.one_in(12);
    let (a, x) = m.receiver(Need {
        exact,
        ..Need::default()
    });
    Some(vec![A::V(a), A::I(m.dim(x.shape.len()))])
}

fn scan(m: &mut Maker, _: Op) -> Option<Vec<A>> {
    let (a, x) = m.receiver(Need::default());
    Some(vec![A::V(a), A::I(m.dim(x.shape.len()))])
}

fn norm(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let (a, x) = m.receiver(Need {
        float: true,
        ..Need::default()
    });
    let (one, rank, d) = (A::V(a), x.shape.len(), x.dtype);
    Some(match op {
        Softmax | LogSoftmax => vec![one, A::I(m.dim(rank))],
        _ => {
            let k = if op == RmsNorm {
                1
            } else {
                1 + m.r.below(rank.clamp(1, 3))
            };
            let tail = x.shape[rank.saturating_sub(k)..].to_vec();
            let w = m.same_dtype_input(d, &tail);
            if op == RmsNorm {
                vec![one, w?, float(*m.r.pick(&[1e-5, 1e-3]))]
            } else {
                let b = m.same_dtype_input(d, &tail);
                let w = if m.r.chance(60) {
                    w.unwrap_or(A::None)
                } else {
                    A::None
                };
                let b = if m.r.chance(50) {
                    b.unwrap_or(A::None)
                } else {
                    A::None
                };
                vec![one, A::I(k as i64), w, b, float(*m.r.pick(&[1e-5, 1e-3]))]
            }
        }
    })
}

fn by_channel(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let (a, x) = m.receiver(Need {
        float: true,
        rank: 2,
        ..Need::default()
    });
    let (one, d) = (A::V(a), x.dtype);
    let c = x.shape.get(1).copied().unwrap_or(1);
    let c = if m.r.one_in(40) { c + 1 } else { c };
    let eps = float(*m.r.pick(&[1e-5, 1e-3]));
    if op == GroupNorm {
        let fits: Vec<i64> = (1..=c.max(1) as i64).filter(|&g| c % g as usize == 0).collect();
        let g = if m.r.one_in(25) {
            m.r.range(0, 5)
        } else {
            *m.r.pick(&fits)
        };
        let (w, b) = (m.maybe(d, &[c]), m.maybe(d, &[c]));
        return Some(vec![one, A::I(g), w, b, eps]);
    }
    let mean = m.like(d, &[c])?;
    let var = match m.r.chance(70) {
        true => A::V(m.input(Some(d), &[c], crate::inputs::Flavour::Positive)),
        false => m.like(d, &[c])?,
    };
    let (w, b) = (m.maybe(d, &[c]), m.maybe(d, &[c]));
    Some(vec![one, mean, var, w, b, eps])
}

fn loss(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let (a, x) = m.receiver(Need {
        float: true,
        rank: usize::from(matches!(op, CrossEntropy | NllLoss)),
        ..Need::default()
    });
    if matches!(op, CrossEntropy | NllLoss) {
        let mut shape = x.shape.clone();
        let at = usize::from(shape.len() > 1);
        let classes = if shape.is_empty() { 1 } else { shape.remove(at) };
        if m.r.one_in(40) {
            shape.push(2);
        }
        return Some(vec![A::V(a), m.indices(&shape, classes)]);
    }
    let mut shape = x.shape.clone();
    if op != BinaryCrossEntropyWithLogits || m.r.one_in(20) {
        shape = m.related(&shape);
    }
    let t = m.like(x.dtype, &shape)?;
    Some(vec![A::V(a), t])
}

/// Out of training: what is random has no reference.
fn dropout(m: &mut Maker, _: Op) -> Option<Vec<A>> {
    let (a, _) = m.receiver(Need {
        float: true,
        ..Need::default()
    });
    let p = *m.r.pick(&[0.0, 0.1, 0.5, 1.0, 1.5]);
    Some(vec![A::V(a), float(p), A::B(false)])
}

fn contract(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let (a, x) = m.receiver(Need::default());
    let (one, rank, d) = (A::V(a), x.shape.len(), x.dtype);
    if rank == 0 {
        return None;
    }
    Some(match op {
        Matmul => {
            if rank == 0 {
                return None;
            }
            let k = x.shape[rank - 1];
            let n = *m.r.pick(&[1, 2, 3, 5, 8, 17]);
            let shape = match m.r.below(5) {
                0 => vec![k],
                1 if rank > 2 => {
                    let mut s = x.shape[..rank - 2].to_vec();
                    s.iter_mut().for_each(|n| {
                        if m.r.chance(30) {
                            *n = 1;
                        }
                    });
                    s.extend([k, n]);
                    s
                }
                2 => vec![*m.r.pick(&[1, 2, 3]), k, n],
                _ => vec![k, n],
            };
            let found = m.pick(|y| y.dtype == d && y.shape == shape);
            let b = match found {
                Some(v) => A::V(v),
                None => m.same_dtype_input(d, &shape)?,
            };
            vec![one, b]
        }
        _ => {
            if rank == 0 {
                return None;
            }
            let o = *m.r.pick(&[1, 3, 4, 10]);
            let w = m.same_dtype_input(d, &[o, x.shape[rank - 1]])?;
            let b = if m.r.chance(60) {
                m.same_dtype_input(d, &[o])?
            } else {
                A::None
            };
            vec![one, w, b]
        }
    })
}
