//! `Runner`: one way to execute a case, and everything that must hold when it does.

use crate::panics::caught;
use crate::{Case, Expected, Named, Ran, Vectors, compare};
use std::fmt;
use tensorplay::compiler::{Explanation, disable_capture};
use tensorplay::{DType, Tensor};

/// A way to execute a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Runner {
    /// The plain body.
    Eager,
    /// The compiled function on emitted kernels.
    Compiled,
    /// The compiled function on the tile VM.
    Tile,
}

impl Runner {
    /// Every runner, in the order in which they run.
    pub const ALL: [Runner; 3] = [Runner::Eager, Runner::Compiled, Runner::Tile];

    /// The name in trials and closing lines.
    pub fn name(self) -> &'static str {
        match self {
            Runner::Eager => "eager",
            Runner::Compiled => "compiled",
            Runner::Tile => "tile",
        }
    }

    /// The runner of that name.
    pub fn from_name(name: &str) -> Option<Runner> {
        Runner::ALL.into_iter().find(|r| r.name() == name)
    }

    /// The kernels that `TENSORPLAY_KERNELS` asks for.
    pub fn kernels(self) -> Option<&'static str> {
        match self {
            Runner::Eager => None,
            Runner::Compiled => Some("emitted"),
            Runner::Tile => Some("tile"),
        }
    }

    /// Runs a case. `listed`: it is on the list of cases whose groups split.
    ///
    /// # Errors
    /// Everything that is wrong, a line each.
    pub fn check(self, case: &Case, vectors: &Vectors, listed: bool) -> Result<Report, String> {
        let inputs = vectors.inputs(case)?;
        let explain = || caught(case.explain).map_err(|e| format!("explain! panicked: {e}"));
        let before = explain()?;
        let outcome = self.call(case, &inputs);
        let after = explain()?;
        let dtypes: Vec<DType> = inputs.iter().map(Tensor::dtype).collect();
        let ran = Ran::between(&before, &after, &dtypes);
        let problems = match case.expected {
            Expected::Values(outputs) => {
                let right = match outcome {
                    Outcome::Returned(got) => compare::values(vectors, outputs, &got),
                    Outcome::Failed(e) => Err(vec![format!("the call returned an error: {e}")]),
                    Outcome::Panicked(e) => Err(vec![format!("the call panicked: {e}")]),
                };
                let named = if self == Runner::Eager {
                    Ok(Named::default())
                } else {
                    named(&after, ran.path, &inputs)
                };
                let proof = named.and_then(|n| ran.check_values(self, &n, listed));
                [right, proof]
            }
            Expected::Error(mentions) => [self.check_error(&outcome, mentions), ran.check_error(self)],
        };
        let problems: Vec<String> = problems.into_iter().filter_map(Result::err).flatten().collect();
        if problems.is_empty() {
            Ok(Report { ran })
        } else {
            Err(problems.join("\n"))
        }
    }

    fn call(self, case: &Case, inputs: &[Tensor]) -> Outcome {
        let call = || (case.call)(inputs);
        let result = match self {
            Runner::Eager => caught(|| disable_capture(call)),
            Runner::Compiled | Runner::Tile => caught(call),
        };
        match result {
            Ok(Ok(tensors)) => Outcome::Returned(tensors),
            Ok(Err(e)) => Outcome::Failed(e.to_string()),
            Err(panic) => Outcome::Panicked(panic),
        }
    }

    /// An eager call may panic; dispatch returns its errors.
    fn check_error(self, outcome: &Outcome, mentions: &[&str]) -> Result<(), Vec<String>> {
        let text = match outcome {
            Outcome::Failed(text) => text,
            Outcome::Panicked(text) if self == Runner::Eager => text,
            Outcome::Panicked(text) => return Err(vec![format!("the call panicked: {text}")]),
            Outcome::Returned(_) => return Err(vec!["the call returned, expected an error".into()]),
        };
        let missing = mentions.iter().filter(|m| !text.contains(**m));
        let problems: Vec<String> = missing
            .map(|m| format!("the error does not mention `{m}`: {text}"))
            .collect();
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems)
        }
    }
}

fn named(explanation: &Explanation, path: usize, inputs: &[Tensor]) -> Result<Named, Vec<String>> {
    let types: Vec<(DType, &[usize])> = inputs.iter().map(|t| (t.dtype(), t.shape())).collect();
    Named::of(explanation, path, &types).map_err(|e| vec![e])
}

impl fmt::Display for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

enum Outcome {
    Returned(Vec<Tensor>),
    Failed(String),
    Panicked(String),
}

/// What a passed case ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The function's counts.
    pub ran: Ran,
}
