//! Attention, losses, control flow.

use super::elementwise::broadcast_two;
use super::*;
use crate::host::PROBABILITY;

/// `q [.., L, E]`, `k [.., S, E]`, `v [.., S, Ev]` with leading axes that broadcast give `[.., L, Ev]`.
pub fn attention(c: &Call<'_>) -> Rule {
    let shapes = [c.shape(0), c.shape(1), c.shape(2)];
    for (i, s) in shapes.iter().enumerate() {
        if let Some(s) = s
            && s.len() < 2
        {
            return Err(super::window::too_few_axes(c, s, 2).at([i]));
        }
    }
    let [Some(q), Some(k), Some(v)] = &shapes else {
        return Ok(vec![None]);
    };
    let end = |s: &[Dim]| (s[s.len() - 2], s[s.len() - 1]);
    let ((l, e), (s, f), (t, width)) = (end(q), end(k), end(v));
    let clash = |what: &str, i: usize, j: usize, help: &str| {
        let name = |i: usize| c.op.row().params[i].name;
        let message = format!(
            "{what} differ: {} {} and {} {}",
            name(i),
            c.show(&shapes[i]),
            name(j),
            c.show(&shapes[j])
        );
        c.error(Code::SIZES, message).help(help).at([i, j])
    };
    if c.differs(e, f) {
        return Err(clash("the last dims", 0, 1, "q and k have one width"));
    }
    if c.differs(s, t) {
        return Err(clash("the lengths", 1, 2, "k and v have one length"));
    }
    let lead = |s: &[Dim]| Some(s[..s.len() - 2].to_vec());
    let qk = broadcast_two(c, 0, &lead(q), 1, &lead(k))?;
    let Some(mut out) = broadcast_two(c, 0, &qk, 2, &lead(v))? else {
        return Ok(vec![None]);
    };
    if let Some(mask) = c.shape(3) {
        let mut scores = out.clone();
        scores.extend([l, s]);
        let scores = Some(scores);
        let shown = (c.show(&Some(mask.clone())), c.show(&scores));
        let wide = mask.len() > scores.as_ref().map_or(0, Vec::len);
        let all = broadcast_two(c, 0, &scores, 3, &Some(mask));
        let grows = match (&all, &scores) {
            (Ok(Some(a)), Some(s)) => a.iter().zip(s).any(|(a, b)| c.differs(*a, *b)),
            _ => false,
        };
        if wide || grows || all.is_err() {
            let message = format!("mask {} does not broadcast to the scores {}", shown.0, shown.1);
            return Err(c
                .error(Code::BROADCAST, message)
                .help("the mask is [.., L, S]: queries by keys")
                .at([3]));
        }
    }
    out.extend([l, width]);
    Ok(vec![Some(out)])
}

/// A scalar; the operands broadcast.
pub fn loss(c: &Call<'_>) -> Rule {
    broadcast(c)?;
    Ok(vec![Some(Vec::new())])
}

/// A scalar; the operands have one shape.
pub fn same_loss(c: &Call<'_>) -> Rule {
    if let (Some(x), Some(t)) = (c.shape(0), c.shape(1))
        && (x.len() != t.len() || x.iter().zip(&t).any(|(a, b)| c.differs(*a, *b)))
    {
        return Err(c
            .error(
                Code::SIZES,
                format!("shapes {} and {} differ", c.show(&Some(x)), c.show(&Some(t))),
            )
            .help("the target has the shape of the logits")
            .at([0, 1]));
    }
    Ok(vec![Some(Vec::new())])
}

/// A scalar; the target has the shape of x without its classes (axis 1, or the only one).
pub fn class_loss(c: &Call<'_>) -> Rule {
    let (Some(x), Some(target)) = (c.shape(0), c.shape(1)) else {
        return Ok(vec![Some(Vec::new())]);
    };
    if x.is_empty() {
        return Err(super::window::too_few_axes(c, &x, 1));
    }
    let mut want = x.clone();
    want.remove(usize::from(x.len() > 1));
    if target.len() != want.len() || target.iter().zip(&want).any(|(a, b)| c.differs(*a, *b)) {
        return Err(c
            .error(
                Code::SIZES,
                format!(
                    "target {} does not match the scores {}: expected {}",
                    c.show(&Some(target)),
                    c.show(&Some(x)),
                    c.show(&Some(want))
                ),
            )
            .help("the target has one class for each sample, and no axis for the classes")
            .at([0, 1]));
    }
    Ok(vec![Some(Vec::new())])
}

/// The first operand's shape; the probability is one.
pub fn dropout(c: &Call<'_>) -> Rule {
    if let Some(ArgType::Host(Some(h))) = c.args.get(1)
        && let Some(p) = h.as_float()
        && !(0.0..=1.0).contains(&p)
    {
        return Err(c
            .error(Code::VALUE, format!("p is {p}"))
            .help(PROBABILITY)
            .at([1]));
    }
    same(c)
}

/// A condition of one element; the results are those of the regions.
pub fn cond(c: &Call<'_>) -> Rule {
    if let Some(s) = c.shape(0)
        && s.iter().any(|d| c.not_one(*d))
    {
        return Err(c
            .error(
                Code::SIZES,
                format!("the condition is {}, expected one element", c.show(&Some(s))),
            )
            .help("reduce first, as in x.min_all().gt(0.0)")
            .at([0]));
    }
    Ok(Vec::new())
}

/// The results are those of the regions.
pub fn any(_: &Call<'_>) -> Rule {
    Ok(Vec::new())
}
