//! Tensors from host values.

use super::*;

/// The shape argument.
pub fn create(c: &Call<'_>) -> Rule {
    if c.unknown_sizes(0) {
        return Ok(vec![None]);
    }
    if let Some(n) = c.ints(0).into_iter().flatten().find(|&n| n < 0) {
        return Err(c
            .error(Code::VALUE, format!("{n} is not a size"))
            .help("sizes are >= 0")
            .at([0]));
    }
    Ok(vec![Some(c.sizes(0))])
}

/// `ceil(end - start)` elements.
pub fn arange(c: &Call<'_>) -> Rule {
    let bound = |i: usize| match c.args.get(i) {
        Some(ArgType::Host(Some(h))) => h.as_scalar(),
        _ => None,
    };
    let (Some(start), Some(end)) = (bound(0), bound(1)) else {
        return Ok(vec![Some(vec![Dim::Unknown])]);
    };
    let number = match (start, end) {
        (Scalar::Int(a), Scalar::Int(b)) => usize::try_from(i128::from(b) - i128::from(a)).ok(),
        _ => match (end.to_f64() - start.to_f64()).ceil() {
            n if (0.0..9e18).contains(&n) => Some(n as usize),
            _ => None,
        },
    };
    let Some(number) = number else {
        let message = format!("the range {start}..{end} is not increasing and finite");
        return Err(c
            .error(Code::VALUE, message)
            .help("the start must not exceed the end")
            .at([0, 1]));
    };
    Ok(vec![Some(vec![Dim::Known(number)])])
}

/// `n` elements.
pub fn linspace(c: &Call<'_>) -> Rule {
    repeated(c, 2, 1)
}

/// An n by n matrix.
pub fn eye(c: &Call<'_>) -> Rule {
    repeated(c, 0, 2)
}

/// `rank` sizes that are all argument `arg`.
fn repeated(c: &Call<'_>, arg: usize, rank: usize) -> Rule {
    if let Some(n) = c.int(arg).filter(|&n| n < 0) {
        return Err(c
            .error(Code::VALUE, format!("{n} is not a size"))
            .help("sizes are >= 0")
            .at([arg]));
    }
    Ok(vec![Some(vec![c.sizes(arg)[0]; rank])])
}
