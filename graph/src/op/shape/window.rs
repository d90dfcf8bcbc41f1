//! Windows over trailing axes: convolutions and pooling.

use super::*;

/// The windows along one axis.
struct Window {
    kernel: Option<i64>,
    stride: Option<i64>,
    padding: Option<i64>,
    dilation: Option<i64>,
}

impl Call<'_> {
    /// The entries of options argument `i` under a field's name.
    fn setting(&self, i: usize, name: &str) -> Vec<Option<i64>> {
        let crate::op::row::ParamKind::Options(options) = self.op.row().params[i].kind else {
            return Vec::new();
        };
        let list = self.ints(i);
        let field = options.fields().find(|(_, f)| f.name == name);
        field.map_or_else(Vec::new, |(at, f)| {
            (at..at + f.len).map(|i| list.get(i).copied().flatten()).collect()
        })
    }

    /// Checks that a setting's numbers are at least `lowest`.
    fn check_setting(&self, i: usize, name: &str, lowest: i64) -> Result<(), OpError> {
        self.none_below(self.setting(i, name).into_iter().flatten(), i, lowest, name)
    }

    /// The size of an axis after windows were laid over it: `(n + 2 padding - dilation (kernel - 1) - 1) / stride + 1`.
    fn windows(&self, axis: Dim, w: &Window, at: &[usize]) -> Result<Dim, OpError> {
        let n = axis.known().and_then(|n| i64::try_from(n).ok());
        let (Some(n), Some(k), Some(s), Some(p), Some(d)) = (n, w.kernel, w.stride, w.padding, w.dilation)
        else {
            return Ok(Dim::Unknown);
        };
        let reach = i128::from(k - 1) * i128::from(d) + 1;
        let padded = i128::from(n) + 2 * i128::from(p);
        if padded > i128::from(i64::MAX) {
            return Err(self
                .error(
                    Code::SIZES,
                    format!("an axis of {n} with padding {p} is too long"),
                )
                .help("pad less")
                .at(at.iter().copied()));
        }
        if k > 0 && padded < reach {
            return Err(self
                .error(
                    Code::SIZES,
                    format!("a window of {reach} does not fit an axis of {n} with padding {p}"),
                )
                .help("pad more, or take a smaller kernel or dilation")
                .at(at.iter().copied()));
        }
        let out = (padded - reach) / i128::from(s.max(1)) + 1;
        Ok(size(usize::try_from(out).ok()).map_or(Dim::Unknown, Dim::Known))
    }

    /// A tensor argument that must have a rank: its sizes, if known.
    fn of_rank(&self, i: usize, rank: usize, form: &str) -> Result<Option<Vec<Dim>>, OpError> {
        let shape = self.shape(i);
        match shape {
            Some(s) if s.len() != rank => Err(self
                .error(
                    Code::RANK,
                    format!(
                        "`{}` is {}, expected {form}",
                        self.op.row().params[i].name,
                        self.show(&Some(s))
                    ),
                )
                .help(format!("reshape it to {form}; a single sample is unsqueeze(0)"))
                .at([i])),
            s => Ok(s),
        }
    }
}

/// The checks that all convolutions share: channels, groups and bias. `transposed`: the weight is `[in, out / groups, ..]`.
fn channels(c: &Call<'_>, x: &[Dim], w: &[Dim], transposed: bool) -> Result<Dim, OpError> {
    let groups = c.setting(3, "groups").first().copied().flatten();
    let times = |d: Dim| match (d.known(), groups) {
        (Some(n), Some(g)) => size(n.checked_mul(g as usize)).map_or(Dim::Unknown, Dim::Known),
        (None, Some(1)) => d,
        _ => Dim::Unknown,
    };
    let (inputs, out) = if transposed {
        (w[0], times(w[1]))
    } else {
        (times(w[1]), w[0])
    };
    if c.differs(x[1], inputs) {
        let message = format!(
            "x {} has {} channels, the weight {} with {} takes {}",
            c.show(&Some(x.to_vec())),
            c.show_dim(x[1]),
            c.show(&Some(w.to_vec())),
            plural(groups.map_or(1, |g| g.max(0) as usize), "group"),
            c.show_dim(inputs)
        );
        let help = if transposed {
            "the weight is [in, out / groups, ..]"
        } else {
            "the weight is [out, in / groups, ..]"
        };
        return Err(c.error(Code::SIZES, message).help(help).at([0, 1]));
    }
    if let (Some(n), Some(g)) = (w[0].known(), groups)
        && g > 0
        && n % g as usize != 0
    {
        return Err(c
            .error(
                Code::SIZES,
                format!("{n} channels are not divisible by {g} groups"),
            )
            .help("the number of groups divides both numbers of channels")
            .at([1, 3]));
    }
    if let Some(b) = c.shape(2)
        && (b.len() != 1 || c.differs(b[0], out))
    {
        let message = format!(
            "bias {} does not match {} output channels",
            c.show(&Some(b)),
            c.show_dim(out)
        );
        return Err(c.error(Code::SIZES, message).help("the bias is [out]").at([1, 2]));
    }
    Ok(out)
}

