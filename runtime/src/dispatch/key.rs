//! Keys: what a plan was bound to, compared with what a call brings.

use crate::layout::Sizes;
use crate::{DType, Device, Tensor, is_grad_enabled};
use smallvec::SmallVec;
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

/// What of a tensor fits one number: dtype, rank, device, and whether it takes gradients.
#[inline(always)]
fn head(dtype: DType, rank: usize, device: Device, requires_grad: bool) -> usize {
    let device = match device {
        Device::Cpu => 0,
        Device::Cuda(i) => 1 + i,
    };
    dtype as usize | rank << 8 | usize::from(requires_grad) << 24 | device << 32
}

/// Whether `words` begin with the sizes and strides, as they follow the head of a tensor.
#[inline(always)]
fn begins(words: &[usize], shape: &[usize], strides: &[usize]) -> bool {
    match (words, shape, strides) {
        // the usual ranks without loops: a mispredicted branch costs more than the comparisons
        ([a, b, c, d, ..], [m, n], [s, t]) => (a ^ m) | (b ^ n) | (c ^ s) | (d ^ t) == 0,
        ([a, b, ..], [n], [s]) => (a ^ n) | (b ^ s) == 0,
        _ => words.iter().zip(shape.iter().chain(strides)).all(|(a, b)| a == b),
    }
}

/// A number that differs where the dtypes, sizes or strides of the first two tensors do, but for accidents.
#[inline(always)]
fn print<'a>(tensors: impl Iterator<Item = (DType, &'a [usize], &'a [usize])>, of: (u64, u64)) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut h = of.0 ^ of.1.rotate_left(32);
    for (dtype, shape, strides) in tensors.take(2) {
        let mut by = ODD ^ (dtype as u64) << 1;
        for (n, s) in shape.iter().zip(strides) {
            h = h.wrapping_add((*n as u64 ^ (*s as u64).rotate_left(32)).wrapping_mul(by));
            by = by.rotate_left(9);
        }
        h = h.rotate_left(23) ^ by;
    }
    h
}

/// The print of a call.
#[inline(always)]
pub(super) fn print_of(tensors: &[&Tensor], of: (u64, u64)) -> u64 {
    let parts = tensors.iter().map(|t| (t.dtype(), t.shape(), t.strides()));
    print(parts, of)
}

/// Everything that a bound plan depends on.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Key {
    /// For each tensor its head, sizes and strides.
    words: Box<[usize]>,
    pub tensors: SmallVec<[TensorKey; 4]>,
    /// The values of the parameters that are sizes; `None` for kernel arguments.
    pub scalars: SmallVec<[Option<Host>; 2]>,
    pub grad: bool,
    /// The numbers of the backend and of the instance.
    pub of: (u64, u64),
}

impl Key {
    pub(super) fn of(tensors: &[&Tensor], scalars: &[Host], key_params: &[bool], of: (u64, u64)) -> Key {
        // numbers of aggregates follow the parameters, and belong to the key
        let in_key = |(i, h): (usize, &Host)| key_params.get(i).is_none_or(|k| *k).then_some(*h);
        let mut words = Vec::new();
        for t in tensors {
            words.push(head(t.dtype(), t.rank(), t.device(), t.requires_grad()));
            words.extend_from_slice(t.shape());
            words.extend_from_slice(t.strides());
        }
        Key {
            words: words.into(),
            tensors: tensors.iter().map(|t| TensorKey::of(t)).collect(),
            scalars: scalars.iter().enumerate().map(in_key).collect(),
            grad: is_grad_enabled(),
            of,
        }
    }

    /// The print of the calls that it fits.
    pub(super) fn print(&self) -> u64 {
        let parts = self
            .tensors
            .iter()
            .map(|k| (k.dtype, &k.shape[..], &k.strides[..]));
        print(parts, self.of)
    }

    /// Whether both differ in strides at most.
    pub(super) fn is_layout_of(&self, other: &Key) -> bool {
        let alike = |(a, b): (&TensorKey, &TensorKey)| {
            a.dtype == b.dtype
                && a.device == b.device
                && a.requires_grad == b.requires_grad
                && a.shape == b.shape
        };
        let same = |(a, b): (&Option<Host>, &Option<Host>)| match (a, b) {
            (Some(a), Some(b)) => a.same(*b),
            (a, b) => a.is_none() && b.is_none(),
        };
        self.grad == other.grad
            && self.tensors.len() == other.tensors.len()
            && self.tensors.iter().zip(&other.tensors).all(alike)
            && self.scalars.len() == other.scalars.len()
            && self.scalars.iter().zip(&other.scalars).all(same)
    }

    #[inline(always)]
    pub(super) fn fits(&self, tensors: &[&Tensor], scalars: &[Host], grad: bool, of: (u64, u64)) -> bool {
        if self.of != of || self.grad != grad || self.tensors.len() != tensors.len() {
            return false;
        }
        let mut words = &self.words[..];
        for t in tensors {
            let (shape, strides) = (t.shape(), t.strides());
            let Some((first, rest)) = words.split_first() else {
                return false;
            };
            let same = *first == head(t.dtype(), shape.len(), t.device(), t.requires_grad());
            if !(same && begins(rest, shape, strides)) {
                return false;
            }
            words = rest.get(2 * shape.len()..).unwrap_or_default();
        }
        self.scalars
            .iter()
            .zip(scalars)
            .all(|(k, h)| k.is_none_or(|k| k.same(*h)))
    }
}
