//! Reductions: axes go, or stay at size 1.

use super::*;

fn reduce_with(c: &Call<'_>, keepdim: bool, nonempty: bool) -> Rule {
    let Some(s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let arg = c.dims_arg();
    // PyTorch lets a scalar be reduced along dim 0 or -1
    let scalar_ok = s.is_empty() && c.ints(arg).iter().all(|d| matches!(d, Some(0 | -1) | None));
    let axes = if scalar_ok {
        Some(Vec::new())
    } else {
        c.axes(arg, s.len())?
    };
    let Some(axes) = axes else {
        let list = c.ints(arg);
        let rank = if keepdim {
            s.len()
        } else {
            s.len().saturating_sub(list.len())
        };
        return Ok(vec![Some(vec![Dim::Unknown; rank])]);
    };
    if nonempty {
        nonempty_axes(c, &s, &axes)?;
    }
    let out = s
        .iter()
        .enumerate()
        .filter_map(|(i, &d)| match (axes.contains(&i), keepdim) {
            (false, _) => Some(d),
            (true, true) => Some(Dim::Known(1)),
            (true, false) => None,
        });
    Ok(vec![Some(out.collect())])
}

fn nonempty_axes(c: &Call<'_>, s: &[Dim], axes: &[usize]) -> Result<(), OpError> {
    match axes.iter().find(|&&a| s[a] == Dim::Known(0)) {
        Some(a) => Err(c
            .error(
                Code::EMPTY,
                format!(
                    "dim {a} of {} is empty, and {} has no identity",
                    c.show(&Some(s.to_vec())),
                    c.name()
                ),
            )
            .help("reduce dims of size 1 or more; check the size before the function is called")
            .at([0])),
        None => Ok(()),
    }
}

/// Without the reduced axes.
pub fn reduce(c: &Call<'_>) -> Rule {
    reduce_with(c, false, false)
}

/// Like [`reduce`], for a norm: an infinite one is a largest or smallest value, which an empty axis does not have.
pub fn reduce_p(c: &Call<'_>) -> Rule {
    let infinite = match c.args.get(1) {
        Some(ArgType::Host(Some(h))) => h.as_float().is_some_and(f64::is_infinite),
        _ => false,
    };
    reduce_with(c, false, infinite)
}

/// With the reduced axes at size 1.
pub fn reduce_keepdim(c: &Call<'_>) -> Rule {
    reduce_with(c, true, false)
}

/// A scalar.
pub fn reduce_all(_: &Call<'_>) -> Rule {
    Ok(vec![Some(Vec::new())])
}

/// Like [`reduce`]; no reduced axis may be empty.
pub fn reduce_nonempty(c: &Call<'_>) -> Rule {
    reduce_with(c, false, true)
}

/// Like [`reduce_keepdim`]; no reduced axis may be empty.
pub fn reduce_nonempty_keepdim(c: &Call<'_>) -> Rule {
    reduce_with(c, true, true)
}

/// A scalar; no axis may be empty.
pub fn reduce_nonempty_all(c: &Call<'_>) -> Rule {
    if let Some(s) = c.shape(0) {
        let axes: Vec<usize> = (0..s.len()).collect();
        nonempty_axes(c, &s, &axes)?;
    }
    reduce_all(c)
}
