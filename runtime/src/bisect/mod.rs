//! `bisect`: which part of the compiler makes a result wrong.
//!
//! Problem: a compiled function gives something else than its plain body, and the graph has a hundred nodes. Method: the
//! calls of compiled functions that a piece of code makes are noted with their inputs. For each, the graph as it was written
//! is run operation by operation; then, for the built-in compiler, its passes are applied one by one, and after that its
//! groups are fused one by one; for any other backend, growing prefixes of the graph are compiled. The first step after
//! which the results differ is the culprit.
//! Invariants: every run of a call draws the same random numbers and starts from the same values of variables, which are
//! left as they were found; the process's own random numbers are not drawn; nothing that is tried is kept in the functions'
//! tables.

mod call;
mod prefix;
mod reproducer;
mod stax;

use crate::dispatch::record::{self, Noted, Record, Variables};
use crate::dispatch::{Function, HostArg, disable_capture};
use crate::{Error, Result, Tensor, random};
use call::Call;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// How far two results may be apart: `|x - y| <= atol + rtol * |y|`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tolerance {
    /// Relative.
    pub rtol: f64,
    /// Absolute.
    pub atol: f64,
}

impl Tolerance {
    /// Whether `got` is close to `want`, in dtype, shape and values.
    pub(crate) fn accepts(self, got: &[Tensor], want: &[Tensor]) -> bool {
        let close = |(a, b): (&Tensor, &Tensor)| {
            a.dtype() == b.dtype() && a.shape() == b.shape() && a.allclose(b, self.rtol, self.atol)
        };
        got.len() == want.len() && got.iter().zip(want).all(close)
    }
}

/// What makes a result wrong.
#[derive(Clone, PartialEq, Debug)]
pub struct Culprit {
    /// The backend.
    pub backend: String,
    /// The compiled function.
    pub function: String,
    /// The first pass after which the graph means something else.
    pub pass: Option<String>,
    /// The first fused group that gives something else than its operations.
    pub group: Option<String>,
    /// The operation, as it was written.
    pub op: String,
    /// The node in words, with what it is bound to.
    pub node: String,
    /// The source file.
    pub file: String,
    /// The line of the operation, or of the function; 0 if it is not known.
    pub line: u32,
    /// A folder with the graph as text, its inputs and a program that runs them, if it could be written.
    pub reproducer: Option<PathBuf>,
}

impl fmt::Display for Culprit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "backend `{}` is wrong in `{}` at {}",
            self.backend, self.function, self.node
        )?;
        if let Some(pass) = &self.pass {
            write!(f, ", after pass `{pass}`")?;
        }
        if let Some(group) = &self.group {
            write!(f, ", in group `{group}`")?;
        }
        match &self.reproducer {
            Some(path) => write!(f, "; graph and inputs are in {}", path.display()),
            None => Ok(()),
        }
    }
}

/// Finds what makes the compiled functions in `f` give something else than their plain bodies for `inputs`, on the backend
/// that is in scope; `None` if they give the same. `f` runs twice, with the same random numbers and the same values of the
/// variables that it takes or hands to compiled functions; these have their old values afterwards.
///
/// ```
/// # mod tensorplay { pub use tensorplay_runtime::*; pub mod prelude { pub use tensorplay_runtime::*; } }
/// use tensorplay::{compiler::{Tolerance, bisect}, prelude::*};
/// let x = Tensor::from_slice(&[1.0f32, 4.0], 2);
/// let tolerance = Tolerance { rtol: 1e-5, atol: 1e-6 };
/// assert_eq!(bisect(|x| x[0].sqrt(), &[x], tolerance)?, None);
/// # Ok::<(), tensorplay::Error>(())
/// ```
///
/// # Errors
/// A call cannot be linked; or the results differ, and every part agrees by itself: the difference is in plain code
/// between compiled functions, or adds up out of what is within the tolerance.
///
/// # Panics
/// If the plain body does.
pub fn bisect(
    f: impl Fn(&[Tensor]) -> Tensor,
    inputs: &[Tensor],
    tolerance: Tolerance,
) -> Result<Option<Culprit>> {
    let start = random::state();
    // a call that panics is as wrong as one that gives something else
    let compiled = || catch_unwind(AssertUnwindSafe(|| f(inputs)));
    let (got, Record { calls, variables }) =
        record::recorded(inputs, || random::drawing_from(start, compiled));
    variables.restore()?;
    // also when the plain body panics
    let put_back = Restored(&variables);
    let want = random::drawing_from(start, || disable_capture(|| f(inputs)));
    drop(put_back);
    if let Ok(got) = &got
        && tolerance.accepts(std::slice::from_ref(got), std::slice::from_ref(&want))
    {
        return Ok(None);
    }
    for noted in calls {
        let call = Call::of(&noted)?;
        let found = match call.backend {
            None => stax::find(&call, tolerance)?,
            Some(slot) => prefix::find(&call, slot, tolerance)?,
        };
        if let Some(found) = found {
            return Ok(Some(call.culprit(found)));
        }
    }
    Err(Error::msg(
        "the results differ, but every compiled function in the call agrees with its graph by itself",
    )
    .with_help(
        "look at the plain code between them, or give a tolerance that the sum of their roundings keeps",
    ))
}

/// Gives variables their old values when it is dropped.
struct Restored<'a>(&'a Variables);

impl Drop for Restored<'_> {
    fn drop(&mut self) {
        // values of their own shape and dtype are always taken
        let _ = self.0.restore();
    }
}

/// The first fused group of a call that gives something else than its operations one by one.
pub(crate) fn groups(
    function: &'static Function,
    tensors: &[Tensor],
    scalars: &[HostArg],
    tolerance: Tolerance,
) -> Result<Option<Culprit>> {
    let noted = Noted {
        function,
        backend: None,
        graph: None,
        tensors: tensors.to_vec(),
        scalars: scalars.to_vec(),
    };
    let call = Call::of(&noted)?;
    let found = stax::group_by_group(&call, tolerance)?;
    Ok(found.map(|found| call.culprit(found)))
}
