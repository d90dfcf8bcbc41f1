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

    #[inline]
    fn fits(&self, t: &Tensor) -> bool {
        self.dtype == t.dtype()
            && same(&self.shape, t.shape())
            && same(&self.strides, t.strides())
            && self.requires_grad == t.requires_grad()
            && self.device == t.device()
    }
}

/// Compares a few numbers where they are: a call of the C library's costs more than that.
#[inline(always)]
fn same(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x == y)
}

/// Everything that a bound plan depends on.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Key {
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
        Key {
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

    #[inline]
    pub(super) fn fits(&self, tensors: &[&Tensor], scalars: &[Host], grad: bool, of: (u64, u64)) -> bool {
        self.of == of
            && self.tensors.len() == tensors.len()
            && self.tensors.iter().zip(tensors).all(|(k, t)| k.fits(t))
            && self
                .scalars
                .iter()
                .zip(scalars)
                .all(|(k, h)| k.is_none_or(|k| k.same(*h)))
            && self.grad == grad
    }
}
