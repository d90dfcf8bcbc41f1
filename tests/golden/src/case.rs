//! `Case`: what the build script writes about each golden case.

use tensorplay::compiler::Explanation;
use tensorplay::{DType, Error, Result, Tensor};

/// A case, built or not.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// A compiled function stands for it.
    Built(Case),
    /// Capture does not take it yet.
    Ignored {
        /// The case.
        id: &'static str,
        /// The diagnostic.
        reason: &'static str,
    },
}

impl Entry {
    /// The case's id.
    pub fn id(&self) -> &'static str {
        match self {
            Entry::Built(case) => case.id,
            Entry::Ignored { id, .. } => id,
        }
    }
}

/// A case with its compiled function.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The id, unique in the vectors.
    pub id: &'static str,
    /// Calls the function.
    pub call: fn(&[Tensor]) -> Result<Vec<Tensor>>,
    /// `explain!` of the function.
    pub explain: fn() -> Explanation,
    /// The arguments.
    pub inputs: &'static [Input],
    /// What the call gives.
    pub expected: Expected,
}

/// A tensor argument.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// The tensor's name in the vectors.
    pub key: &'static str,
    /// Its dtype.
    pub dtype: DType,
    /// Its shape.
    pub shape: &'static [usize],
    /// How it lies in memory.
    pub layout: Layout,
}

/// How an argument lies in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Row by row.
    Contiguous,
    /// The last two dims are a transposed view.
    Transposed,
    /// Every second element of the last dim.
    Strided,
}

/// What a call gives.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    /// These tensors.
    Values(&'static [Output]),
    /// An error from dispatch whose text has all of these.
    Error(&'static [&'static str]),
}

/// A right result.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// The tensor's name in the vectors.
    pub key: &'static str,
    /// Its dtype.
    pub dtype: DType,
    /// Its shape.
    pub shape: &'static [usize],
    /// The relative tolerance.
    pub rtol: f64,
    /// The absolute tolerance; with `rtol` also zero, results are equal bit by bit.
    pub atol: f64,
}

/// The error of a call with another number of tensors than the case has.
///
/// # Errors
/// Always.
pub fn arity(expected: usize, got: usize) -> Result<Vec<Tensor>> {
    Err(Error::msg(format!(
        "the case takes {expected} tensors, got {got}"
    )))
}
