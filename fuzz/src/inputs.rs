//! Random inputs: dtypes, sizes, special values, layouts.

use crate::case::{Input, Layout, Spec, count, each, float_bits, strides};
use crate::rng::Rng;
use tensorplay_graph::DType;

/// What values an input holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flavour {
    /// A mix.
    Any,
    /// No zeros: a divisor.
    NonZero,
    /// Small integers that are not negative: exponents.
    Exponent,
    /// Positive floats.
    Positive,
    /// Indices below a number.
    Index(usize),
}

/// A dtype: mostly `base`.
pub fn dtype(r: &mut Rng, base: DType, loyal: usize) -> DType {
    if r.chance(loyal) {
        base
    } else {
        *r.pick(&DType::ALL)
    }
}

/// The dtype of most tensors of a case.
pub fn base(r: &mut Rng) -> DType {
    use DType::*;
    *r.pick(&[
        F32, F32, F32, F32, F32, F32, F32, F64, F64, F16, F16, BF16, I32, I64, U8, Bool,
    ])
}

/// Sizes of a tensor of rank 0 to 5 with few elements.
pub fn shape(r: &mut Rng) -> Vec<usize> {
    let rank = *r.pick(&[0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 5]);
    let mut s: Vec<usize> = Vec::new();
    for i in 0..rank {
        let small = [1, 2, 2, 3, 3, 4, 5, 1];
        let large = [7, 8, 9, 16, 17, 33, 5, 3];
        let longest = [64, 65, 100, 130, 257, 1];
        let n = match r.below(40) {
            0 => 0,
            1 if rank <= 2 => *r.pick(&longest),
            2..=13 if rank <= 3 || i + 1 == rank => *r.pick(&large),
            _ => *r.pick(&small),
        };
        s.push(n);
    }
    while count(&s) > 3000 {
        let at = r.below(s.len());
        s[at] = s[at].div_ceil(4);
    }
    s
}

const SPECIAL: [f64; 20] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    0.0,
    -0.0,
    1e-45,
    -3e-42,
    1.2e-38,
    6e-8,
    65504.0,
    -7e4,
    3.4e38,
    -3.4e38,
    0.5,
    -0.5,
    1.5,
    2.5,
    1e10,
    -1e-10,
    88.7,
];

fn float(r: &mut Rng, kind: usize, flavour: Flavour) -> f64 {
    match flavour {
        Flavour::Exponent => return r.range(-2, 4) as f64 / if kind == 0 { 1.0 } else { 2.0 },
        Flavour::Positive => return r.unit() * 4.0 + 0.01,
        _ => {}
    }
    let x = match kind {
        0..=3 => (r.unit() - 0.5) * 6.0,
        4 | 5 => r.range(-16, 16) as f64 / 4.0,
        6 => (r.unit() - 0.5) * 200.0,
        _ if r.one_in(4) => *r.pick(&SPECIAL),
        _ => r.range(-9, 9) as f64,
    };
    if flavour == Flavour::NonZero && x == 0.0 {
        1.25
    } else {
        x
    }
}

fn integer(r: &mut Rng, d: DType, kind: usize, flavour: Flavour) -> i64 {
    if d == DType::Bool {
        return r.range(i64::from(flavour == Flavour::NonZero), 1);
    }
    match flavour {
        Flavour::Exponent => return r.range(0, 5),
        Flavour::Index(n) => return r.below(n) as i64,
        _ => {}
    }
    let x = match (d, kind) {
        (DType::U8, 0..=5) => r.range(0, 9),
        (DType::U8, _) => r.range(0, 255),
        (_, 0..=5) => r.range(-5, 9),
        (DType::I32, _) => *r.pick(&[
            i64::from(i32::MIN),
            i64::from(i32::MAX),
            -1,
            0,
            1,
            7,
            -12345,
            16_777_217,
            1 << 30,
        ]),
        _ => *r.pick(&[i64::MIN, i64::MAX, -1, 0, 1, 7, -12345, (1 << 53) + 1, 1 << 40]),
    };
    if flavour == Flavour::NonZero && x == 0 {
        3
    } else {
        x
    }
}

fn layout(r: &mut Rng, shape: &[usize]) -> Layout {
    let rank = shape.len();
    match r.below(8) {
        0 | 1 if rank > 1 => {
            let mut p: Vec<usize> = (0..rank).collect();
            for i in (1..rank).rev() {
                p.swap(i, r.below(i + 1));
            }
            Layout::Permuted(p)
        }
        2 if rank > 0 => Layout::Stepped(r.below(rank), 1 + r.below(3)),
        3 if rank > 0 => Layout::Expanded((0..rank).filter(|_| r.chance(50)).collect()),
        _ => Layout::Contiguous,
    }
}

/// An input of that dtype and shape.
pub fn input(r: &mut Rng, dtype: DType, shape: &[usize], flavour: Flavour, spec: Spec) -> Input {
    let layout = layout(r, shape);
    let mut memory = shape.to_vec();
    if let Layout::Expanded(axes) = &layout {
        axes.iter().for_each(|&a| memory[a] = memory[a].min(1));
    }
    let kind = r.below(8);
    let compact: Vec<u64> = (0..count(&memory))
        .map(|_| {
            if dtype.is_float() {
                float_bits(dtype, float(r, kind, flavour))
            } else {
                integer(r, dtype, kind, flavour) as u64
            }
        })
        .collect();
    let st = strides(&memory);
    let mut bits = Vec::new();
    each(shape, |at| {
        bits.push(
            compact[at
                .iter()
                .zip(&memory)
                .zip(&st)
                .map(|((&a, &n), s)| if n == 1 { 0 } else { a * s })
                .sum::<usize>()],
        );
    });
    Input {
        dtype,
        shape: shape.to_vec(),
        bits,
        layout,
        spec,
    }
}
