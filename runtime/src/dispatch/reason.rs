//! `Recompile`: why a function that had entries needed another one.

use super::bound::Bound;
use super::guard::GuardChain;
use super::key::Key;
use super::pattern::{dim, layout_class};
use std::fmt;
use tensorplay_graph::{Dim, Expr, GraphModule, Host};

/// Reasons kept by a function; the oldest go first.
pub(super) const KEPT: usize = 64;

/// Why a function that had entries needed another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recompile {
    /// The function's path.
    pub function: String,
    /// What differs from the entry that resembles the call most: `x.dim(0) == 3`, with what the call has.
    pub reasons: Vec<String>,
}

impl fmt::Display for Recompile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 4;
        write!(f, "recompiling `{}`: ", self.function)?;
        let shown = self.reasons.iter().take(SHOWN);
        f.write_str(&shown.map(String::as_str).collect::<Vec<_>>().join("; "))?;
        match self.reasons.len() {
            n if n > SHOWN => write!(f, " (+{} more)", n - SHOWN),
            _ => Ok(()),
        }
    }
}

/// What differs from the plan that resembles a call most.
pub(super) fn reasons(
    module: &GraphModule,
    key: &Key,
    (path, dynamic): (usize, bool),
    table: &[std::sync::Arc<Bound>],
    guards: impl Fn(usize) -> GuardChain,
) -> Option<Vec<String>> {
    let comparable = table.iter().filter(|b| b.key.of.1 == key.of.1);
    let differ = |b: &Bound| {
        let mut found = difference(module, &b.key, key, dynamic);
        if b.path != path {
            let of = guards(b.path);
            let source = of.source();
            found.insert(
                0,
                if source.is_empty() {
                    format!("path {}", b.path)
                } else {
                    source
                },
            );
        }
        found
    };
    comparable.map(|b| differ(b)).min_by_key(Vec::len)
}

/// The conditions of an entry that a call does not meet.
fn difference(module: &GraphModule, old: &Key, new: &Key, dynamic: bool) -> Vec<String> {
    let mut found = Vec::new();
    let name = |i: usize| match module.graph.inputs.get(i) {
        Some(id) => module.graph.node(*id).name.clone(),
        None => format!("input {i}"),
    };
    if old.of.0 != new.of.0 {
        found.push("another backend".into());
    }
    if old.tensors.len() != new.tensors.len() {
        let (a, b) = (old.tensors.len(), new.tensors.len());
        found.push(format!("{a} tensors, got {b}"));
    }
    for (i, (a, b)) in old.tensors.iter().zip(&new.tensors).enumerate() {
        let x = name(i);
        if a.dtype != b.dtype {
            found.push(format!("{x}.dtype() == {}, got {}", a.dtype, b.dtype));
        }
        if a.device != b.device {
            found.push(format!("{x}.device() == {:?}, got {:?}", a.device, b.device));
        }
        if a.requires_grad != b.requires_grad {
            found.push(format!("{x}.requires_grad() == {}", a.requires_grad));
        }
        if a.shape.len() != b.shape.len() {
            found.push(format!("{x}.rank() == {}, got {}", a.shape.len(), b.shape.len()));
            continue;
        }
        let class = |d: usize, n: usize| dim(module, i, (d, a.shape.len()), n, dynamic);
        for (d, (&m, &n)) in a.shape.iter().zip(&b.shape).enumerate() {
            match class(d, m) {
                // two sizes of one class have one entry
                old if old == class(d, n) => {}
                Dim::Known(_) => found.push(format!("{x}.dim({d}) == {m}, got {n}")),
                Dim::Symbol(_) | Dim::Unknown => found.push(format!("{x}.dim({d}) > 1, got {n}")),
            }
        }
        let class = |k: &super::key::TensorKey| match layout_class(&k.shape, &k.strides) {
            "" => "contiguous",
            class => class.trim_start(),
        };
        if class(a) != class(b) {
            found.push(format!("{x} is {}, got {}", class(a), class(b)));
        }
    }
    let own: Vec<&str> = module
        .scalars
        .iter()
        .filter(|s| s.source.is_none())
        .map(|s| s.name.as_str())
        .collect();
    for (i, (a, b)) in old.scalars.iter().zip(&new.scalars).enumerate() {
        let show = |h: &Host| Expr::Literal(*h).to_string();
        if let (Some(a), Some(b)) = (a, b)
            && a != b
        {
            let what = own.get(i).copied().unwrap_or("a field");
            found.push(format!("{what} == {}, got {}", show(a), show(b)));
        }
    }
    if old.grad != new.grad {
        found.push(format!("gradients are {}", if old.grad { "on" } else { "off" }));
    }
    found
}
