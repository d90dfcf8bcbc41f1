//! Which scalars belong to the key: those that a plan depends on.

use super::*;

/// Whether a scalar parameter of a function belongs to the key: a guard asks for it, or [`of_path`].
pub(crate) fn key_params(paths: &[Blob]) -> Vec<bool> {
    let mut key = Vec::new();
    for blob in paths {
        let mut of = of_path(blob);
        for guard in &blob.written.guards {
            guard.params(&mut |i| of[i as usize] = true);
        }
        let mut own = blob.module.scalars.iter().map(|s| s.source.is_none());
        of.retain(|_| own.next() == Some(true));
        key.resize(of.len().max(key.len()), false);
        key.iter_mut().zip(of).for_each(|(all, of)| *all |= of);
    }
    key
}

/// Whether it is a size, an index, or a value that a creation needs.
fn of_path(blob: &Blob) -> Vec<bool> {
    let mut key = vec![false; blob.module.scalars.len()];
    // integer attributes of composites decide rules and expansions, whatever becomes of them there
    for node in &blob.written.nodes {
        let NodeKind::Call(op, args) = &node.kind else {
            continue;
        };
        for (a, p) in args.iter().zip(op.row().params) {
            if !matches!(p.kind, ParamKind::Operand | ParamKind::Scalar | ParamKind::Float) {
                all_params(a, &mut key);
            }
        }
    }
    for node in &blob.module.graph.nodes {
        let NodeKind::Call(op, args) = &node.kind else {
            continue;
        };
        let lane = matches!(op.row().lowering, Lowering::Lane(c) if c != LaneClass::Cast);
        for a in args {
            match a {
                Arg::Host(e) if lane => inner_params(e, &mut key),
                a => all_params(a, &mut key),
            }
        }
    }
    for region in &blob.regions {
        for (all, of) in key.iter_mut().zip(of_path(region)) {
            *all |= of;
        }
    }
    key
}

fn all_params(a: &Arg, key: &mut [bool]) {
    match a {
        Arg::Host(e) => e.params(&mut |i| key[i as usize] = true),
        Arg::List(l) => l.iter().for_each(|a| all_params(a, key)),
        Arg::Value(_) | Arg::Field(_) | Arg::None => {}
    }
}

/// Parameters that pick a dim of a metadata read; the others are kernel arguments.
fn inner_params(e: &Expr, key: &mut [bool]) {
    match e {
        Expr::Dim(_, i) => i.params(&mut |p| key[p as usize] = true),
        Expr::Cast(_, a) | Expr::Unary(_, a) => inner_params(a, key),
        Expr::Binary(_, a, b) => {
            inner_params(a, key);
            inner_params(b, key);
        }
        _ => {}
    }
}
