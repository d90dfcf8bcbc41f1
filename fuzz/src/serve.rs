//! Generated functions, compiled against their own bodies and the reference.
//!
//! Invariant: a dispatched call runs emitted kernels, unless a bound predicate split a group.

use crate::case::Case;
use crate::check::{self, Expected, Failure};
use crate::generate::{Mode, case};
use crate::program::{COUNT, SEED};
use crate::{compare, report};
use std::collections::BTreeMap;
use std::process::Command;
use tensorplay::compiler::{Explanation, disable_capture};
use tensorplay::{Result, Tensor};

/// How many functions are built at once.
pub const PER_CRATE: u64 = 250;

/// A generated function.
pub struct Function {
    /// The seed of its case.
    pub seed: u64,
    /// Its text.
    pub source: &'static str,
    /// A call.
    pub run: fn(&[Tensor]) -> Result<Vec<Tensor>>,
    /// `explain!` of it.
    pub explain: fn() -> Explanation,
}

/// Builds and runs `n` functions from `seed` on; returns how many crates failed.
pub fn programs(seed: u64, n: u64) -> usize {
    let mut failed = 0;
    for start in (0..n).step_by(PER_CRATE as usize) {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let status = Command::new(cargo)
            .args([
                "test",
                "--quiet",
                "-p",
                "tensorplay-fuzz",
                "--test",
                "programs",
                "--",
                "--nocapture",
            ])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            // a crate takes less than four seeds a function
            .env(SEED, (seed + start * 4).to_string())
            .env(COUNT, PER_CRATE.min(n - start).to_string())
            .status();
        match status {
            Ok(s) if s.success() => {}
            Ok(_) => failed += 1,
            Err(e) => {
                println!("cannot run cargo: {e}");
                failed += 1;
            }
        }
    }
    failed
}

/// What the calls ran on.
#[derive(Default)]
struct Tally {
    emitted: u64,
    contractions: u64,
    /// Outputs held bit for bit against the body, and within a bound only.
    outputs: [usize; 2],
    /// Split groups by reason.
    splits: BTreeMap<String, usize>,
}

fn one(f: &Function, c: &Case, tally: &mut Tally) -> std::result::Result<(), Failure> {
    let fail = |kind: &str, detail: String| {
        Err(Failure {
            kind: kind.into(),
            detail,
        })
    };
    let Some(want) = check::expected(c) else {
        return Ok(());
    };
    let inputs = c.tensors();
    let eager = check::guarded(|| disable_capture(|| (f.run)(&inputs)));
    let eager = match (&want, eager) {
        // a body panics where dispatch returns an error
        (Expected::Error(_), Err((_, m))) => Err((false, m)),
        (_, e) => e,
    };
    check::against("eager", c, &want, &eager)?;
    let before = (f.explain)();
    let compiled = check::guarded(|| (f.run)(&inputs));
    let after = (f.explain)();
    check::against("compiled", c, &want, &compiled)?;
    if let (Expected::Values(v), Ok(a), Ok(b)) = (&want, &eager, &compiled) {
        for ((&o, a), b) in c.outputs.iter().zip(a).zip(b) {
            tally.outputs[usize::from(!v[o].pure)] += 1;
            if v[o].pure
                && let Err(e) = compare::bitwise(a, b)
            {
                return fail("eager/compiled: bits", format!("output %{o}: {e}"));
            }
        }
        let (s, t) = (before.calls.steps, after.calls.steps);
        if after.calls.dispatched != before.calls.dispatched + 1 {
            return fail("proof: not dispatched", after.to_string());
        }
        tally.emitted += t.emitted - s.emitted;
        tally.contractions += t.contractions - s.contractions;
        // only the nodes of a split group may run on the tile VM, and nothing else may fall back
        let split = (t.splits - s.splits) as usize;
        if split == 0 && t.tile > s.tile {
            return fail("proof: tile VM", after.to_string());
        }
        if after.fallbacks.len() != split {
            return fail("proof: fallback", after.to_string());
        }
        if let Some(f) = after.fallbacks.iter().find(|f| f.reason.contains("report it")) {
            return fail("proof: a bug", f.reason.clone());
        }
        for f in &after.fallbacks {
            *tally.splits.entry(f.reason.clone()).or_default() += 1;
        }
        // again, from the plan
        let again = check::guarded(|| (f.run)(&inputs));
        check::against("compiled again", c, &want, &again)?;
    }
    Ok(())
}

/// Runs generated functions; prints what fails and the figures; returns how many failed.
pub fn functions(table: &[Function], refused: &[(u64, &str, &str)]) -> usize {
    check::quiet_panics();
    let (mut failed, mut errors) = (refused.len(), 0);
    for (seed, source, why) in refused {
        println!("=== {source}\nseed {seed}: refused by the macro: {why}");
    }
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    let mut tally = Tally::default();
    for f in table {
        let c = case(f.seed, Mode::Program).case;
        errors += usize::from(matches!(check::expected(&c), Some(Expected::Error(_))));
        if let Err(e) = one(f, &c, &mut tally) {
            failed += 1;
            *groups.entry(e.kind.clone()).or_default() += 1;
            println!("=== {}\n{}", f.source, report::failure(f.seed, &c, &e));
        }
    }
    println!(
        "{} functions, {errors} with an expected error: {failed} failed {groups:?}",
        table.len() + refused.len()
    );
    let [exact, near] = tally.outputs;
    println!("outputs compared: {exact} bit for bit with the body, {near} within a bound");
    println!(
        "{} groups on emitted kernels, {} contractions, {} groups split by a bound predicate",
        tally.emitted,
        tally.contractions,
        tally.splits.values().sum::<usize>()
    );
    tally.splits.iter().for_each(|(why, n)| println!("  {n} x {why}"));
    failed
}
