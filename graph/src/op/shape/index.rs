//! Indices, scatters, sorting, and rearrangements by index.

use super::window::too_few_axes;
use super::*;

/// The axis `d` of argument 0, if both are known. A scalar counts as one axis.
fn axis_of(c: &Call<'_>, s: &[Dim], arg: usize) -> Result<Option<usize>, OpError> {
    c.int(arg).map(|d| c.axis_or_scalar(arg, d, s.len())).transpose()
}

/// A scalar has one place: it is indexed once.
fn scalar_index(c: &Call<'_>, x: &[Dim]) -> Result<(), OpError> {
    let Some(n) = c.shape(1).and_then(|i| i.first().copied()) else {
        return Ok(());
    };
    if x.is_empty() && c.not_one(n) {
        return Err(c
            .error(
                Code::SIZES,
                format!("a scalar takes one index, {} are given", c.show_dim(n)),
            )
            .help("unsqueeze(0) it first")
            .at([0, 1]));
    }
    Ok(())
}

/// The indices have one axis; `other` is the operation for more.
fn one_axis(c: &Call<'_>, other: &str) -> Result<(), OpError> {
    match c.shape(1) {
        Some(i) if i.len() > 1 => Err(c
            .error(
                Code::RANK,
                format!("`idx` is {}, expected one axis", c.show(&Some(i))),
            )
            .help(format!("flatten_all() the indices, or use {other}"))
            .at([1])),
        _ => Ok(()),
    }
}

/// Axis `dim` is replaced by the axis of the indices.
pub fn index_select(c: &Call<'_>) -> Rule {
    one_axis(c, "gather(..)")?;
    let Some(mut out) = c.shape(0) else {
        return Ok(vec![None]);
    };
    scalar_index(c, &out)?;
    let Some(at) = axis_of(c, &out, 2)? else {
        return Ok(vec![Some(vec![Dim::Unknown; out.len()])]);
    };
    if let Some(d) = out.get_mut(at) {
        *d = match c.shape(1) {
            None => Dim::Unknown,
            Some(i) => i.first().copied().unwrap_or(Dim::Known(1)),
        };
    }
    Ok(vec![Some(out)])
}

/// Ranks agree, and where `limits` has an axis, the indices have no more than it, but for the axis they choose from.
fn indices_fit(c: &Call<'_>, idx: &[Dim], limit: usize, free: Option<usize>) -> Result<(), OpError> {
    let Some(s) = c.shape(limit) else { return Ok(()) };
    let name = c.op.row().params[limit].name;
    if s.len() != idx.len() && !(s.len() <= 1 && idx.len() <= 1) {
        return Err(c
            .error(
                Code::RANK,
                format!(
                    "`idx` {} and `{name}` {} have different ranks",
                    c.show(&Some(idx.to_vec())),
                    c.show(&Some(s))
                ),
            )
            .help("indices have one axis for each of the tensor's; expand(..) them")
            .at([limit, 1]));
    }
    // a scalar counts as one axis of one
    let one = [Dim::Known(1)];
    let axes = |s: &[Dim]| if s.is_empty() { one.to_vec() } else { s.to_vec() };
    for (i, (a, b)) in axes(idx).iter().zip(&axes(&s)).enumerate() {
        if Some(i) != free
            && let (Some(n), Some(m)) = (a.known(), b.known())
            && n > m
        {
            return Err(c
                .error(
                    Code::SIZES,
                    format!(
                        "`idx` {} is larger than `{name}` {} in dim {i}",
                        c.show(&Some(idx.to_vec())),
                        c.show(&Some(s))
                    ),
                )
                .help("take fewer indices with narrow(..)")
                .at([limit, 1]));
        }
    }
    Ok(())
}

/// The shape of the indices.
pub fn gather(c: &Call<'_>) -> Rule {
    let at = match c.shape(0) {
        Some(s) => axis_of(c, &s, 2)?,
        None => None,
    };
    let Some(idx) = c.shape(1) else {
        return Ok(vec![c.shape(0).map(|s| vec![Dim::Unknown; s.len()])]);
    };
    if at.is_some() || c.shape(0).is_none_or(|s| s.len() != idx.len()) {
        indices_fit(c, &idx, 0, at)?;
    }
    Ok(vec![Some(idx)])
}

/// The first operand's shape.
pub fn scatter(c: &Call<'_>) -> Rule {
    let x = c.shape(0);
    if let Some(s) = &x {
        let at = axis_of(c, s, 3)?;
        if let (Some(idx), Some(at)) = (c.shape(1), at) {
            indices_fit(c, &idx, 0, Some(at))?;
            indices_fit(c, &idx, 2, None)?;
        }
    }
    Ok(vec![x])
}

