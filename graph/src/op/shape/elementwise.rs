//! Element-wise operations: operands broadcast.

use super::*;

/// The shape to which `a` and `b` broadcast.
pub(super) fn broadcast_two(
    c: &Call<'_>,
    ai: usize,
    a: &Shape,
    bi: usize,
    b: &Shape,
) -> Result<Shape, OpError> {
    let (Some(x), Some(y)) = (a, b) else {
        return Ok(None);
    };
    let rank = x.len().max(y.len());
    let at = |s: &[Dim], i: usize| (i + s.len()).checked_sub(rank).map_or(Dim::Known(1), |i| s[i]);
    let mut out = Vec::with_capacity(rank);
    for i in 0..rank {
        out.push(match (at(x, i), at(y, i)) {
            (Dim::Known(1), d) | (d, Dim::Known(1)) => d,
            (p, q) if p.same(q) => p,
            (p, q) if c.differs(p, q) && c.not_one(p) && c.not_one(q) => {
                return Err(c
                    .error(
                        Code::BROADCAST,
                        format!(
                            "shapes {} and {} do not broadcast (dim {}: {} != {})",
                            c.show(a),
                            c.show(b),
                            i as i64 - rank as i64,
                            c.show_dim(p),
                            c.show_dim(q)
                        ),
                    )
                    .help("sizes must be equal or 1, compared from the last dim; unsqueeze(..) or transpose(..) one side")
                    .at([ai, bi]));
            }
            (Dim::Known(n), _) | (_, Dim::Known(n)) => Dim::Known(n),
            (d, _) | (_, d) if c.not_one(d) => d,
            _ => Dim::Unknown,
        });
    }
    Ok(Some(out))
}

/// All tensor arguments broadcast together.
pub fn broadcast(c: &Call<'_>) -> Rule {
    let mut out: Option<(usize, Shape)> = None;
    for (i, a) in c.args.iter().enumerate() {
        if let ArgType::Tensor(t) = a {
            out = Some(match out {
                None => (i, t.shape.clone()),
                Some((j, s)) => (j, broadcast_two(c, j, &s, i, &t.shape)?),
            });
        }
    }
    Ok(vec![out.map_or(Some(Vec::new()), |(_, s)| s)])
}

/// The first operand's shape.
pub fn same(c: &Call<'_>) -> Rule {
    Ok(vec![c.shape(0)])
}

/// The first operand's shape, with an axis that exists.
pub fn along(c: &Call<'_>) -> Rule {
    let shape = c.shape(0);
    if let (Some(s), Some(d)) = (&shape, c.int(1)) {
        c.axis_or_scalar(1, d, s.len())?;
    }
    Ok(vec![shape])
}
