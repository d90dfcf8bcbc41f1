//! Joining and cutting.

use super::*;

fn list<'a>(c: &Call<'a>) -> Result<Vec<&'a Shape>, OpError> {
    let Some(ArgType::List(l)) = c.args.first() else {
        return Ok(Vec::new());
    };
    if l.is_empty() {
        return Err(c
            .error(Code::VALUE, "the list of tensors is empty")
            .help("pass at least one tensor")
            .at([0]));
    }
    Ok(l.iter()
        .filter_map(|a| {
            if let ArgType::Tensor(t) = a {
                Some(&t.shape)
            } else {
                None
            }
        })
        .collect())
}

/// Joined along an axis.
pub fn cat(c: &Call<'_>) -> Rule {
    let shapes = list(c)?;
    let Some(first) = shapes.iter().find_map(|s| s.as_ref()) else {
        return Ok(vec![None]);
    };
    if first.is_empty() {
        return Err(c
            .error(Code::RANK, "scalars have no dim to join along")
            .help("use Tensor::stack(..)")
            .at([0]));
    }
    let Some(d) = c.int(1) else {
        return Ok(vec![Some(vec![Dim::Unknown; first.len()])]);
    };
    let at = c.axis(1, d, first.len())?;
    let mut out = first.clone();
    let mut total = Some(0usize);
    for s in &shapes {
        let Some(s) = s else {
            total = None;
            continue;
        };
        let clash = s.len() != out.len() || (0..s.len()).any(|i| i != at && c.differs(s[i], out[i]));
        if clash {
            let message = format!(
                "shapes {} and {} differ outside dim {at}",
                c.show(&Some(first.clone())),
                c.show(&Some((*s).clone()))
            );
            return Err(c
                .error(Code::SIZES, message)
                .help("all sizes but the joined one must be equal")
                .at([0]));
        }
        refine(&mut out, s);
        total = total.zip(s[at].known()).and_then(|(a, b)| size(a.checked_add(b)));
    }
    if shapes.len() > 1 {
        out[at] = total.map_or(Dim::Unknown, Dim::Known);
    }
    Ok(vec![Some(out)])
}

/// Takes from `other`, whose sizes are the same, what it knows better.
fn refine(sizes: &mut [Dim], other: &[Dim]) {
    sizes.iter_mut().zip(other).for_each(|(s, o)| *s = s.refine(*o));
}

/// Joined along a new axis.
pub fn stack(c: &Call<'_>) -> Rule {
    let shapes = list(c)?;
    let Some(first) = shapes.iter().find_map(|s| s.as_ref()) else {
        return Ok(vec![None]);
    };
    for s in shapes.iter().filter_map(|s| s.as_ref()) {
        if s.len() != first.len() || s.iter().zip(first).any(|(a, b)| c.differs(*a, *b)) {
            let message = format!(
                "shapes {} and {} differ",
                c.show(&Some(first.clone())),
                c.show(&Some(s.clone()))
            );
            return Err(c
                .error(Code::SIZES, message)
                .help("stacked tensors have one shape")
                .at([0]));
        }
    }
    let mut out = first.clone();
    shapes
        .iter()
        .filter_map(|s| s.as_ref())
        .for_each(|s| refine(&mut out, s));
    let Some(d) = c.int(1) else {
        return Ok(vec![Some(vec![Dim::Unknown; out.len() + 1])]);
    };
    let at = c.place(1, d, out.len(), out.len() + 1)?;
    out.insert(at, Dim::Known(shapes.len()));
    Ok(vec![Some(out)])
}

/// More pieces than this are refused, so that a shape rule stays cheap.
const MAX_PIECES: usize = 1 << 16;

/// The pieces of axis `args[2]`; `cut` tells their number and size from the axis' size.
fn pieces(c: &Call<'_>, cut: impl Fn(usize) -> (usize, usize)) -> Rule {
    let Some(s) = c.shape(0) else {
        return Ok(Vec::new());
    };
    let Some(d) = c.int(2) else { return Ok(Vec::new()) };
    let at = c.axis(2, d, s.len())?;
    let Dim::Known(n) = s[at] else {
        return Ok(Vec::new());
    };
    let (number, size) = cut(n);
    if number > MAX_PIECES {
        return Err(c
            .error(Code::VALUE, format!("{number} pieces are more than {MAX_PIECES}"))
            .help("take larger pieces")
            .at([1]));
    }
    let piece = |i: usize| {
        let mut p = s.clone();
        p[at] = Dim::Known(size.min(n - i * size));
        Some(p)
    };
    Ok((0..number).map(piece).collect())
}

/// Up to `n` equal pieces, `n` of them for an empty axis; none known while the size is not.
pub fn chunk(c: &Call<'_>) -> Rule {
    let Some(n) = c.int(1) else { return Ok(Vec::new()) };
    c.at_least(1, 1, "the number of pieces")?;
    let n = n as usize;
    pieces(c, |size| match size.div_ceil(n) {
        0 => (n, 0),
        piece => (size.div_ceil(piece), piece),
    })
}

/// Pieces of a size; none known while the axis is not.
pub fn split(c: &Call<'_>) -> Rule {
    let Some(n) = c.int(1) else { return Ok(Vec::new()) };
    c.at_least(1, 1, "the size of a piece")?;
    let n = n as usize;
    pieces(c, |size| (size.div_ceil(n).max(1), n))
}