/// The first operand's shape; `src` is like it but for axis `dim`, which the indices count.
pub fn index_add(c: &Call<'_>) -> Rule {
    let x = c.shape(0);
    one_axis(c, "scatter_add(..)")?;
    let (Some(s), Some(src)) = (&x, c.shape(2)) else {
        return Ok(vec![x]);
    };
    scalar_index(c, s)?;
    let Some(at) = axis_of(c, s, 3)? else {
        return Ok(vec![x]);
    };
    let mut want = s.clone();
    if let Some(d) = want.get_mut(at) {
        *d = match c.shape(1) {
            None => Dim::Unknown,
            Some(i) => i.first().copied().unwrap_or(Dim::Known(1)),
        };
    }
    if src.len() != want.len() || src.iter().zip(&want).any(|(a, b)| c.differs(*a, *b)) {
        return Err(c
            .error(
                Code::SIZES,
                format!(
                    "`src` is {}, expected {}",
                    c.show(&Some(src)),
                    c.show(&Some(want))
                ),
            )
            .help("`src` has one slice for each index")
            .at([0, 2]));
    }
    Ok(vec![x])
}

/// The first operand's shape; `src` fits it from `start` of axis `dim`.
pub fn slice_scatter(c: &Call<'_>) -> Rule {
    let x = c.shape(0);
    if let Some(n) = c.int(2).filter(|&n| n < 0) {
        return Err(c
            .error(Code::BOUNDS, format!("start is {n}"))
            .help("start is not negative; it counts from the front")
            .at([2]));
    }
    let (Some(s), Some(src), Some(d)) = (&x, c.shape(3), c.int(1)) else {
        return Ok(vec![x]);
    };
    let at = c.axis(1, d, s.len())?;
    let same = src.len() == s.len() && (0..s.len()).all(|i| i == at || !c.differs(src[i], s[i]));
    if !same {
        return Err(c
            .error(
                Code::SIZES,
                format!(
                    "`src` {} differs from {} outside dim {at}",
                    c.show(&Some(src)),
                    c.show(&x)
                ),
            )
            .help("all sizes but the one along `dim` must be equal")
            .at([0, 3]));
    }
    if let (Some(start), Some(len), Some(n)) = (c.int(2), src[at].known(), s[at].known())
        && (start as usize).saturating_add(len) > n
    {
        return Err(c
            .error(
                Code::BOUNDS,
                format!(
                    "start {start} with len {len} is outside dim {at} of {} (size {n})",
                    c.show(&x)
                ),
            )
            .help("start + the size of `src` must not exceed the size")
            .at([2, 3]));
    }
    Ok(vec![x])
}

/// The shape of the indices, then the rows of the table.
pub fn embedding(c: &Call<'_>) -> Rule {
    let table = c.shape(0);
    if let Some(t) = &table
        && t.len() != 2
    {
        return Err(c
            .error(
                Code::RANK,
                format!("the table is {}, expected [rows, width]", c.show(&table)),
            )
            .help("use index_select(idx, 0) for other tensors")
            .at([0]));
    }
    let Some(mut out) = c.shape(1) else {
        return Ok(vec![None]);
    };
    out.push(table.map_or(Dim::Unknown, |t| t[1]));
    Ok(vec![Some(out)])
}

/// A new last axis of `classes`.
pub fn one_hot(c: &Call<'_>) -> Rule {
    c.at_least(1, 1, "the number of classes")?;
    let Some(mut out) = c.shape(0) else {
        return Ok(vec![None]);
    };
    out.push(c.sizes(1)[0]);
    Ok(vec![Some(out)])
}

/// Axis `dim` has `k` elements, in both results.
pub fn topk(c: &Call<'_>) -> Rule {
    c.at_least(1, 0, "k")?;
    let Some(mut out) = c.shape(0) else {
        return Ok(vec![None; 2]);
    };
    let Some(at) = axis_of(c, &out, 2)? else {
        return Ok(vec![Some(vec![Dim::Unknown; out.len()]); 2]);
    };
    let n = out.get(at).copied().unwrap_or(Dim::Known(1));
    if let (Some(k), Some(n)) = (c.int(1), n.known())
        && k as usize > n
    {
        return Err(c
            .error(
                Code::BOUNDS,
                format!("k is {k}, dim {at} of {} has {n}", c.show(&Some(out))),
            )
            .help(format!("write k from 0 to {n}"))
            .at([1]));
    }
    if let Some(d) = out.get_mut(at) {
        *d = c.sizes(1)[0];
    }
    Ok(vec![Some(out); 2])
}

/// The first operand's shape, twice.
pub fn sort(c: &Call<'_>) -> Rule {
    let s = along(c)?;
    Ok(vec![s[0].clone(), s[0].clone()])
}

/// The first operand's shape; the axes exist and are named once.
pub fn flip(c: &Call<'_>) -> Rule {
    let x = c.shape(0);
    if let Some(s) = &x
        && !c.ints(1).is_empty()
    {
        c.axes(1, s.len())?;
    }
    Ok(vec![x])
}

