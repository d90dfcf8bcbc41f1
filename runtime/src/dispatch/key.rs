//! Keys: what a plan was bound to, compared with what a call brings.

use crate::layout::Sizes;
use crate::{DType, Device, Tensor, is_grad_enabled};
use tensorplay_graph::Host;

#[derive(Clone, PartialEq, Debug)]
pub(super) struct TensorKey {
    pub dtype: DType,
    pub device: Device,
    pub requires_grad: bool,
    pub shape: Sizes,
    pub strides: Sizes,
}

impl TensorKey {
    pub(super) fn of(t: &Tensor) -> TensorKey {
        TensorKey {
            dtype: t.dtype(),
            device: t.device(),
            requires_grad: t.requires_grad(),
            shape: t.shape().into(),
            strides: t.strides().into(),
        }
    }
}

/// What is left of `known` behind the sizes and strides of a tensor, if it begins with these.
#[inline(always)]
fn behind<'k>(known: &'k [usize], dims: &[usize]) -> Option<&'k [usize]> {
    // the usual ranks without loops: a mispredicted branch costs more than the comparisons
    if let Ok(dims) = <&[usize; 4]>::try_from(dims) {
        let (own, rest) = known.split_first_chunk()?;
        (own == dims).then_some(rest)
    } else if let Ok(dims) = <&[usize; 2]>::try_from(dims) {
        let (own, rest) = known.split_first_chunk()?;
        (own == dims).then_some(rest)
    } else {
        let (own, rest) = known.split_at_checked(dims.len())?;
        (own == dims).then_some(rest)
    }
}

/// A number that differs where the head, sizes or strides of a tensor do, but for accidents.
#[inline(always)]
fn of_tensor(t: &Tensor) -> u64 {
    const ODD: u64 = 0x2745_937f;
    let by = |n: &usize, odd: u64| (*n as u64).wrapping_mul(odd);
    let head = t.head().wrapping_mul(0x3ade_68b1);
    let dims = match t.layout().dims() {
        [m, n, s, u] => by(m, ODD)
            .wrapping_add(by(n, 0x6c62_272f))
            .wrapping_add(by(s, 0x5bd1_e995))
            .wrapping_add(by(u, 0x1656_67b1)),
        dims => {
            let odds = (0..).map(|i| ODD.rotate_left(9 * i));
            let terms = dims.iter().zip(odds).map(|(n, odd)| by(n, odd));
            terms.fold(0, u64::wrapping_add)
        }
    };
    head.wrapping_add(dims)
}

/// The fingerprint of a call: of its first two tensors.
#[inline(always)]
pub(super) fn fingerprint(tensors: &[&Tensor], of: (u64, u64)) -> u64 {
    let h = of.0 ^ of.1.rotate_left(32);
    match tensors {
        [] => h,
        [a] => h ^ of_tensor(a),
        [a, b, ..] => h ^ of_tensor(a) ^ of_tensor(b).rotate_left(29),
    }
}

/// Everything that a bound plan depends on.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Key {
    /// The heads of the tensors.
    heads: Box<[u64]>,
    /// For each tensor its sizes and strides.
    dims: Box<[usize]>,
    /// The fingerprint of the calls that it fits.
    pub fingerprint: u64,
    pub tensors: Box<[TensorKey]>,
    /// The values of the parameters that are sizes; `None` for kernel arguments.
    pub scalars: Box<[Option<Host>]>,
    pub grad: bool,
    /// The numbers of the backend and of the instance.
    pub of: (u64, u64),
}

impl Key {
    pub(super) fn of(tensors: &[&Tensor], scalars: &[Host], key_params: &[bool], of: (u64, u64)) -> Key {
        // numbers of aggregates follow the parameters, and belong to the key
        let in_key = |(i, h): (usize, &Host)| key_params.get(i).is_none_or(|k| *k).then_some(*h);
        let dims = tensors.iter().flat_map(|t| t.layout().dims());
        Key {
            heads: tensors.iter().map(|t| t.head()).collect(),
            dims: dims.copied().collect(),
            fingerprint: fingerprint(tensors, of),
            tensors: tensors.iter().map(|t| TensorKey::of(t)).collect(),
            scalars: scalars.iter().enumerate().map(in_key).collect(),
            grad: is_grad_enabled(),
            of,
        }
    }

    /// Whether both differ in strides at most.
    pub(super) fn is_layout_of(&self, other: &Key) -> bool {
        let alike = |(a, b): (&TensorKey, &TensorKey)| {
            a.dtype == b.dtype
                && a.device == b.device
                && a.requires_grad == b.requires_grad
                && a.shape == b.shape
        };
        self.grad == other.grad
            && self.tensors.len() == other.tensors.len()
            && self.tensors.iter().zip(&other.tensors).all(alike)
            && self.scalars == other.scalars
    }

    #[inline(always)]
    pub(super) fn fits(&self, tensors: &[&Tensor], scalars: &[Host], grad: bool, of: (u64, u64)) -> bool {
        if self.of != of || self.grad != grad || self.heads.len() != tensors.len() {
            return false;
        }
        let mut known = &self.dims[..];
        for (t, head) in tensors.iter().zip(&self.heads) {
            match behind(known, t.layout().dims()) {
                Some(rest) if *head == t.head() => known = rest,
                _ => return false,
            }
        }
        let mut scalars = self.scalars.iter().zip(scalars);
        scalars.all(|(k, h)| k.is_none_or(|k| k == *h))
    }
}
