//! Convolution and pooling over one axis, normalisation by channel, losses, dropout.

use super::*;

/// A list argument's entries.
fn entries(args: &[Arg], i: usize) -> &[Arg] {
    match &args[i] {
        Arg::List(l) => l,
        other => unreachable!("argument {i} is checked to be a list, got {other:?}"),
    }
}

/// `conv1d(x, w) = squeeze(conv2d(unsqueeze(x, -2), unsqueeze(w, -2)), -2)`.
pub fn conv1d(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let [stride, padding, dilation, groups] = entries(args, 3) else {
        unreachable!("conv1d has four settings")
    };
    let one = || Arg::int(1);
    let options = [
        one(),
        stride.clone(),
        Arg::int(0),
        padding.clone(),
        one(),
        dilation.clone(),
        groups.clone(),
    ];
    let x = b.call(Op::Unsqueeze, vec![args[0].clone(), Arg::int(-2)])?;
    let w = b.call(Op::Unsqueeze, vec![args[1].clone(), Arg::int(-2)])?;
    let y = b.call(
        Op::Conv2d,
        vec![x.into(), w.into(), args[2].clone(), Arg::List(options.into())],
    )?;
    b.call(Op::Squeeze, vec![y.into(), Arg::int(-2)])
}

/// `pool1d(x) = squeeze(pool2d(unsqueeze(x, -2)), -2)` with windows of 1 along the new axis.
pub fn pool1d(b: &mut Builder, op: Op, args: &[Arg]) -> Rule {
    let [_, kernel, _, stride, _, padding] = entries(args, 1) else {
        unreachable!("a pool has three pairs of settings")
    };
    let options = [
        Arg::int(1),
        kernel.clone(),
        Arg::int(1),
        stride.clone(),
        Arg::int(0),
        padding.clone(),
    ];
    let of = if op == Op::MaxPool1d {
        Op::MaxPool2d
    } else {
        Op::AvgPool2d
    };
    let x = b.call(Op::Unsqueeze, vec![args[0].clone(), Arg::int(-2)])?;
    let y = b.call(of, vec![x.into(), Arg::List(options.into())])?;
    b.call(Op::Squeeze, vec![y.into(), Arg::int(-2)])
}

/// `y * w + b`, each by channel where it is given.
fn channel_affine(b: &mut Builder, y: Value, x: Value, weight: &Arg, bias: &Arg) -> Rule {
    let mut y = y;
    for (op, arg) in [(Op::Mul, weight), (Op::Add, bias)] {
        if *arg != Arg::None {
            let of = b.call(Op::ChannelsOf, vec![arg.clone(), x.into()])?;
            y = b.call(op, vec![y.into(), of.into()])?;
        }
    }
    Ok(y)
}

/// `batch_norm(x, m, v) = (x - m) * (1 / sqrt(v + eps)) * w + b`, all by channel. The root is taken before it is broadcast.
pub fn batch_norm(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let x = tensor(args, 0);
    let eps = Expr::Cast(HostType::F64, Box::new(host(args, 5)));
    let v = b.call(Op::Add, vec![args[2].clone(), Arg::Host(eps)])?;
    let r = b.call(Op::Rsqrt, vec![v.into()])?;
    let r = b.call(Op::ChannelsOf, vec![r.into(), x.into()])?;
    let mean = b.call(Op::ChannelsOf, vec![args[1].clone(), x.into()])?;
    let d = b.call(Op::Sub, vec![x.into(), mean.into()])?;
    let y = b.call(Op::Mul, vec![d.into(), r.into()])?;
    channel_affine(b, y, x, &args[3], &args[4])
}

