//! Views.

use super::*;

/// The element count, if it is known and fits.
fn count(s: &[Dim]) -> Option<usize> {
    s.iter().try_fold(1usize, |n, d| size(n.checked_mul(d.known()?)))
}

/// The size of `count(s) / count(divisor)`: a number, or the one symbol that is left.
fn quotient(s: &[Dim], divisor: &[Dim]) -> Dim {
    /// The product of the numbers, and the symbols; `None` if something is unknown.
    fn product(s: &[Dim]) -> Option<(usize, Vec<Dim>)> {
        let (mut known, mut symbols) = (1usize, Vec::new());
        for d in s {
            match d {
                Dim::Known(n) => known = size(known.checked_mul(*n))?,
                Dim::Symbol(_) => symbols.push(*d),
                Dim::Unknown => return None,
            }
        }
        Some((known, symbols))
    }
    let (Some((n, mut symbols)), Some((m, cancelled))) = (product(s), product(divisor)) else {
        return Dim::Unknown;
    };
    for d in cancelled {
        match symbols.iter().position(|s| *s == d) {
            Some(at) => symbols.swap_remove(at),
            None => return Dim::Unknown,
        };
    }
    match symbols[..] {
        [d] if n == m && m > 0 => d,
        [] if m > 0 && n % m == 0 => Dim::Known(n / m),
        _ => Dim::Unknown,
    }
}

/// A given shape with at most one -1.
pub fn reshape(c: &Call<'_>) -> Rule {
    if c.unknown_sizes(1) {
        return Ok(vec![None]);
    }
    let want = c.ints(1);
    let x = c.shape(0);
    if want.iter().filter(|&&d| d == Some(-1)).count() > 1 {
        return Err(c
            .error(Code::RESHAPE, "more than one size is -1")
            .help("only one size can be inferred")
            .at([1]));
    }
    if let Some(d) = want.iter().flatten().find(|&&d| d < -1) {
        return Err(c
            .error(Code::RESHAPE, format!("{d} is not a size"))
            .help("sizes are >= 0, or one -1")
            .at([1]));
    }
    let mut out = c.sizes(1);
    let total = x.as_deref().and_then(count);
    let given: Option<usize> = want
        .iter()
        .filter(|&&d| d != Some(-1))
        .try_fold(1usize, |n, d| d.map(|d| n.saturating_mul(d as usize)));
    let (Some(total), Some(given)) = (total, given) else {
        if let (Some(at), Some(s)) = (want.iter().position(|&d| d == Some(-1)), &x) {
            out[at] = Dim::Known(1);
            out[at] = quotient(s, &out);
        }
        return Ok(vec![Some(out)]);
    };
    let shown = || {
        format!(
            "[{}]",
            want.iter()
                .map(|d| d.map_or("_".into(), |d| d.to_string()))
                .collect::<Vec<_>>()
                .join(", ")
        )
    };
    if let Some(at) = want.iter().position(|&d| d == Some(-1)) {
        if given == 0 || total % given != 0 {
            let message = format!(
                "{} has {total} elements, which do not fill {}",
                c.show(&x),
                shown()
            );
            return Err(c
                .error(Code::RESHAPE, message)
                .help("the other sizes must divide the element count")
                .at([0, 1]));
        }
        out[at] = Dim::Known(total / given);
    } else if total != given {
        let message = format!("{} has {total} elements, {} has {given}", c.show(&x), shown());
        return Err(c
            .error(Code::RESHAPE, message)
            .help("write -1 for one size to infer it")
            .at([0, 1]));
    }
    Ok(vec![Some(out)])
}

