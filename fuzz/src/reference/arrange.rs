//! Elements moved by index arithmetic: flip, roll, repeat, triangles, padding.

use super::view::{gather, number};
use super::{Array, Eval, Stop, axis, int, ints, refuse, sizes, val};
use crate::case::{A, count, each, strides};
use tensorplay_graph::{Host, Op, Scalar};

/// Every element from the source that `from` names, or `outside`.
fn chosen(
    x: &Array,
    shape: Vec<usize>,
    outside: Scalar,
    from: impl Fn(&[usize]) -> Option<Vec<usize>>,
) -> Array {
    let st = strides(&x.shape);
    let other = number(x.dtype, outside);
    let mut cells = Vec::with_capacity(count(&shape));
    each(&shape, |at| {
        cells.push(from(at).map_or(other, |at| {
            x.cells[at.iter().zip(&st).map(|(a, s)| a * s).sum::<usize>()]
        }));
    });
    Array::of(x.dtype, shape, cells)
}

fn pad(x: &Array, pads: &[i64], mode: &A) -> Eval {
    let A::O(mode) = mode else {
        return refuse("not a mode");
    };
    let rank = x.shape.len();
    if pads.len() % 2 == 1 || pads.len() / 2 > rank {
        return refuse("pads");
    }
    let kind = mode[0].and_then(Host::as_int).unwrap_or(0);
    let mut shape = x.shape.clone();
    let mut first = vec![0i64; rank];
    for (k, p) in pads.chunks(2).enumerate() {
        let a = rank - 1 - k;
        let n = x.shape[a] as i64;
        let far = p[0].max(p[1]);
        if far > 0 && ((kind == 1 && far >= n) || (kind == 2 && n == 0)) {
            return refuse("nothing to mirror or repeat");
        }
        shape[a] = usize::try_from(n + p[0] + p[1]).or_else(|_| refuse("crops too much"))?;
        first[a] = p[0];
    }
    let value = match mode[1] {
        Some(Host::Float(f)) => Scalar::Float(f),
        _ => Scalar::Int(0),
    };
    let source = |at: &[usize]| {
        let one = |a: usize| {
            let (i, n) = (at[a] as i64 - first[a], x.shape[a] as i64);
            let i = match kind {
                _ if (0..n).contains(&i) => i,
                1 if i < 0 => -i,
                1 => 2 * (n - 1) - i,
                2 => i.clamp(0, n - 1),
                _ => return None,
            };
            Some(i as usize)
        };
        (0..rank).map(one).collect()
    };
    Ok(chosen(x, shape, value, source))
}

/// Runs a rearrangement.
pub fn eval(op: Op, args: &[A], v: &[Array]) -> Eval {
    let x = val(&args[0], v)?;
    let (rank, n) = (x.shape.len(), x.shape.clone());
    let same = n.clone();
    Ok(match op {
        Op::Flip => {
            let mut over = Vec::new();
            for &d in ints(&args[1])? {
                let a = axis(d, rank)?;
                if over.contains(&a) {
                    return refuse("dim twice");
                }
                over.push(a);
            }
            gather(x, same, |at| {
                let mut at = at.to_vec();
                over.iter().for_each(|&a| at[a] = n[a] - 1 - at[a]);
                at
            })
        }
        Op::Roll => {
            let (shift, a) = (int(&args[1])?, axis(int(&args[2])?, rank.max(1))?);
            gather(x, same, |at| {
                let mut at = at.to_vec();
                if let Some(i) = at.get_mut(a) {
                    *i = (*i as i128 - i128::from(shift)).rem_euclid(n[a] as i128) as usize;
                }
                at
            })
        }
        Op::Repeat => {
            let times = sizes(&args[1])?;
            let Some(new) = times.len().checked_sub(rank) else {
                return refuse("rank");
            };
            let shape = times
                .iter()
                .enumerate()
                .map(|(i, t)| if i < new { *t } else { t * n[i - new] })
                .collect();
            gather(x, shape, |at| (0..rank).map(|a| at[new + a] % n[a]).collect())
        }
        Op::Tril | Op::Triu => {
            if rank < 2 {
                return refuse("rank");
            }
            let k = i128::from(int(&args[1])?);
            chosen(x, same, Scalar::Int(0), |at| {
                let distance = at[rank - 1] as i128 - at[rank - 2] as i128;
                let keep = if op == Op::Tril {
                    distance <= k
                } else {
                    distance >= k
                };
                keep.then(|| at.to_vec())
            })
        }
        Op::Pad => pad(x, ints(&args[1])?, &args[2])?,
        _ => return Err(Stop::Unknown),
    })
}