/// x with all elements of a channel along the dims that follow.
fn by_channel(b: &mut Builder, x: Value) -> Result<(Value, Vec<Expr>), OpError> {
    if let Some(shape) = &b.ty(x).shape {
        let dims = (0..shape.len() as i64).filter(|&d| d != 1).map(Expr::int);
        return Ok((x, dims.collect()));
    }
    let front = b.call(Op::Movedim, vec![x.into(), Arg::int(1), Arg::int(0)])?;
    let flat = b.call(Op::Flatten, vec![front.into(), Arg::int(1), Arg::int(-1)])?;
    Ok((flat, vec![Expr::int(1)]))
}

/// `batch_norm_train(x) = batch_norm(x, mean(x), var(x))` by channel, var with divisor n.
pub fn batch_norm_train(b: &mut Builder, op: Op, args: &[Arg]) -> Rule {
    let (x, dims) = by_channel(b, tensor(args, 0))?;
    let mean = b.call(Op::Mean, vec![x.into(), list(&dims)])?;
    let var = b.call(Op::Var, vec![x.into(), list(&dims), Arg::int(0)])?;
    let [_, _, _, w, bias, _, eps] = args else {
        unreachable!("batch_norm_train has seven arguments")
    };
    let args = [
        args[0].clone(),
        mean.into(),
        var.into(),
        w.clone(),
        bias.clone(),
        eps.clone(),
    ];
    batch_norm(b, op, &args)
}

/// `old * (1 - momentum) + new * momentum`.
fn moved(b: &mut Builder, old: &Arg, new: Value, momentum: Expr) -> Rule {
    let momentum = Expr::Cast(HostType::F64, Box::new(momentum));
    let rest = Expr::binary(HostBinary::Sub, Expr::float(1.0), momentum.clone());
    let old = b.call(Op::Mul, vec![old.clone(), Arg::Host(rest)])?;
    let new = b.call(Op::Mul, vec![new.into(), Arg::Host(momentum)])?;
    b.call(Op::Add, vec![old.into(), new.into()])
}

/// The running mean after a batch: moved towards `mean(x)` by channel.
pub fn running_mean(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let (x, dims) = by_channel(b, tensor(args, 0))?;
    let mean = b.call(Op::Mean, vec![x.into(), list(&dims)])?;
    moved(b, &args[1], mean, host(args, 5))
}

/// The running variance after a batch: moved towards `var(x)` by channel, with divisor n - 1.
pub fn running_var(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let (x, dims) = by_channel(b, tensor(args, 0))?;
    let var = b.call(Op::Var, vec![x.into(), list(&dims), Arg::int(1)])?;
    moved(b, &args[2], var, host(args, 5))
}

/// `group_norm(x, g) = layer_norm(x as [N, g, -1]) as x, * w + b` by channel.
pub fn group_norm(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let x = tensor(args, 0);
    let groups = host(args, 1);
    let flat = b.call(Op::Flatten, vec![x.into(), Arg::int(1), Arg::int(-1)])?;
    let dim = |i: i64| Expr::Dim(flat, Box::new(Expr::int(i)));
    let wide = |e: Expr| Expr::Cast(HostType::I64, Box::new(e));
    let width = Expr::binary(HostBinary::Div, wide(dim(1)), wide(groups.clone()));
    let sizes = [wide(dim(0)), wide(groups), width];
    let rows = b.call(Op::Reshape, vec![flat.into(), list(&sizes)])?;
    let rows = vec![rows.into(), Arg::int(1), Arg::None, Arg::None, args[4].clone()];
    let y = layer_norm(b, Op::LayerNorm, &rows)?;
    let y = b.call(Op::Reshape, vec![y.into(), x.into()])?;
    channel_affine(b, y, x, &args[2], &args[3])
}

/// The axis of the classes: 1, or the only one; `min(rank - 1, 1)`.
fn class_axis(b: &Builder, x: Value) -> Arg {
    if let Some(one) = b.is_rank(x, 1) {
        return Arg::int(i64::from(!one));
    }
    let rank = Expr::Cast(HostType::I64, Box::new(Expr::Rank(x)));
    let last = Expr::binary(HostBinary::Sub, rank, Expr::int(1));
    Arg::Host(Expr::binary(HostBinary::Min, last, Expr::int(1)))
}

