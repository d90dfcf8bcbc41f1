//! Operands: existing values that fit, or new inputs.

use super::{Maker, Mode};
use crate::case::{A, Input, Layout, Spec, float_bits};
use crate::inputs::{self, Flavour};
use crate::reference::{self, Array};
use tensorplay_graph::{DType, Scalar};

/// What a receiver must be, mostly.
#[derive(Clone, Copy, Default)]
pub(super) struct Need {
    pub exact: bool,
    pub float: bool,
    pub int: bool,
    /// Axes at least.
    pub rank: usize,
}

pub(super) fn float(v: f64) -> A {
    A::S(Scalar::Float(v))
}

impl Maker {
    /// Whether all inputs (but indices and masks) have one dtype.
    fn forced(&self) -> bool {
        self.mode == Mode::Program && self.loyal == 100
    }

    /// What the graph promises of the next input.
    fn spec(&mut self) -> Spec {
        let mixed = [
            Spec::None,
            Spec::None,
            Spec::DType,
            Spec::Full,
            Spec::Full,
            Spec::Named,
        ];
        self.spec.unwrap_or_else(|| *self.r.pick(&mixed))
    }

    pub(super) fn input(&mut self, dtype: Option<DType>, shape: &[usize], flavour: Flavour) -> usize {
        let d = match dtype {
            Some(d) if !self.forced() || d == self.base => d,
            _ => inputs::dtype(&mut self.r, self.base, self.loyal),
        };
        let spec = self.spec();
        let i = inputs::input(&mut self.r, d, shape, flavour, spec);
        self.push_input(i)
    }

    fn push_input(&mut self, i: Input) -> usize {
        self.values.push(reference::input(&i));
        self.is_input.push(true);
        self.case.inputs.push(i);
        self.values.len() - 1
    }

    /// An operand of exactly that dtype, if inputs may have it.
    pub(super) fn same_dtype_input(&mut self, d: DType, shape: &[usize]) -> Option<A> {
        if self.forced() && d != self.base {
            return None;
        }
        Some(A::V(self.input(Some(d), shape, Flavour::Any)))
    }

    /// An existing value of that dtype and shape, or such an input.
    pub(super) fn like(&mut self, d: DType, shape: &[usize]) -> Option<A> {
        if self.r.chance(40) {
            let found = self.pick(|y| y.dtype == d && y.shape == shape);
            if let Some(v) = found {
                return Some(A::V(v));
            }
        }
        self.same_dtype_input(d, shape)
    }

    /// The same, or nothing.
    pub(super) fn maybe(&mut self, d: DType, shape: &[usize]) -> A {
        if self.r.chance(45) {
            return A::None;
        }
        self.same_dtype_input(d, shape).unwrap_or(A::None)
    }

    /// Existing integers that are all below `n`, of a rank up to `rank`.
    pub(super) fn computed(&mut self, n: usize, rank: usize) -> Option<A> {
        let fits = |c: &reference::cell::Cell| usize::try_from(c.i).is_ok_and(|i| i < n);
        let found = self.pick(|y| {
            let small = y.shape.len() <= rank && y.cells.len() <= 64;
            small && y.dtype.is_int() && y.exact() && y.cells.iter().all(fits)
        });
        found.map(A::V)
    }

    /// Indices below `n`; seldom one that is out of range.
    pub(super) fn indices(&mut self, shape: &[usize], n: usize) -> A {
        if self.r.chance(35) {
            let fits = |c: &reference::cell::Cell| usize::try_from(c.i).is_ok_and(|i| i < n);
            let found =
                self.pick(|y| y.shape == shape && y.dtype.is_int() && y.exact() && y.cells.iter().all(fits));
            if let Some(v) = found {
                return A::V(v);
            }
        }
        let d = *self.r.pick(&[DType::I64, DType::I64, DType::I32, DType::U8]);
        let limit = n + usize::from(self.r.one_in(25));
        let d = if limit > 256 { DType::I64 } else { d };
        let spec = self.spec();
        let mut i = inputs::input(&mut self.r, d, shape, Flavour::Index(limit), spec);
        if d != DType::U8 && self.r.one_in(60) && !matches!(i.layout, Layout::Expanded(_)) {
            i.bits.iter_mut().take(1).for_each(|b| *b = -1i64 as u64);
        }
        A::V(self.push_input(i))
    }

    /// A bool mask, or one of that dtype that is added.
    pub(super) fn mask(&mut self, d: DType, shape: &[usize]) -> A {
        let d = if self.r.chance(50) { DType::Bool } else { d };
        let spec = self.spec();
        let mut i = inputs::input(&mut self.r, d, shape, Flavour::Any, spec);
        if d.is_float() && !matches!(i.layout, Layout::Expanded(_)) {
            for b in &mut i.bits {
                if self.r.chance(20) {
                    *b = float_bits(d, f64::NEG_INFINITY);
                }
            }
        }
        A::V(self.push_input(i))
    }

