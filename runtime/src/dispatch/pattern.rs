//! Key patterns: what of a call an entry stands for.

use super::key::Key;
use tensorplay_graph::{Dim, GraphModule, Symbol};

/// The key pattern of an entry: `x: f32[B, 64]`. A named dim, or any dim under `dynamic`, is 0, 1 or symbolic.
pub(super) fn pattern(module: &GraphModule, key: &Key, dynamic: bool) -> String {
    let mut parts = Vec::new();
    for (i, t) in key.tensors.iter().enumerate() {
        let name = &module.graph.node(module.graph.inputs[i]).name;
        let dims: Vec<String> = t
            .shape
            .iter()
            .enumerate()
            .map(|(d, &n)| match dim(module, i, (d, t.shape.len()), n, dynamic) {
                Dim::Known(n) => n.to_string(),
                Dim::Symbol(s) => symbol(&module.symbols, s),
                Dim::Unknown => "_".into(),
            })
            .collect();
        let layout = layout_class(&t.shape, &t.strides);
        let grad = if t.requires_grad { " requires_grad" } else { "" };
        parts.push(format!("{name}: {}[{}]{layout}{grad}", t.dtype, dims.join(", ")));
    }
    let own = module.scalars.iter().filter(|s| s.source.is_none());
    let (of_own, of_fields) = key.scalars.split_at(own.clone().count().min(key.scalars.len()));
    if !of_fields.is_empty() {
        let values = of_fields.iter().flatten();
        let shown: Vec<String> = values
            .map(|v| tensorplay_graph::Expr::Literal(*v).to_string())
            .collect();
        parts.push(format!("fields == ({})", shown.join(", ")));
    }
    for (s, v) in own.zip(of_own) {
        if let Some(v) = v {
            parts.push(format!("{} == {}", s.name, tensorplay_graph::Expr::Literal(*v)));
        }
    }
    if !key.grad {
        parts.push("no_grad".into());
    }
    parts.join(", ")
}

/// A size in a key: a number, or a class of sizes.
pub(super) fn dim(
    module: &GraphModule,
    input: usize,
    (d, rank): (usize, usize),
    n: usize,
    dynamic: bool,
) -> Dim {
    let spec = module.specs.get(input).and_then(Option::as_ref);
    let spec = spec.and_then(|s| s.shape.as_ref()).and_then(|s| s.get(d));
    match spec {
        _ if n <= 1 || is_static(module, input, d, rank) => Dim::Known(n),
        Some(Dim::Symbol(s)) => Dim::Symbol(*s),
        Some(Dim::Known(_)) => Dim::Known(n),
        _ if dynamic => Dim::Unknown,
        _ => Dim::Known(n),
    }
}

/// Whether `mark_static` names a dim.
fn is_static(module: &GraphModule, input: usize, dim: usize, rank: usize) -> bool {
    module.statics.iter().any(|&(i, d)| {
        let d = if d < 0 { d + rank as i64 } else { d };
        i as usize == input && d == dim as i64
    })
}

fn symbol(symbols: &[Symbol], i: u32) -> String {
    symbols
        .get(i as usize)
        .map_or_else(|| "_".into(), |s| s.name.clone())
}

/// Contiguous, dense permuted, inner-strided or broadcast.
pub(super) fn layout_class(shape: &[usize], strides: &[usize]) -> &'static str {
    let Ok(l) = crate::layout::Layout::new(shape.into(), strides.into(), 0) else {
        return "";
    };
    if l.is_contiguous() {
        ""
    } else if shape.iter().zip(strides).any(|(&n, &s)| n > 1 && s == 0) {
        " broadcast"
    } else if l.is_dense() {
        " permuted"
    } else {
        " strided"
    }
}
