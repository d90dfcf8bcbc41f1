//! `Outputs`: the results of a dispatched call, taken in order.

use crate::plan::Results;
use crate::{Error, Tensor};

/// The results of a dispatched call: what it returns, taken from left to right, then new values of `&mut` parameters.
#[doc(hidden)]
#[derive(Debug)]
pub struct Outputs {
    tensors: smallvec::IntoIter<[Tensor; 2]>,
    codes: std::slice::Iter<'static, u32>,
    writes: &'static [u32],
}

impl Outputs {
    pub(super) fn new(tensors: Results, codes: &'static [u32], writes: &'static [u32]) -> Outputs {
        Outputs {
            tensors: tensors.into_iter(),
            codes: codes.iter(),
            writes,
        }
    }

    /// The next tensor.
    #[track_caller]
    #[inline(never)]
    pub fn tensor(&mut self) -> Tensor {
        match self.tensors.next() {
            Some(t) => t,
            None => Error::msg("a compiled function has no more results").raise(),
        }
    }

    /// What a `Vec` holds on the path that the call took.
    pub fn list<T>(&mut self, mut element: impl FnMut(&mut Outputs) -> T) -> Vec<T> {
        let n = self.code();
        (0..n).map(|_| element(self)).collect()
    }

    /// What an `Option` holds on the path that the call took.
    pub fn optional<T>(&mut self, held: impl FnOnce(&mut Outputs) -> T) -> Option<T> {
        (self.code() > 0).then(|| held(self))
    }

    /// The new value of tensor `input`, if this path assigns it. These are taken in the order of the parameters,
    /// when all that is returned was.
    #[inline(never)]
    pub fn written(&mut self, input: u32) -> Option<Tensor> {
        let (first, rest) = self.writes.split_first()?;
        if *first != input {
            return None;
        }
        self.writes = rest;
        self.tensors.next()
    }

    fn code(&mut self) -> u32 {
        self.codes.next().copied().unwrap_or_default()
    }
}