    /// A value that fits, preferring late ones.
    pub(super) fn pick(&mut self, fits: impl Fn(&Array) -> bool) -> Option<usize> {
        let mut list: Vec<usize> = (0..self.values.len())
            .filter(|&v| fits(&self.values[v]))
            .collect();
        // groups that read the same input meet
        if self.fused && self.r.chance(40) && list.iter().any(|&v| self.is_input[v]) {
            list.retain(|&v| self.is_input[v]);
        }
        if list.is_empty() {
            return None;
        }
        let late = match self.fused {
            true => self.r.below(list.len()),
            false => self.r.below(list.len()).max(self.r.below(list.len())),
        };
        Some(list[late])
    }

    /// The first operand, and what is in it.
    pub(super) fn receiver(&mut self, need: Need) -> (usize, Array) {
        let strict = !self.r.one_in(15);
        let fits = |x: &Array| {
            (!need.exact || x.exact())
                && (!strict || !need.float || x.dtype.is_float())
                && (!strict || !need.int || !x.dtype.is_float())
                && (!strict || x.shape.len() >= need.rank)
        };
        let a = match self.pick(fits) {
            Some(a) => a,
            None => {
                let mut shape = inputs::shape(&mut self.r);
                while shape.len() < need.rank {
                    shape.insert(0, 1 + self.r.below(3));
                }
                let d = if need.float {
                    *self.r.pick(&[DType::F32, DType::F64, DType::F16])
                } else {
                    DType::I64
                };
                self.input(Some(d), &shape, Flavour::Any)
            }
        };
        (a, self.values[a].clone())
    }

    /// A shape that broadcasts with `s`.
    pub(super) fn related(&mut self, s: &[usize]) -> Vec<usize> {
        let mut t = s.to_vec();
        match self.r.below(6) {
            0 | 1 => {}
            2 => t.iter_mut().for_each(|n| {
                if self.r.chance(40) {
                    *n = 1;
                }
            }),
            3 => t = t.split_off(self.r.below(t.len() + 1)),
            4 => {
                if let Some(l) = t.last_mut() {
                    *l = 1;
                }
            }
            _ => {
                t.iter_mut().for_each(|n| {
                    if *n == 1 {
                        *n = 1 + self.r.below(4);
                    }
                });
                if t.len() < 4 && self.r.chance(30) {
                    t.insert(0, 1 + self.r.below(3));
                }
            }
        }
        t
    }

    pub(super) fn scalar(&mut self, d: DType, flavour: Flavour) -> Scalar {
        let nonzero = flavour == Flavour::NonZero;
        let program = self.mode == Mode::Program;
        match self.r.below(10) {
            0..=5 if d.is_float() || self.r.chance(30) => {
                let list = [0.5, 2.0, -1.5, 0.1, 1e-3, 3.0, 100.0, 1.0, -0.25];
                Scalar::Float(if flavour == Flavour::Exponent {
                    *self.r.pick(&[0.5, 2.0, 3.0, 1.7, -1.0])
                } else {
                    *self.r.pick(&list)
                })
            }
            9 if !program && !nonzero && flavour == Flavour::Any && self.r.one_in(3) => {
                Scalar::Bool(self.r.chance(50))
            }
            _ if flavour == Flavour::Exponent => Scalar::Int(self.r.range(0, 5)),
            _ if d == DType::U8 || d == DType::Bool => Scalar::Int(self.r.range(i64::from(nonzero), 7)),
            _ => {
                let n = self.r.range(-4, 7);
                Scalar::Int(if nonzero && n == 0 && !self.r.one_in(5) {
                    2
                } else {
                    n
                })
            }
        }
    }

    /// The right operand of a broadcasting operation.
    pub(super) fn operand(&mut self, a: usize, may_scalar: bool, flavour: Flavour, exact: bool) -> A {
        let x = self.values[a].clone();
        if may_scalar && self.r.chance(30) {
            return A::S(self.scalar(x.dtype, flavour));
        }
        if flavour == Flavour::Any && self.r.chance(if self.fused { 80 } else { 50 }) {
            let found = self.pick(|y| reference::broadcasts(&x.shape, &y.shape) && (!exact || y.exact()));
            if let Some(v) = found {
                return A::V(v);
            }
        }
        let shape = self.related(&x.shape);
        let d = if self.r.chance(80) { Some(x.dtype) } else { None };
        let zero_too = flavour == Flavour::NonZero && self.r.one_in(if x.dtype.is_int() { 5 } else { 25 });
        A::V(self.input(d, &shape, if zero_too { Flavour::Any } else { flavour }))
    }

    pub(super) fn dim(&mut self, rank: usize) -> i64 {
        let n = rank.max(1) as i64;
        if self.r.one_in(60) {
            n
        } else {
            self.r.range(-n, n - 1)
        }
    }

    pub(super) fn dims(&mut self, rank: usize) -> Vec<i64> {
        let mut l: Vec<i64> = (0..rank as i64).filter(|_| self.r.chance(45)).collect();
        if l.is_empty() && (self.mode == Mode::Program || self.r.chance(80)) {
            l.push(self.r.below(rank.max(1)) as i64);
        }
        if self.r.chance(20) {
            l.reverse();
        }
        for d in &mut l {
            if self.r.chance(35) {
                *d -= rank.max(1) as i64;
            }
        }
        l
    }
}