/// `cross_entropy(x, t) = nll_loss(log_softmax(x), t)`.
pub fn cross_entropy(b: &mut Builder, op: Op, args: &[Arg]) -> Rule {
    let x = tensor(args, 0);
    let axis = class_axis(b, x);
    let logs = b.call(Op::LogSoftmax, vec![x.into(), axis])?;
    nll_loss(b, op, &[logs.into(), args[1].clone()])
}

/// `nll_loss(x, t) = mean(-gather(x, t))` along the classes.
pub fn nll_loss(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let x = tensor(args, 0);
    let axis = class_axis(b, x);
    let target = b.call(Op::Unsqueeze, vec![args[1].clone(), axis.clone()])?;
    let chosen = b.call(Op::Gather, vec![x.into(), target.into(), axis])?;
    let losses = b.call(Op::Neg, vec![chosen.into()])?;
    b.call(Op::MeanAll, vec![losses.into()])
}

/// `mse_loss(x, t) = mean((x - t)^2)`.
pub fn mse_loss(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let d = b.call(Op::Sub, args.to_vec())?;
    let d = b.call(Op::Square, vec![d.into()])?;
    b.call(Op::MeanAll, vec![d.into()])
}

/// `l1_loss(x, t) = mean(|x - t|)`.
pub fn l1_loss(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let d = b.call(Op::Sub, args.to_vec())?;
    let d = b.call(Op::Abs, vec![d.into()])?;
    b.call(Op::MeanAll, vec![d.into()])
}

/// `bce(x, t) = mean((max(x, 0) - x * t) + ln(1 + e^-|x|))`, which overflows nowhere.
pub fn binary_cross_entropy_with_logits(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let x = args[0].clone();
    let positive = b.call(Op::Relu, vec![x.clone()])?;
    let product = b.call(Op::Mul, args.to_vec())?;
    let linear = b.call(Op::Sub, vec![positive.into(), product.into()])?;
    let abs = b.call(Op::Abs, vec![x])?;
    let neg = b.call(Op::Neg, vec![abs.into()])?;
    let e = b.call(Op::Exp, vec![neg.into()])?;
    let log = b.call(Op::Log1p, vec![e.into()])?;
    let losses = b.call(Op::Add, vec![linear.into(), log.into()])?;
    b.call(Op::MeanAll, vec![losses.into()])
}

/// `dropout(x, p) = where(rand >= p, x * (1 / (1 - p)), 0)` in training; otherwise p is 0 and nothing is drawn.
pub fn dropout(b: &mut Builder, _: Op, args: &[Arg]) -> Rule {
    let x = tensor(args, 0);
    let train = host(args, 2);
    if b.known(&train) == Some(Host::Bool(false)) {
        return b.call(Op::Reshape, vec![x.into(), x.into()]);
    }
    let p = Expr::Cast(HostType::F64, Box::new(host(args, 1)));
    // the operation's rule, of which a call with another p asks nothing
    let p = Expr::Unary(HostUnary::Probability, Box::new(p));
    let on = Expr::Cast(HostType::F64, Box::new(train.clone()));
    let p = Expr::binary(HostBinary::Mul, p, on);
    let kept = Expr::binary(HostBinary::Sub, Expr::float(1.0), p.clone());
    let scale = Expr::binary(HostBinary::Div, Expr::float(1.0), kept);
    let drawn = b.call(
        Op::RandIf,
        vec![x.into(), Arg::dtype(DType::F32), Arg::Host(train)],
    )?;
    let keep = b.call(Op::Ge, vec![drawn.into(), Arg::Host(p)])?;
    let scaled = b.call(Op::Mul, vec![x.into(), Arg::Host(scale)])?;
    b.call(Op::WhereCond, vec![keep.into(), scaled.into(), Arg::float(0.0)])
}