fn convolution(c: &Call<'_>, axes: usize) -> Rule {
    for (name, lowest) in [("stride", 1), ("padding", 0), ("dilation", 1), ("groups", 1)] {
        c.check_setting(3, name, lowest)?;
    }
    let (x_form, w_form) = match axes {
        1 => ("[N, C, L]", "[out, in / groups, K]"),
        _ => ("[N, C, H, W]", "[out, in / groups, KH, KW]"),
    };
    let x = c.of_rank(0, axes + 2, x_form)?;
    let w = c.of_rank(1, axes + 2, w_form)?;
    let (Some(x), Some(w)) = (x, w) else {
        return Ok(vec![Some(vec![Dim::Unknown; axes + 2])]);
    };
    let mut out = vec![x[0], channels(c, &x, &w, false)?];
    let [stride, padding, dilation] = ["stride", "padding", "dilation"].map(|name| c.setting(3, name));
    for i in 0..axes {
        let window = Window {
            kernel: w[2 + i].known().and_then(|n| i64::try_from(n).ok()),
            stride: stride[i],
            padding: padding[i],
            dilation: dilation[i],
        };
        out.push(c.windows(x[2 + i], &window, &[0, 1])?);
    }
    Ok(vec![Some(out)])
}

/// `[N, C, L]` and `[out, C / groups, K]`.
pub fn conv1d(c: &Call<'_>) -> Rule {
    convolution(c, 1)
}

/// `[N, C, H, W]` and `[out, C / groups, KH, KW]`.
pub fn conv2d(c: &Call<'_>) -> Rule {
    convolution(c, 2)
}

/// `[N, C, H, W]` and `[C, out / groups, KH, KW]`; an axis of n gets
/// `(n - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1`.
pub fn conv_transpose2d(c: &Call<'_>) -> Rule {
    let settings = ["stride", "padding", "output_padding", "dilation", "groups"];
    for (name, lowest) in settings.into_iter().zip([1, 0, 0, 1, 1]) {
        c.check_setting(3, name, lowest)?;
    }
    let x = c.of_rank(0, 4, "[N, C, H, W]")?;
    let w = c.of_rank(1, 4, "[in, out / groups, KH, KW]")?;
    let (Some(x), Some(w)) = (x, w) else {
        return Ok(vec![Some(vec![Dim::Unknown; 4])]);
    };
    let mut out = vec![x[0], channels(c, &x, &w, true)?];
    let [stride, padding, extra, dilation] =
        ["stride", "padding", "output_padding", "dilation"].map(|name| c.setting(3, name));
    for i in 0..2 {
        let known = |d: Dim| d.known().and_then(|n| i64::try_from(n).ok());
        let numbers = (known(x[2 + i]), known(w[2 + i]), stride[i], padding[i]);
        let (Some(n), Some(k), Some(s), Some(p)) = numbers else {
            out.push(Dim::Unknown);
            continue;
        };
        let (Some(e), Some(d)) = (extra[i], dilation[i]) else {
            out.push(Dim::Unknown);
            continue;
        };
        if e >= s.max(d) {
            return Err(c
                .error(
                    Code::VALUE,
                    format!("output_padding is {e}, stride {s} and dilation {d}"),
                )
                .help("the output padding is smaller than the stride or the dilation")
                .at([3]));
        }
        let whole = i128::from(n - 1) * i128::from(s) - 2 * i128::from(p)
            + i128::from(d) * i128::from(k - 1)
            + i128::from(e)
            + 1;
        match size(usize::try_from(whole).ok()) {
            Some(n) => out.push(Dim::Known(n)),
            None => {
                return Err(c
                    .error(
                        Code::SIZES,
                        format!("dim {} of the result would be {whole}", 2 + i),
                    )
                    .help("take less padding or a larger kernel")
                    .at([0, 1]));
            }
        }
    }
    Ok(vec![Some(out)])
}