/// Merged axes.
pub fn flatten(c: &Call<'_>) -> Rule {
    let Some(s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let (Some(from), Some(to)) = (c.int(1), c.int(2)) else {
        return Ok(vec![None]);
    };
    if s.is_empty() {
        // PyTorch lets a scalar be flattened along dim 0 or -1
        c.axis(1, from, 1)?;
        c.axis(2, to, 1)?;
        return Ok(vec![Some(vec![Dim::Known(1)])]);
    }
    let (from, to) = (c.axis(1, from, s.len())?, c.axis(2, to, s.len())?);
    if from > to {
        return Err(c
            .error(Code::VALUE, format!("from ({from}) is behind to ({to})"))
            .help("write the first axis to merge, then the last")
            .at([1, 2]));
    }
    let merged = if from == to {
        s[from]
    } else {
        quotient(&s[from..=to], &[])
    };
    let mut out = s[..from].to_vec();
    out.push(merged);
    out.extend_from_slice(&s[to + 1..]);
    Ok(vec![Some(out)])
}

/// One axis.
pub fn flatten_all(c: &Call<'_>) -> Rule {
    Ok(vec![Some(vec![
        c.shape(0).map_or(Dim::Unknown, |s| quotient(&s, &[])),
    ])])
}

/// Two axes swapped.
pub fn transpose(c: &Call<'_>) -> Rule {
    let Some(mut s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let (Some(a), Some(b)) = (c.int(1), c.int(2)) else {
        return Ok(vec![Some(vec![Dim::Unknown; s.len()])]);
    };
    let (a, b) = (c.axis_or_scalar(1, a, s.len())?, c.axis_or_scalar(2, b, s.len())?);
    if s.is_empty() {
        return Ok(vec![Some(s)]);
    }
    s.swap(a, b);
    Ok(vec![Some(s)])
}

/// A matrix transposed.
pub fn t(c: &Call<'_>) -> Rule {
    let Some(mut s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    if s.len() > 2 {
        let message = format!(
            "{} has rank {}, expected at most 2",
            c.show(&Some(s.clone())),
            s.len()
        );
        return Err(c
            .error(Code::RANK, message)
            .help("write transpose(-1, -2)")
            .at([0]));
    }
    s.reverse();
    Ok(vec![Some(s)])
}

/// Axes reordered.
pub fn permute(c: &Call<'_>) -> Rule {
    let Some(s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let dims = c.ints(1);
    if dims.len() != s.len() {
        let message = format!(
            "{} given for a tensor of rank {}",
            plural(dims.len(), "dim"),
            s.len()
        );
        return Err(c.error(Code::RANK, message).help("name every dim once").at([1]));
    }
    if s.is_empty() {
        return Ok(vec![Some(s)]);
    }
    let Some(axes) = c.axes(1, s.len())? else {
        return Ok(vec![Some(vec![Dim::Unknown; s.len()])]);
    };
    Ok(vec![Some(axes.into_iter().map(|a| s[a]).collect())])
}

/// A new axis of size 1.
pub fn unsqueeze(c: &Call<'_>) -> Rule {
    let Some(mut s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let Some(d) = c.int(1) else {
        return Ok(vec![Some(vec![Dim::Unknown; s.len() + 1])]);
    };
    let at = c.place(1, d, s.len(), s.len() + 1)?;
    s.insert(at, Dim::Known(1));
    Ok(vec![Some(s)])
}

/// An axis removed if its size is 1.
pub fn squeeze(c: &Call<'_>) -> Rule {
    let Some(mut s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let Some(d) = c.int(1) else { return Ok(vec![None]) };
    if s.is_empty() && matches!(d, 0 | -1) {
        return Ok(vec![Some(s)]);
    }
    let at = c.axis(1, d, s.len())?;
    match s[at] {
        Dim::Known(1) => {
            s.remove(at);
            Ok(vec![Some(s)])
        }
        d if c.not_one(d) => Ok(vec![Some(s)]),
        _ => Ok(vec![None]),
    }
}

/// `len` elements from `start`.
pub fn narrow(c: &Call<'_>) -> Rule {
    let (start, len) = (c.int(2), c.int(3));
    let (Some(mut s), Some(d)) = (c.shape(0), c.int(1)) else {
        // no size of the tensor makes these right
        for (i, what) in [(2, "start"), (3, "len")] {
            if let Some(n) = c.int(i).filter(|&n| n < 0) {
                return Err(c
                    .error(Code::BOUNDS, format!("{what} is {n}"))
                    .help("start and len are not negative; start counts from the front")
                    .at([i]));
            }
        }
        return Ok(vec![c.shape(0).map(|s| vec![Dim::Unknown; s.len()])]);
    };
    let at = c.axis(1, d, s.len())?;
    let largest = match s[at] {
        Dim::Known(n) => Some(n),
        Dim::Symbol(i) => c.symbols.get(i as usize).and_then(|s| s.hi),
        Dim::Unknown => None,
    };
    let (first, count) = (start.unwrap_or(0), len.unwrap_or(0));
    if first < 0 || count < 0 || largest.is_some_and(|n| first.saturating_add(count) > n as i64) {
        let show = |v: Option<i64>| v.map_or("_".to_string(), |v| v.to_string());
        let message = format!(
            "start {} with len {} is outside dim {at} of {} (size {})",
            show(start),
            show(len),
            c.show(&Some(s.clone())),
            c.show_dim(s[at])
        );
        return Err(c
            .error(Code::BOUNDS, message)
            .help("start + len must not exceed the size")
            .at([2, 3]));
    }
    s[at] = c.sizes(3)[0];
    Ok(vec![Some(s)])
}

/// One index of an axis.
pub fn select(c: &Call<'_>) -> Rule {
    let Some(mut s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let Some(d) = c.int(1) else {
        return Ok(vec![Some(vec![Dim::Unknown; s.len().saturating_sub(1)])]);
    };
    let at = c.axis(1, d, s.len())?;
    if let (Some(i), Dim::Known(n)) = (c.int(2), s[at])
        && (i < -(n as i64) || i >= n as i64)
    {
        let message = format!(
            "index {i} is out of range for dim {at} of {} (size {n})",
            c.show(&Some(s))
        );
        let help = match n {
            0 => "the dim is empty".to_string(),
            n => format!("valid indices are -{n}..={}", n - 1),
        };
        return Err(c.error(Code::BOUNDS, message).help(help).at([2]));
    }
    s.remove(at);
    Ok(vec![Some(s)])
}

/// The bounds of a Python slice with a positive step, clamped to `n`: `(start, len)`.
pub fn slice_bounds(n: usize, start: i64, end: i64, step: i64) -> (usize, usize) {
    let n = n as i64;
    let clamp = |v: i64| if v < 0 { (v + n).max(0) } else { v.min(n) };
    let (start, end) = (clamp(start), clamp(end));
    (
        start as usize,
        ((end - start).max(0) as usize).div_ceil(step.max(1) as usize),
    )
}

/// Elements `start, start + step, ..` below `end`.
pub fn slice(c: &Call<'_>) -> Rule {
    if let Some(step) = c.int(4).filter(|&step| step < 1) {
        return Err(c
            .error(Code::VALUE, format!("step is {step}"))
            .help("steps are positive; flip(..) reverses")
            .at([4]));
    }
    let Some(mut s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let Some(d) = c.int(1) else {
        return Ok(vec![Some(vec![Dim::Unknown; s.len()])]);
    };
    let at = c.axis(1, d, s.len())?;
    s[at] = match (c.int(2), c.int(3), c.int(4), s[at]) {
        (Some(start), Some(end), Some(step), Dim::Known(n)) => {
            Dim::Known(slice_bounds(n, start, end, step).1)
        }
        (Some(0), Some(i64::MAX), Some(1), d) => d,
        _ => Dim::Unknown,
    };
    Ok(vec![Some(s)])
}

/// Size-1 axes repeated without a copy.
pub fn expand(c: &Call<'_>) -> Rule {
    if c.unknown_sizes(1) {
        return Ok(vec![None]);
    }
    let want = c.ints(1);
    let x = c.shape(0);
    let Some(s) = &x else {
        if let Some(n) = want.iter().flatten().find(|&&n| n < -1) {
            return Err(c
                .error(Code::RESHAPE, format!("{n} is not a size here"))
                .help("-1 keeps an existing size")
                .at([1]));
        }
        return Ok(vec![Some(c.sizes(1))]);
    };
    if want.len() < s.len() {
        let message = format!("{} given for {}", plural(want.len(), "size"), c.show(&x));
        return Err(c
            .error(Code::RESHAPE, message)
            .help("an expanded tensor has at least the same rank")
            .at([1]));
    }
    let lead = want.len() - s.len();
    let given = c.sizes(1);
    let mut out = Vec::with_capacity(want.len());
    for (i, d) in want.iter().enumerate() {
        let old = i.checked_sub(lead).map(|i| s[i]);
        out.push(match (d, old) {
            (Some(-1), Some(old)) => old,
            (Some(n), _) if *n < 0 => {
                return Err(c
                    .error(Code::RESHAPE, format!("{n} is not a size here"))
                    .help("-1 keeps an existing size")
                    .at([1]));
            }
            (Some(n), Some(Dim::Known(m))) if m != 1 && m as i64 != *n => {
                let message = format!(
                    "dim {i} of {} has size {m}, which does not expand to {n}",
                    c.show(&x)
                );
                return Err(c
                    .error(Code::RESHAPE, message)
                    .help("only size 1 expands")
                    .at([0, 1]));
            }
            (Some(n), _) => Dim::Known(*n as usize),
            (None, Some(old)) if c.not_one(old) || old == given[i] => old,
            (None, _) => given[i],
        });
    }
    Ok(vec![Some(out)])
}

/// An axis moved.
pub fn movedim(c: &Call<'_>) -> Rule {
    let Some(mut s) = c.shape(0) else {
        return Ok(vec![None]);
    };
    let (Some(a), Some(b)) = (c.int(1), c.int(2)) else {
        return Ok(vec![Some(vec![Dim::Unknown; s.len()])]);
    };
    let (a, b) = (c.axis_or_scalar(1, a, s.len())?, c.axis_or_scalar(2, b, s.len())?);
    if s.is_empty() {
        return Ok(vec![Some(s)]);
    }
    let d = s.remove(a);
    s.insert(b, d);
    Ok(vec![Some(s)])
}
