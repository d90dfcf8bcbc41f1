//! Errors of traces.

use crate::{OpError, VerifyError};
use std::fmt;
use std::panic::Location;

/// What is wrong with a traced function: everything that one run finds, in the order of the program.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceError {
    /// The faults; one at least.
    pub faults: Vec<TraceFault>,
}

/// A fault, and the line at which it is.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceFault {
    /// The source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What is wrong.
    pub kind: TraceFaultKind,
}

/// What is wrong with a call in a trace.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum TraceFaultKind {
    /// A broken rule of an operation.
    Rule(OpError),
    /// Tensors of another trace. A size of one is noticed if this trace has no value of that number.
    Foreign {
        /// The operation, or `return`.
        op: &'static str,
    },
    /// The graph does not verify.
    Invalid(Vec<VerifyError>),
}

impl TraceFault {
    pub(super) fn new(at: &Location<'_>, kind: TraceFaultKind) -> TraceFault {
        TraceFault {
            file: at.file().to_string(),
            line: at.line(),
            column: at.column(),
            kind,
        }
    }
}

impl fmt::Display for TraceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        match &self.kind {
            TraceFaultKind::Rule(e) => e.fmt(f),
            TraceFaultKind::Foreign { op } => write!(
                f,
                "{op}: the tensors belong to different traces; use those that this trace's function is given"
            ),
            TraceFaultKind::Invalid(errors) => {
                f.write_str("the traced graph does not verify:")?;
                errors.iter().try_for_each(|e| write!(f, "\n{e}"))
            }
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, fault) in self.faults.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            fault.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for TraceError {}
