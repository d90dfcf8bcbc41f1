//! Normalisations: weights match trailing axes.

use super::*;

/// Weights match the trailing axes.
pub fn layer_norm(c: &Call<'_>) -> Rule {
    let shape = c.shape(0);
    let n = c.int(1);
    let (Some(s), Some(n)) = (&shape, n) else {
        return match n.filter(|&n| n < 1) {
            Some(n) => Err(c
                .error(Code::RANK, format!("trailing_dims is {n}"))
                .help("write 1 or more")
                .at([1])),
            None => Ok(vec![shape]),
        };
    };
    if n < 1 || n as usize > s.len() {
        let message = format!("trailing_dims is {n}, and the tensor has rank {}", s.len());
        return Err(c
            .error(Code::RANK, message)
            .help(format!("write 1..={}", s.len()))
            .at([1]));
    }
    trailing_weights(c, s, &s[s.len() - n as usize..], &[2, 3])?;
    Ok(vec![shape])
}

/// The weight matches the last axis.
pub fn rms_norm(c: &Call<'_>) -> Rule {
    let shape = c.shape(0);
    let Some(s) = &shape else { return Ok(vec![shape]) };
    let Some(last) = s.last() else {
        return Err(c
            .error(Code::RANK, "a scalar has no last dim")
            .help("unsqueeze(0) first")
            .at([0]));
    };
    trailing_weights(c, s, &[*last], &[1])?;
    Ok(vec![shape])
}

fn trailing_weights(c: &Call<'_>, x: &[Dim], want: &[Dim], args: &[usize]) -> Result<(), OpError> {
    for &i in args {
        if let Some(w) = c.shape(i)
            && (w.len() != want.len() || w.iter().zip(want).any(|(a, b)| c.differs(*a, *b)))
        {
            let message = format!(
                "`{}` {} does not match the trailing dims {} of {}",
                c.op.row().params[i].name,
                c.show(&Some(w)),
                c.show(&Some(want.to_vec())),
                c.show(&Some(x.to_vec()))
            );
            return Err(c
                .error(Code::SIZES, message)
                .help("weight and bias have exactly the normalised dims")
                .at([0, i]));
        }
    }
    Ok(())
}

/// Statistics and weights match the channels, axis 1.
pub fn batch_norm(c: &Call<'_>) -> Rule {
    let shape = c.shape(0);
    let Some(s) = &shape else { return Ok(vec![shape]) };
    if s.len() < 2 {
        return Err(super::window::too_few_axes(c, s, 2));
    }
    channel_weights(c, s, &[1, 2, 3, 4])?;
    Ok(vec![shape])
}

/// Like [`batch_norm`]; a channel needs two elements for an unbiased variance.
pub fn batch_norm_train(c: &Call<'_>) -> Rule {
    let shape = batch_norm(c)?;
    if let Some(s) = &shape[0] {
        let others = s.iter().enumerate().filter(|(i, _)| *i != 1);
        let count = others
            .map(|(_, d)| d.known())
            .try_fold(1usize, |n, d| n.checked_mul(d?));
        if let Some(n) = count.filter(|&n| n < 2) {
            return Err(c
                .error(
                    Code::SIZES,
                    format!("{} has {n} elements a channel", c.show(&shape[0])),
                )
                .help("train on 2 or more, or use batch_norm(..)")
                .at([0]));
        }
    }
    Ok(shape)
}

/// The shape of the statistics.
pub fn running(c: &Call<'_>) -> Rule {
    batch_norm_train(c)?;
    Ok(vec![c.shape(1)])
}

/// The groups divide the channels; weights match the channels, axis 1.
pub fn group_norm(c: &Call<'_>) -> Rule {
    let shape = c.shape(0);
    c.at_least(1, 1, "the number of groups")?;
    let Some(s) = &shape else { return Ok(vec![shape]) };
    if s.len() < 2 {
        return Err(super::window::too_few_axes(c, s, 2));
    }
    if let (Some(n), Some(g)) = (s[1].known(), c.int(1))
        && n % g as usize != 0
    {
        return Err(c
            .error(
                Code::SIZES,
                format!(
                    "{n} channels of {} are not divisible by {g} groups",
                    c.show(&shape)
                ),
            )
            .help("the number of groups divides the number of channels")
            .at([0, 1]));
    }
    channel_weights(c, s, &[2, 3])?;
    Ok(vec![shape])
}

fn channel_weights(c: &Call<'_>, x: &[Dim], args: &[usize]) -> Result<(), OpError> {
    for &i in args {
        if let Some(w) = c.shape(i)
            && (w.len() != 1 || c.differs(w[0], x[1]))
        {
            let message = format!(
                "`{}` {} does not match the channels of {}",
                c.op.row().params[i].name,
                c.show(&Some(w)),
                c.show(&Some(x.to_vec()))
            );
            return Err(c
                .error(Code::SIZES, message)
                .help("it has one number for each channel, axis 1")
                .at([0, i]));
        }
    }
    Ok(())
}

/// One axis of weights as the channels of a tensor: axis 1 of its rank.
pub fn channels_of(c: &Call<'_>) -> Rule {
    if c.unknown_sizes(1) {
        return Ok(vec![None]);
    }
    let w = c
        .shape(0)
        .and_then(|s| s.first().copied())
        .unwrap_or(Dim::Unknown);
    let mut out = vec![w];
    out.resize(c.sizes(1).len().saturating_sub(1).max(1), Dim::Known(1));
    Ok(vec![Some(out)])
}