fn pool(c: &Call<'_>, axes: usize) -> Rule {
    for (name, lowest) in [("kernel", 1), ("stride", 1), ("padding", 0)] {
        c.check_setting(1, name, lowest)?;
    }
    let [kernel, stride, padding] = ["kernel", "stride", "padding"].map(|name| c.setting(1, name));
    for i in 2 - axes..2 {
        if let (Some(k), Some(p)) = (kernel[i], padding[i])
            && p.saturating_mul(2) > k
        {
            return Err(c
                .error(
                    Code::VALUE,
                    format!("padding {p} is more than half of kernel {k}"),
                )
                .help("a window must not lie in the padding alone")
                .at([1]));
        }
    }
    let Some(x) = c.shape(0) else {
        return Ok(vec![None]);
    };
    if x.len() < axes {
        return Err(too_few_axes(c, &x, axes));
    }
    let first = x.len() - axes;
    let mut out = x.clone();
    for i in 0..axes {
        if x[first + i] == Dim::Known(0) {
            return Err(c
                .error(
                    Code::EMPTY,
                    format!("dim {} of {} has no elements", first + i, c.show(&Some(x))),
                )
                .help("check the size before the function is called")
                .at([0]));
        }
        let of = 2 - axes + i;
        let window = Window {
            kernel: kernel[of],
            stride: stride[of],
            padding: padding[of],
            dilation: Some(1),
        };
        out[first + i] = c.windows(x[first + i], &window, &[0])?;
    }
    Ok(vec![Some(out)])
}

pub(super) fn too_few_axes(c: &Call<'_>, x: &[Dim], axes: usize) -> OpError {
    c.error(
        Code::RANK,
        format!(
            "{} has rank {}, expected {axes} or more",
            c.show(&Some(x.to_vec())),
            x.len()
        ),
    )
    .help("unsqueeze(0) first")
    .at([0])
}

/// Windows over the last axis.
pub fn pool1d(c: &Call<'_>) -> Rule {
    pool(c, 1)
}

/// Windows over the last two axes.
pub fn pool2d(c: &Call<'_>) -> Rule {
    pool(c, 2)
}

/// The last two axes get the sizes of argument 1; what is averaged must have elements.
pub fn adaptive_pool2d(c: &Call<'_>) -> Rule {
    let size = pair(c, 1)?;
    let Some(mut out) = c.shape(0) else {
        return Ok(vec![None]);
    };
    if out.len() < 2 {
        return Err(too_few_axes(c, &out, 2));
    }
    let first = out.len() - 2;
    resampled(c, &out[first..], &size)?;
    out.splice(first.., size);
    Ok(vec![Some(out)])
}

/// Two sizes.
fn pair(c: &Call<'_>, i: usize) -> Result<Vec<Dim>, OpError> {
    let mut sizes = c.sizes(i);
    if let Some(n) = c.ints(i).into_iter().flatten().find(|&n| n < 0) {
        return Err(c
            .error(Code::VALUE, format!("{n} is not a size"))
            .help("sizes are >= 0")
            .at([i]));
    }
    if sizes.len() == 1 {
        sizes.push(sizes[0]);
    }
    if sizes.len() != 2 && !c.unknown_sizes(i) {
        return Err(c
            .error(
                Code::VALUE,
                format!("{} sizes are given, expected 2", sizes.len()),
            )
            .help("write (height, width)")
            .at([i]));
    }
    sizes.resize(2, Dim::Unknown);
    Ok(sizes)
}

/// Elements cannot be made of none.
fn resampled(c: &Call<'_>, from: &[Dim], to: &[Dim]) -> Result<(), OpError> {
    for (f, t) in from.iter().zip(to) {
        if *f == Dim::Known(0) && t.known().is_some_and(|n| n > 0) {
            return Err(c
                .error(
                    Code::EMPTY,
                    format!("an axis of 0 elements cannot become {}", c.show_dim(*t)),
                )
                .help("check the size before the function is called")
                .at([0]));
        }
    }
    Ok(())
}

/// `[N, C, H, W]` with other H and W.
pub fn interpolate(c: &Call<'_>) -> Rule {
    let to = pair(c, 1)?;
    let Some(x) = c.of_rank(0, 4, "[N, C, H, W]")? else {
        return Ok(vec![Some(vec![Dim::Unknown, Dim::Unknown, to[0], to[1]])]);
    };
    resampled(c, &x[2..], &to)?;
    Ok(vec![Some(vec![x[0], x[1], to[0], to[1]])])
}
