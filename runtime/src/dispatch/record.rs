//! The calls that a piece of code makes, and the variables that it may change, noted for `bisect`.

use super::function::Function;
use super::mode::{self, Mode};
use crate::backend::registry::Slot;
use crate::dispatch::HostArg;
use crate::{Result, Tensor};
use std::cell::RefCell;
use std::sync::Arc;
use tensorplay_graph::GraphModule;

/// A call of a compiled function.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    pub function: &'static Function,
    /// The backend that it ran on, unless that is the built-in compiler.
    pub backend: Option<&'static Slot>,
    pub tensors: Vec<Tensor>,
    pub scalars: Vec<HostArg>,
    /// What its own backend was given for it, if the function is a region with one; then there are no arguments.
    pub graph: Option<(Arc<GraphModule>, Vec<Tensor>)>,
}

/// What calls did, noted before they ran.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// The calls in the order in which they ended.
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

/// Notes a call, behind those that it makes: what these get wrong is not its fault.
pub(super) fn noted<R>(
    function: &'static Function,
    tensors: &[&Tensor],
    scalars: &[HostArg],
    call: impl FnOnce() -> R,
) -> R {
    RECORD.with_borrow_mut(|record| record.variables.keep(tensors.iter().copied()));
    let _ended = Ended(Some(Noted {
        function,
        // an unknown name is the error of the call
        backend: function.backend().ok().flatten(),
        // values as they are now: variables may change before they are looked at
        tensors: tensors.iter().map(|t| t.snapshot()).collect(),
        scalars: scalars.to_vec(),
        graph: None,
    }));
    call()
}

/// A call that is noted when it ends, also with a panic.
struct Ended(Option<Noted>);

impl Drop for Ended {
    fn drop(&mut self) {
        if let Some(noted) = self.0.take() {
            RECORD.with_borrow_mut(|record| record.calls.push(noted));
        }
    }
}

/// Notes what a backend of its own is given for a region.
pub(super) fn note_region(
    function: &'static Function,
    slot: &'static Slot,
    graph: &Arc<GraphModule>,
    inputs: &[Tensor],
) {
    if let Mode::Record = mode::current() {
        RECORD.with_borrow_mut(|record| {
            record.calls.push(Noted {
                function,
                backend: Some(slot),
                tensors: Vec::new(),
                scalars: Vec::new(),
                graph: Some((graph.clone(), inputs.to_vec())),
            });
        });
    }
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
