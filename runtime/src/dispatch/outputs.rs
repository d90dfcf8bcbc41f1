//! `Outputs`: the results of a dispatched call, taken in order.

use super::bound::Bound;
use crate::plan::Results;
use crate::{Error, Tensor};
use std::sync::Arc;
use tensorplay_graph::{OPEN_LIST, Write};

/// The results of a dispatched call: what it returns, taken from left to right, then new values of `&mut` parameters.
#[doc(hidden)]
#[derive(Debug)]
pub struct Outputs {
    tensors: smallvec::IntoIter<[Tensor; 2]>,
    codes: std::slice::Iter<'static, u32>,
    /// What ran; nothing if the results are made up.
    bound: Option<Arc<Bound>>,
    /// How many of the places that it writes were given their values.
    written: usize,
}

impl Outputs {
    pub(super) fn new(tensors: Results, codes: &'static [u32], bound: Option<Arc<Bound>>) -> Outputs {
        Outputs {
            tensors: tensors.into_iter(),
            codes: codes.iter(),
            bound,
            written: 0,
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
        let n = self.length();
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
        let writes = self.bound.as_ref()?.writes();
        if *writes.get(self.written)? != Write::Input(input) {
            return None;
        }
        self.written += 1;
        self.tensors.next()
    }

    fn code(&mut self) -> u32 {
        self.codes.next().copied().unwrap_or_default()
    }

    fn length(&mut self) -> u32 {
        let code = self.code();
        if code & OPEN_LIST == 0 {
            return code;
        }
        let (first, n) = ((code & !OPEN_LIST) as usize, self.code() as usize);
        let lengths = self.bound.as_ref().map_or(&[][..], |b| &b.lengths);
        lengths.iter().skip(first).take(n).sum()
    }
}
