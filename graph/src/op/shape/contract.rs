//! Products.

use super::elementwise::broadcast_two;
use super::*;

/// PyTorch's matrix product.
pub fn matmul(c: &Call<'_>) -> Rule {
    let (a, b) = (c.shape(0), c.shape(1));
    let (Some(x), Some(y)) = (&a, &b) else {
        for (i, s) in [&a, &b].into_iter().enumerate() {
            if s.as_ref().is_some_and(Vec::is_empty) {
                return Err(scalar_operand(c, i));
            }
        }
        return Ok(vec![None]);
    };
    for (i, s) in [x, y].into_iter().enumerate() {
        if s.is_empty() {
            return Err(scalar_operand(c, i));
        }
    }
    let inner = (x[x.len() - 1], if y.len() == 1 { y[0] } else { y[y.len() - 2] });
    if c.differs(inner.0, inner.1) {
        let (p, q) = (c.show_dim(inner.0), c.show_dim(inner.1));
        let mut e = c.error(
            Code::INNER,
            format!(
                "inner dimensions differ: lhs {} @ rhs {} ({p} != {q})",
                c.show(&a),
                c.show(&b)
            ),
        );
        e = if y.len() >= 2 && y[y.len() - 1].same(inner.0) {
            e.help("the rhs fits transposed: write rhs.transpose(-1, -2)")
        } else {
            e.help("the last dim of lhs must equal the last but one of rhs")
        };
        return Err(e.at([0, 1]));
    }
    let (xb, yb) = (
        Some(x[..x.len().saturating_sub(2)].to_vec()),
        Some(y[..y.len().saturating_sub(2)].to_vec()),
    );
    let batch = broadcast_two(c, 0, &xb, 1, &yb).map_err(|e| OpError {
        message: format!(
            "batch dims {} and {} of lhs {} @ rhs {} do not broadcast",
            c.show(&xb),
            c.show(&yb),
            c.show(&a),
            c.show(&b)
        ),
        ..e
    })?;
    let Some(mut out) = batch else {
        return Ok(vec![None]);
    };
    if x.len() >= 2 {
        out.push(x[x.len() - 2]);
    }
    if y.len() >= 2 {
        out.push(y[y.len() - 1]);
    }
    Ok(vec![Some(out)])
}

fn scalar_operand(c: &Call<'_>, i: usize) -> OpError {
    c.error(Code::RANK, "a scalar is not a matrix or vector")
        .help("multiply with `*`, or unsqueeze(0) first")
        .at([i])
}

/// `x @ w^T + bias`.
pub fn linear(c: &Call<'_>) -> Rule {
    let (x, w) = (c.shape(0), c.shape(1));
    if let Some(s) = &w
        && s.len() != 2
    {
        let message = format!("the weight has rank {}, expected [out, in]", s.len());
        return Err(c
            .error(Code::RANK, message)
            .help("the weight is [out, in]; use matmul(..) for other products")
            .at([1]));
    }
    if let (Some(s), Some(bias)) = (&w, c.shape(2))
        && (bias.len() != 1 || c.differs(bias[0], s[0]))
    {
        let message = format!(
            "bias {} does not match the weight {}",
            c.show(&Some(bias)),
            c.show(&w)
        );
        return Err(c
            .error(Code::SIZES, message)
            .help("the bias is [out], the weight [out, in]")
            .at([1, 2]));
    }
    let Some(xs) = &x else { return Ok(vec![None]) };
    let Some((last, rest)) = xs.split_last() else {
        return Err(scalar_operand(c, 0));
    };
    let mut out = rest.to_vec();
    let Some(ws) = &w else {
        out.push(Dim::Unknown);
        return Ok(vec![Some(out)]);
    };
    if c.differs(*last, ws[1]) {
        let (p, q) = (c.show_dim(*last), c.show_dim(ws[1]));
        let message = format!(
            "inner dimensions differ: input {} with weight {} ({p} != {q})",
            c.show(&x),
            c.show(&w)
        );
        return Err(c
            .error(Code::INNER, message)
            .help("the weight is [out, in]")
            .at([0, 1]));
    }
    out.push(ws[0]);
    Ok(vec![Some(out)])
}
