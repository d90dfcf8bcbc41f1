//! Makes a failing case small.
//!
//! Method: greedy. Fewer outputs, calls that nobody reads dropped, calls replaced by inputs of their value, inputs
//! contiguous and simple, sizes smaller; a step stays if the case fails in the same way.

use crate::case::{A, Case, Input, Layout, Spec, count, each, float_bits, strides};
use crate::reference;

/// Renames values; `None` where a value is gone but still used.
fn renamed(case: &Case, map: &[Option<usize>]) -> Option<Case> {
    let mut c = case.clone();
    let mut ok = true;
    let mut f = |v: &mut usize| match map.get(*v).copied().flatten() {
        Some(n) => *v = n,
        None => ok = false,
    };
    for n in &mut c.nodes {
        n.args.iter_mut().for_each(|a| a.values(&mut f));
    }
    c.outputs.iter_mut().for_each(&mut f);
    ok.then_some(c)
}

/// Without calls and inputs that nobody reads.
fn pruned(case: &Case) -> Case {
    let mut c = case.clone();
    loop {
        let n = c.values();
        let mut used = vec![false; n];
        c.nodes
            .iter_mut()
            .for_each(|n| n.args.iter_mut().for_each(|a| a.values(&mut |v| used[*v] = true)));
        c.outputs.iter().for_each(|&v| used[v] = true);
        let dead_node = (0..c.nodes.len()).rev().find(|&i| {
            let f = c.first(i);
            (f..f + c.nodes[i].results).all(|v| !used[v])
        });
        let dead_input = (0..c.inputs.len()).rev().find(|&i| !used[i]);
        let (from, len) = match (dead_node, dead_input) {
            (Some(i), _) => {
                let f = (c.first(i), c.nodes[i].results);
                c.nodes.remove(i);
                f
            }
            (None, Some(i)) => {
                c.inputs.remove(i);
                (i, 1)
            }
            _ => return c,
        };
        let map: Vec<Option<usize>> = (0..n)
            .map(|v| match v {
                v if v < from => Some(v),
                v if v < from + len => None,
                v => Some(v - len),
            })
            .collect();
        match renamed(&c, &map) {
            Some(next) => c = next,
            None => return case.clone(),
        }
    }
}

/// A call's results as inputs.
fn as_input(case: &Case, node: usize) -> Option<Case> {
    let values = match reference::run(case) {
        Ok(v) => v,
        Err((i, _)) => {
            let mut c = case.clone();
            c.nodes.truncate(i);
            c.outputs.clear();
            reference::run(&c).ok()?
        }
    };
    let mut c = case.clone();
    let (f, k, inputs) = (case.first(node), case.nodes[node].results, case.inputs.len());
    if f + k > values.len() {
        return None;
    }
    for a in &values[f..f + k] {
        let bits = a
            .cells
            .iter()
            .map(|x| {
                if a.dtype.is_float() {
                    float_bits(a.dtype, x.v)
                } else {
                    x.i as u64
                }
            })
            .collect();
        c.inputs.push(Input {
            dtype: a.dtype,
            shape: a.shape.clone(),
            bits,
            layout: Layout::Contiguous,
            spec: case.inputs.first().map_or(Spec::None, |i| i.spec),
        });
    }
    c.nodes.remove(node);
    let map: Vec<Option<usize>> = (0..case.values() + 1)
        .map(|v| {
            Some(match v {
                v if v < inputs => v,
                v if v < f => v + k,
                v if v < f + k => inputs + v - f,
                v => v,
            })
        })
        .collect();
    renamed(&c, &map)
}

fn cut(i: &Input, from: usize, to: usize) -> Input {
    let mut shape = i.shape.clone();
    shape.iter_mut().for_each(|n| {
        if *n == from {
            *n = to;
        }
    });
    let st = strides(&i.shape);
    let mut bits = Vec::with_capacity(count(&shape));
    each(&shape, |at| {
        bits.push(i.bits[at.iter().zip(&st).map(|(a, s)| a * s).sum::<usize>()])
    });
    Input {
        shape,
        bits,
        ..i.clone()
    }
}

fn candidates(case: &Case) -> Vec<Case> {
    let mut out = Vec::new();
    if case.outputs.len() > 1 {
        for i in 0..case.outputs.len() {
            out.push(Case {
                outputs: vec![case.outputs[i]],
                ..case.clone()
            });
        }
    }
    for n in (0..case.nodes.len()).rev() {
        out.extend(as_input(case, n));
        // a call by one of its operands
        let first = case.first(n);
        let mut args = case.nodes[n].args.clone();
        for a in &mut args {
            if let A::V(v) = a {
                let mut c = case.clone();
                let to = *v;
                let swap = |w: &mut usize| {
                    if *w == first {
                        *w = to;
                    }
                };
                c.nodes
                    .iter_mut()
                    .skip(n + 1)
                    .for_each(|m| m.args.iter_mut().for_each(|a| a.values(&mut |w| swap(w))));
                c.outputs.iter_mut().for_each(swap);
                out.push(c);
            }
        }
    }
    let mut sizes: Vec<usize> = case
        .inputs
        .iter()
        .flat_map(|i| i.shape.iter().copied())
        .filter(|&n| n > 1)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    for &from in sizes.iter().rev() {
        for to in [1, 2, from / 2, from - 1] {
            if to > 0 && to < from {
                let inputs = case.inputs.iter().map(|i| cut(i, from, to)).collect();
                let mut c = Case {
                    inputs,
                    ..case.clone()
                };
                out.push(c.clone());
                for n in &mut c.nodes {
                    for a in &mut n.args {
                        if let A::Is(l) = a {
                            l.iter_mut().for_each(|v| {
                                if *v == from as i64 {
                                    *v = to as i64;
                                }
                            });
                        }
                    }
                }
                out.push(c);
            }
        }
    }
    for i in 0..case.inputs.len() {
        let mut with = |f: &dyn Fn(&mut Input)| {
            let mut c = case.clone();
            f(&mut c.inputs[i]);
            if c != *case {
                out.push(c);
            }
        };
        with(&|i| i.layout = Layout::Contiguous);
        with(&|i| i.spec = Spec::None);
        with(&|i| {
            let one = if i.dtype.is_float() {
                float_bits(i.dtype, 1.0)
            } else {
                1
            };
            i.bits.fill(one);
        });
        with(&|i| {
            if i.dtype.is_float() {
                let d = i.dtype;
                i.bits
                    .iter_mut()
                    .for_each(|b| *b = float_bits(d, crate::case::float_of(d, *b).round()));
            }
        });
        with(&|i| {
            if let Some(&b) = i.bits.first() {
                i.bits.fill(b);
            }
        });
    }
    out
}

/// The smallest case found that `fails`.
pub fn shrink(case: &Case, fails: impl Fn(&Case) -> bool) -> Case {
    let mut best = case.clone();
    let mut budget = 1500;
    'again: loop {
        for c in candidates(&best) {
            let c = pruned(&c);
            if c == best {
                continue;
            }
            budget -= 1;
            if budget == 0 {
                return best;
            }
            if fails(&c) {
                best = c;
                continue 'again;
            }
        }
        return best;
    }
}
