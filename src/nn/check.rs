//! What sizes of layers must be.

use crate::{Error, Result};
use tensorplay_runtime::Dim;

fn error(layer: &str, message: String, help: &str) -> Error {
    Error::Layer {
        name: layer.into(),
        message,
        help: help.into(),
    }
}

/// How many of `of` there are in each group: the groups divide both channel counts.
pub(super) fn grouped(layer: &str, cin: usize, cout: usize, groups: i64, of: usize) -> Result<usize> {
    let n = usize::try_from(groups).ok().filter(|&n| n > 0);
    match n.filter(|n| cin.is_multiple_of(*n) && cout.is_multiple_of(*n)) {
        Some(n) => Ok(of / n),
        None => Err(error(
            layer,
            format!("groups is {groups}, with {cin} input and {cout} output channels"),
            "write a number of groups that divides both",
        )),
    }
}

/// The size of a kernel: at least 1 along each axis.
pub(super) fn kernel<const N: usize>(layer: &str, kernel: [impl Dim; N]) -> Result<[usize; N]> {
    let kernel = kernel.map(Dim::to_i64);
    let sizes = kernel.map(|k| usize::try_from(k).unwrap_or(0));
    if sizes.contains(&0) {
        let message = format!("the kernel is {kernel:?}");
        return Err(error(layer, message, "write 1 or more"));
    }
    Ok(sizes)
}

/// `parts` divides `whole`: heads and width, groups and channels.
pub(super) fn divides(layer: &str, parts: (&str, usize), whole: (&str, usize)) -> Result<()> {
    let ((part, n), (name, size)) = (parts, whole);
    if n > 0 && size.is_multiple_of(n) {
        return Ok(());
    }
    Err(error(
        layer,
        format!("{part} is {n}, {name} is {size}"),
        &format!("write a number of {part} that divides {name}"),
    ))
}

/// A probability.
pub(super) fn probability(layer: &str, p: f64) -> Result<f64> {
    if (0.0..=1.0).contains(&p) {
        return Ok(p);
    }
    Err(error(
        layer,
        format!("the probability is {p}"),
        "write a number from 0 to 1",
    ))
}

/// The value, or a panic with the error's text at the caller's line.
#[track_caller]
pub(super) fn or_raise<T>(result: Result<T>) -> T {
    match result {
        Ok(v) => v,
        Err(e) => e.raise(),
    }
}
