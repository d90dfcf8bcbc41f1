//! Convolutions, pooling, resampling, attention.

use super::operands::Need;
use super::{Family, Maker};
use crate::case::{A, count};
use tensorplay_graph::{DType, Host, Op};

use Op::*;
pub(super) const FAMILIES: &[Family] = &[
    Family {
        weight: 6,
        ops: &[Conv1d, Conv2d, Conv2d, ConvTranspose2d],
        args: convolution,
    },
    Family {
        weight: 5,
        ops: &[MaxPool1d, MaxPool2d, AvgPool1d, AvgPool2d],
        args: pool,
    },
    Family {
        weight: 1,
        ops: &[AdaptiveAvgPool2d],
        args: adaptive,
    },
    Family {
        weight: 2,
        ops: &[Interpolate],
        args: interpolate,
    },
    Family {
        weight: 4,
        ops: &[ScaledDotProductAttention],
        args: attention,
    },
];

fn ints(l: &[i64]) -> A {
    A::O(l.iter().map(|&n| Some(Host::Int(n))).collect())
}

impl Maker {
    /// A batch of images, or of signals: existing, or an input.
    fn images(&mut self, rank: usize, float: bool) -> Option<usize> {
        let fits = |n: usize| n == rank;
        if self.r.chance(50) {
            let found =
                self.pick(|x| fits(x.shape.len()) && (!float || x.dtype.is_float()) && x.cells.len() <= 2000);
            if let Some(v) = found {
                return Some(v);
            }
        }
        let mut shape = vec![*self.r.pick(&[1, 1, 2, 3]), *self.r.pick(&[1, 2, 3, 4, 6, 8])];
        while shape.len() < rank {
            shape.push(*self.r.pick(&[1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17]));
        }
        // beyond the blocks of kernels
        if self.r.one_in(10) {
            shape.iter_mut().for_each(|n| *n = (*n).min(3));
            let last = shape.len() - 1;
            shape[last] = *self.r.pick(&[33, 40, 300]);
            if last > 2 && shape[last] < 100 {
                shape[last - 1] = 33;
                shape[1] = 1;
            }
        }
        if self.r.one_in(30) {
            let at = self.r.below(rank);
            shape[at] = 0;
        }
        if self.r.one_in(40) {
            shape.pop();
        }
        while count(&shape) > 2000 {
            let at = self.r.below(shape.len());
            shape[at] = shape[at].div_ceil(2);
        }
        let d = self.kind(float);
        match self.same_dtype_input(d, &shape)? {
            A::V(v) => Some(v),
            _ => None,
        }
    }

    /// A dtype for an operation that takes floats.
    fn kind(&mut self, float: bool) -> DType {
        if self.base.is_float() || !float || self.r.one_in(15) {
            self.base
        } else {
            *self.r.pick(&[DType::F32, DType::F64, DType::F16, DType::BF16])
        }
    }

    /// A number of at least `lowest`, seldom less.
    fn setting(&mut self, lowest: i64, list: &[i64]) -> i64 {
        if self.r.one_in(150) {
            lowest - 1
        } else {
            *self.r.pick(list)
        }
    }
}

fn convolution(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let axes = if op == Conv1d { 1 } else { 2 };
    let a = m.images(axes + 2, true)?;
    let x = m.values[a].clone();
    let (d, channels) = (x.dtype, x.shape.get(1).copied().unwrap_or(1));
    let divisors: Vec<usize> = (1..=channels.max(1)).filter(|g| channels % g == 0).collect();
    let g = match m.r.below(25) {
        0 => 2,
        1..=12 => 1,
        _ => *m.r.pick(&divisors),
    };
    let per_group = *m.r.pick(&[1, 1, 2, 3, 4, 9, 17]);
    let mut w = match op {
        ConvTranspose2d => vec![channels, per_group],
        _ => vec![per_group * g, channels / g],
    };
    let (mut stride, mut padding, mut dilation, mut extra) = (vec![], vec![], vec![], vec![]);
    for _ in 0..axes {
        w.push(*m.r.pick(&[1, 1, 2, 3, 3, 4, 5]));
        stride.push(m.setting(1, &[1, 1, 1, 2, 2, 3]));
        padding.push(m.setting(0, &[0, 0, 1, 1, 2, 3]));
        dilation.push(m.setting(1, &[1, 1, 1, 2, 3]));
        let most = stride.last().max(dilation.last()).copied().unwrap_or(1);
        let within = i64::from(!m.r.one_in(20));
        extra.push(if m.r.chance(70) {
            0
        } else {
            m.r.range(0, most.max(1) - within)
        });
    }
    if m.r.one_in(50) {
        w[1] += 1;
    }
    let gives = if op == ConvTranspose2d {
        per_group * g
    } else {
        w[0]
    };
    let weight = m.like(d, &w)?;
    let bias = m.maybe(d, &[gives]);
    let mut list = [stride, padding].concat();
    if op == ConvTranspose2d {
        list.extend(extra);
    }
    list.extend(dilation);
    list.push(if m.r.one_in(150) { 0 } else { g as i64 });
    Some(vec![A::V(a), weight, bias, ints(&list)])
}

