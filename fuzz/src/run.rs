//! Many graphs.

use crate::generate::{Mode, case};
use crate::{check, report, shrink};
use std::collections::BTreeMap;

/// Runs `n` graphs from `seed` on; prints every failure, shrunk, up to `show` by cause; returns how many failed.
pub fn graphs(seed: u64, n: u64, show: usize) -> usize {
    let mut failed = 0;
    let mut groups: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let (mut nodes, mut errors) = (0, 0);
    let start = std::time::Instant::now();
    // how much the comparison tells: elements held exactly, within a bound, not at all
    let mut strength = [0usize; 3];
    for s in seed..seed + n {
        let made = case(s, Mode::Graph);
        nodes += made.case.nodes.len();
        match check::expected(&made.case) {
            Some(check::Expected::Error(_)) => errors += 1,
            Some(check::Expected::Values(v)) => {
                made.case.outputs.iter().flat_map(|&o| &v[o].cells).for_each(|c| {
                    strength[if c.poisoned() { 2 } else { usize::from(!c.exact()) }] += 1;
                })
            }
            None => {}
        }
        for c in &made.refused {
            if let Err(f) = check::refused(c) {
                failed += 1;
                let node = &c.nodes[c.nodes.len() - 1];
                let ops = format!("{} {}", f.kind, node.op);
                groups
                    .entry(ops)
                    .or_insert((0, format!("seed {s}: {f:?} {node:?}")))
                    .0 += 1;
            }
        }
        let f = match check::graph(&made.case) {
            Ok(true) => continue,
            Ok(false) => {
                println!("seed {s}: the generator made a case that the reference refuses");
                failed += 1;
                continue;
            }
            Err(f) => f,
        };
        failed += 1;
        let small = shrink::shrink(
            &made.case,
            |c| matches!(check::graph(c), Err(g) if g.kind == f.kind),
        );
        let g = check::graph(&small).err().unwrap_or(f);
        let mut ops: Vec<String> = small.nodes.iter().map(|n| n.op.to_string()).collect();
        ops.sort();
        ops.dedup();
        let key = format!("{} | {}", g.kind, ops.join(" "));
        groups
            .entry(key)
            .or_insert_with(|| (0, report::failure(s, &small, &g)))
            .0 += 1;
    }
    for (key, (k, text)) in groups.iter().take(show) {
        println!("=== {k} x {key}\n{text}");
    }
    let [exact, near, free] = strength;
    println!("elements compared: {exact} exactly, {near} within a bound, {free} not at all");
    println!(
        "{n} graphs of {nodes} calls, {errors} with an expected error: {failed} failed in {} groups",
        groups.len()
    );
    println!("{:.0} graphs/s", n as f64 / start.elapsed().as_secs_f64());
    failed
}
