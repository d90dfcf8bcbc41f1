//! The calls that a piece of code makes, and the variables that it may change, noted for `bisect`.

use super::function::Function;
use super::mode::{self, Mode};
use crate::backend::registry::Slot;
use crate::dispatch::HostArg;
use crate::{Result, Tensor};
use std::cell::RefCell;

/// A call of a compiled function.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    pub function: &'static Function,
    /// The backend that it ran on, unless that is the built-in compiler.
    pub backend: Option<&'static Slot>,
    pub tensors: Vec<Tensor>,
    pub scalars: Vec<HostArg>,
}

/// What calls did, noted before they ran.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// The calls in order.
    pub calls: Vec<Noted>,
    pub variables: Variables,
}

/// Variables, each with the value that it had at first.
#[derive(Debug, Default)]
pub(crate) struct Variables(Vec<(Tensor, Tensor)>);

impl Variables {
    /// Remembers the variables among tensors, unless they are remembered already.
    pub(crate) fn keep<'a>(&mut self, tensors: impl IntoIterator<Item = &'a Tensor>) {
        for t in tensors {
            if t.is_variable() && !self.0.iter().any(|(known, _)| known.same_variable(t)) {
                self.0.push((t.clone(), t.snapshot()));
            }
        }
    }

    /// Gives them these values again.
    pub(crate) fn restore(&self) -> Result<()> {
        self.0
            .iter()
            .try_for_each(|(variable, value)| variable.try_assign(value))
    }
}

thread_local!(static RECORD: RefCell<Record> = RefCell::default());

pub(super) fn note(function: &'static Function, tensors: &[&Tensor], scalars: &[HostArg]) {
    // a name that means nothing is the error of the call
    let backend = function.backend().ok().flatten();
    RECORD.with_borrow_mut(|record| {
        record.variables.keep(tensors.iter().copied());
        record.calls.push(Noted {
            function,
            backend,
            // values as they are now: variables may change before they are looked at
            tensors: tensors.iter().map(|t| t.snapshot()).collect(),
            scalars: scalars.to_vec(),
        });
    });
}

/// Runs `f` on these tensors; its result, and what compiled functions did on this thread.
pub(crate) fn recorded<R>(inputs: &[Tensor], f: impl FnOnce() -> R) -> (R, Record) {
    struct Back(Record);
    impl Drop for Back {
        fn drop(&mut self) {
            RECORD.set(std::mem::take(&mut self.0));
        }
    }
    let mut start = Record::default();
    start.variables.keep(inputs);
    let back = Back(RECORD.replace(start));
    let result = mode::with(Mode::Record, f);
    let record = RECORD.take();
    drop(back);
    (result, record)
}