fn pool(m: &mut Maker, op: Op) -> Option<Vec<A>> {
    let float = matches!(op, AvgPool1d | AvgPool2d);
    let axes = if matches!(op, MaxPool1d | AvgPool1d) { 1 } else { 2 };
    let a = match m.r.chance(50) {
        true => m.images(axes + 2, float)?,
        false => {
            let need = Need {
                float,
                rank: axes,
                ..Need::default()
            };
            m.receiver(need).0
        }
    };
    let (mut kernel, mut stride, mut padding) = (vec![], vec![], vec![]);
    for _ in 0..2 {
        let k = m.setting(1, &[1, 2, 2, 3, 3, 4]);
        kernel.push(k);
        padding.push(if m.r.one_in(40) {
            k
        } else {
            m.r.range(0, k.max(0) / 2)
        });
    }
    for k in &kernel {
        stride.push(if m.r.chance(50) {
            *k
        } else {
            m.setting(1, &[1, 1, 2, 3])
        });
    }
    Some(vec![A::V(a), ints(&[kernel, stride, padding].concat())])
}

/// Two sizes, or one for both.
fn size(m: &mut Maker) -> A {
    let one = |m: &mut Maker| match m.r.below(60) {
        0 => 0,
        1 => -1,
        _ => *m.r.pick(&[1, 1, 2, 3, 4, 5, 7, 9, 16]),
    };
    let mut l = vec![one(m), one(m)];
    l.truncate(if m.r.one_in(6) { 1 } else { 2 });
    A::Is(l)
}

fn adaptive(m: &mut Maker, _: Op) -> Option<Vec<A>> {
    let need = Need {
        float: true,
        rank: 2,
        ..Need::default()
    };
    let a = match m.r.chance(50) {
        true => m.images(4, true)?,
        false => m.receiver(need).0,
    };
    Some(vec![A::V(a), size(m)])
}

fn interpolate(m: &mut Maker, _: Op) -> Option<Vec<A>> {
    let nearest = m.r.chance(40);
    let a = m.images(4, !nearest)?;
    let to = size(m);
    let mode = if nearest {
        vec![Some(Host::Int(0)), None]
    } else {
        vec![Some(Host::Int(1)), Some(Host::Bool(m.r.chance(50)))]
    };
    Some(vec![A::V(a), to, A::O(mode)])
}

fn attention(m: &mut Maker, _: Op) -> Option<Vec<A>> {
    let found = m.pick(|x| {
        x.dtype.is_float() && (2..=4).contains(&x.shape.len()) && x.cells.len() <= 600 && x.poisoned() == 0
    });
    let q = match found.filter(|_| m.r.chance(50)) {
        Some(q) => q,
        None => {
            let mut shape = vec![*m.r.pick(&[1, 2, 3, 5, 7, 17]), *m.r.pick(&[1, 2, 4, 5, 8])];
            if m.r.one_in(12) {
                // more than a block of rows
                shape[0] = *m.r.pick(&[130, 150]);
            }
            for _ in 0..m.r.below(3) {
                shape.insert(0, *m.r.pick(&[1, 2, 3]));
            }
            if m.r.one_in(25) {
                let at = m.r.below(shape.len());
                shape[at] = 0;
            }
            let d = m.kind(true);
            match m.same_dtype_input(d, &shape)? {
                A::V(v) => v,
                _ => return None,
            }
        }
    };
    let x = m.values[q].clone();
    let (d, n) = (x.dtype, x.shape.len());
    let (lead, rows, e) = (x.shape[..n - 2].to_vec(), x.shape[n - 2], x.shape[n - 1]);
    let keys = match m.r.below(20) {
        0 => 0,
        1..=7 => rows,
        8 if rows > 100 => 200,
        _ => *m.r.pick(&[1, 2, 3, 6, 9, 33]),
    };
    let with = |m: &mut Maker, end: [usize; 2]| {
        let mut s = match m.r.chance(60) {
            true => lead.clone(),
            false => m.related(&lead),
        };
        s.extend(end);
        m.like(d, &s)
    };
    let width = *m.r.pick(&[1, 2, 3, 5, 8]);
    let wrong = usize::from(m.r.one_in(50));
    let k = with(m, [keys, e + wrong])?;
    let v = if m.r.one_in(8) && wrong == 0 {
        k.clone()
    } else {
        with(m, [keys, width])?
    };
    let mask = match m.r.below(6) {
        0 | 1 => A::None,
        2 => m.mask(d, &[rows, keys]),
        3 => m.mask(d, &[keys]),
        4 => m.mask(d, &[rows, 1]),
        _ => {
            let mut s: Vec<usize> = lead.iter().map(|&n| if m.r.chance(40) { 1 } else { n }).collect();
            s.extend([rows, keys]);
            m.mask(d, &s)
        }
    };
    let scale = m.r.chance(25).then(|| *m.r.pick(&[1.0, 0.5, 0.1, -0.25]));
    let options = A::O(vec![Some(Host::Bool(m.r.chance(35))), scale.map(Host::Float)]);
    Some(vec![A::V(q), k, v, mask, options])
}