/// The first operand's shape, with an axis that exists as argument 2.
pub fn roll(c: &Call<'_>) -> Rule {
    let x = c.shape(0);
    if let Some(s) = &x {
        axis_of(c, s, 2)?;
    }
    Ok(vec![x])
}

/// Each axis times its number; new axes come first.
pub fn repeat(c: &Call<'_>) -> Rule {
    let times = c.ints(1);
    if let Some(n) = times.iter().flatten().find(|&&n| n < 0) {
        return Err(c
            .error(Code::VALUE, format!("{n} is not a number of repeats"))
            .help("write 0 or more")
            .at([1]));
    }
    let Some(x) = c.shape(0).filter(|_| !c.unknown_sizes(1)) else {
        return Ok(vec![None]);
    };
    if times.len() < x.len() {
        return Err(c
            .error(
                Code::RANK,
                format!(
                    "{} has rank {}, {} numbers are given",
                    c.show(&Some(x.clone())),
                    x.len(),
                    times.len()
                ),
            )
            .help("write one number for each axis, new axes first")
            .at([0, 1]));
    }
    let new = times.len() - x.len();
    let mut out = c.sizes(1);
    for (at, d) in x.iter().enumerate() {
        out[new + at] = match (d.known(), times[new + at]) {
            (_, Some(1)) => *d,
            (Some(n), Some(t)) => {
                let Some(n) = size(n.checked_mul(t as usize)) else {
                    return Err(c
                        .error(
                            Code::SIZES,
                            format!("dim {at} has {n} elements, {t} times are too many"),
                        )
                        .help("repeat less")
                        .at([0, 1]));
                };
                Dim::Known(n)
            }
            _ => Dim::Unknown,
        };
    }
    Ok(vec![Some(out)])
}

/// The first operand's shape, of rank 2 or more.
pub fn matrices(c: &Call<'_>) -> Rule {
    let x = c.shape(0);
    match &x {
        Some(s) if s.len() < 2 => Err(too_few_axes(c, s, 2)),
        _ => Ok(vec![x]),
    }
}

/// Axes from the last get what their two numbers add.
pub fn pad(c: &Call<'_>) -> Rule {
    let pads = c.ints(1);
    if pads.len() % 2 == 1 {
        return Err(c
            .error(Code::VALUE, format!("{} numbers are given", pads.len()))
            .help("write two for each axis from the last: [last_lo, last_hi, ..]")
            .at([1]));
    }
    let Some(mut out) = c.shape(0) else {
        return Ok(vec![None]);
    };
    if pads.len() / 2 > out.len() {
        return Err(c
            .error(
                Code::RANK,
                format!(
                    "{} axes are padded, {} has {}",
                    pads.len() / 2,
                    c.show(&Some(out.clone())),
                    out.len()
                ),
            )
            .help("write two numbers for each axis from the last")
            .at([0, 1]));
    }
    let mode = c.ints(2).first().copied().flatten();
    let rank = out.len();
    for (k, p) in pads.chunks_exact(2).enumerate() {
        let at = rank - 1 - k;
        let (Some(n), &[Some(lo), Some(hi)]) = (out[at].known(), p) else {
            if p != [Some(0), Some(0)] {
                out[at] = Dim::Unknown;
            }
            continue;
        };
        // a reflection repeats no edge: it reaches n - 1 elements; any other mode but a constant needs one to repeat
        let farthest = lo.max(hi);
        let refused = match mode {
            Some(1) if farthest >= n as i64 && farthest > 0 => {
                Some(format!("reflection by {farthest} of dim {at}, which has {n}"))
            }
            Some(2) if n == 0 && farthest > 0 => Some(format!("dim {at} has no edge to repeat")),
            _ => None,
        };
        if let Some(message) = refused {
            return Err(c
                .error(Code::SIZES, message)
                .help("pad less, or with PadMode::Constant(..)")
                .at([0, 1]));
        }
        let [len, lo, hi] = [n as i64, lo, hi].map(i128::from);
        let refused = |message: String, help: &str| {
            let e = c.error(Code::SIZES, message).help(help);
            Err(e.at([0, 1]))
        };
        // what is added on one side is not there to be cropped from the other
        if len + lo.min(0) + hi.min(0) < 0 {
            return refused(
                format!("dim {at} has {n} elements, fewer than are cropped"),
                "crop less",
            );
        }
        match size(usize::try_from(len + lo + hi).ok()) {
            Some(total) => out[at] = Dim::Known(total),
            None => {
                return refused(
                    format!("dim {at} of the result would be {}", len + lo + hi),
                    "pad less",
                );
            }
        }
    }
    Ok(vec![Some(out)])
}
