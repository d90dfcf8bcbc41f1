//! The calls that a piece of code makes, noted for `bisect`.

use super::function::Function;
use super::mode::{self, Mode};
use crate::Tensor;
use crate::dispatch::HostArg;
use std::cell::RefCell;

/// A call of a compiled function.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    pub function: &'static Function,
    pub tensors: Vec<Tensor>,
    pub scalars: Vec<HostArg>,
}

thread_local!(static CALLS: RefCell<Vec<Noted>> = const { RefCell::new(Vec::new()) });

pub(super) fn note(function: &'static Function, tensors: &[&Tensor], scalars: &[HostArg]) {
    // values as they are now: variables may change before they are looked at
    let tensors = tensors.iter().map(|t| t.snapshot()).collect();
    CALLS.with_borrow_mut(|calls| {
        calls.push(Noted {
            function,
            tensors,
            scalars: scalars.to_vec(),
        });
    });
}

/// Runs `f`; its result, and the calls of compiled functions on this thread, in order.
pub(crate) fn recorded<R>(f: impl FnOnce() -> R) -> (R, Vec<Noted>) {
    let before = CALLS.take();
    struct Back(Vec<Noted>);
    impl Drop for Back {
        fn drop(&mut self) {
            CALLS.set(std::mem::take(&mut self.0));
        }
    }
    let back = Back(before);
    let result = mode::with(Mode::Record, f);
    let calls = CALLS.take();
    drop(back);
    (result, calls)
}
