//! Generated Rust programs: crates of `#[compile]`d functions, built and run against their own bodies.
//!
//! Problem: capture, emission and dispatch are only exercised by code that rustc compiles.
//! Method: [`write`](write_crate) prints random cases as users write functions, in crates of up to 250 under
//! `target/fuzz/`, each with a table of its functions. The crate depends on this one: [`serve`] makes the inputs
//! from the seed again and compares compiled, eager and reference.
//! Invariant: a dispatched call runs emitted kernels, unless a bound predicate split a group.

use crate::case::{A, Case, Node};
use crate::check::{self, Expected, Failure};
use crate::generate::{Mode, case};
use crate::rng::Rng;
use crate::{compare, report};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tensorplay::compiler::{Explanation, disable_capture};
use tensorplay::{DType, Result, Tensor};
use tensorplay_graph::op::row::Results;
use tensorplay_graph::{Op, Scalar};

/// How many functions a crate holds.
pub const PER_CRATE: u64 = 250;

/// A function of a generated crate.
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

#[derive(Clone)]
enum Form {
    Param(String),
    Bound(String),
    Inline(String, bool),
}

impl Form {
    fn receiver(&self) -> String {
        match self {
            Form::Param(n) | Form::Bound(n) | Form::Inline(n, true) => n.clone(),
            Form::Inline(e, false) => format!("({e})"),
        }
    }
    fn reference(&self) -> String {
        match self {
            Form::Param(n) => n.clone(),
            Form::Bound(n) => format!("&{n}"),
            Form::Inline(e, true) => format!("&{e}"),
            Form::Inline(e, false) => format!("&({e})"),
        }
    }
    fn operand(&self) -> String {
        match self {
            Form::Inline(e, true) => e.clone(),
            Form::Inline(e, false) => format!("({e})"),
            f => f.reference(),
        }
    }
    fn value(&self) -> String {
        match self {
            Form::Param(n) => format!("{n}.clone()"),
            Form::Bound(n) if n.contains('[') => format!("{n}.clone()"),
            Form::Bound(n) | Form::Inline(n, _) => n.clone(),
        }
    }
}

fn scalar(s: Scalar) -> String {
    match s {
        Scalar::Float(v) => format!("{v:?}"),
        Scalar::Int(v) => v.to_string(),
        Scalar::Bool(b) => b.to_string(),
    }
}

fn list(l: &[i64], r: &mut Rng) -> String {
    let items: Vec<String> = l.iter().map(ToString::to_string).collect();
    match (l.len(), r.below(3)) {
        (1, 0 | 1) => items[0].clone(),
        (1, _) => format!("[{}]", items[0]),
        (2..=8, 0 | 1) => format!("({})", items.join(", ")),
        _ => format!("[{}]", items.join(", ")),
    }
}

fn call(n: &Node, forms: &[Form], r: &mut Rng) -> Form {
    let form = |a: &A| match a {
        A::V(v) => forms[*v].clone(),
        a => unreachable!("{a:?} is no tensor"),
    };
    let operator = match n.op {
        Op::Add => "+",
        Op::Sub => "-",
        Op::Mul => "*",
        Op::Div => "/",
        _ => "",
    };
    match (n.op, &n.args[..]) {
        (Op::Neg, [a]) if r.chance(70) => return Form::Inline(format!("-{}", form(a).operand()), false),
        (Op::Rsub | Op::Rdiv, [a, A::S(s)]) if !matches!(s, Scalar::Bool(_)) => {
            let sign = if n.op == Op::Rsub { "-" } else { "/" };
            return Form::Inline(format!("{} {sign} {}", scalar(*s), form(a).operand()), false);
        }
        (_, [a, b]) if !operator.is_empty() && r.chance(80) => {
            let b = match b {
                A::S(s) => scalar(*s),
                b => form(b).operand(),
            };
            return Form::Inline(format!("{} {operator} {b}", form(a).operand()), false);
        }
        _ => {}
    }
    let method = n.op.row().is_method();
    let mut args = Vec::new();
    for (a, p) in n.args.iter().zip(n.op.row().params).skip(usize::from(method)) {
        let optional = p.kind == tensorplay_graph::op::row::ParamKind::OptTensor;
        args.push(match a {
            A::V(v) if optional => format!("Some({})", forms[*v].reference()),
            A::V(v) => forms[*v].reference(),
            A::Vs(l) => format!(
                "&[{}]",
                l.iter()
                    .map(|&v| forms[v].reference())
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            A::S(s) => scalar(*s),
            A::I(i) => i.to_string(),
            A::Is(l) => list(l, r),
            A::D(d) => format!("DType::{d:?}"),
            A::None => "None".into(),
        });
    }
    let args = args.join(", ");
    let receiver = if method {
        form(&n.args[0]).receiver()
    } else {
        "Tensor".into()
    };
    let dot = if method { "." } else { "::" };
    Form::Inline(format!("{receiver}{dot}{}({args})", n.op.name()), true)
}

/// The attribute's arguments, the function's text and the number of results; `None` if users do not write such a case.
pub fn function(c: &Case, name: &str) -> Option<(String, String)> {
    if c.nodes.is_empty() || c.inputs.len() > 8 || c.outputs.iter().any(|&o| o < c.inputs.len()) {
        return None;
    }
    let mut r = Rng::new(c.seed ^ 0xabcd);
    let mut uses = vec![0; c.values()];
    let mut copy = c.clone();
    copy.nodes
        .iter_mut()
        .for_each(|n| n.args.iter_mut().for_each(|a| a.values(&mut |v| uses[*v] += 1)));
    c.outputs.iter().for_each(|&o| uses[o] += 1);
    let mut forms: Vec<Form> = (0..c.inputs.len())
        .map(|i| Form::Param(format!("x{i}")))
        .collect();
    let mut body = String::new();
    for (i, n) in c.nodes.iter().enumerate() {
        let first = c.first(i);
        let made = call(n, &forms, &mut r);
        let Form::Inline(text, _) = &made else {
            unreachable!()
        };
        if n.op.row().results == Results::List {
            let name = format!("parts{i}");
            let _ = writeln!(body, "    let {name} = {text};");
            (0..n.results).for_each(|k| forms.push(Form::Bound(format!("{name}[{k}]"))));
            continue;
        }
        let output = c.outputs.contains(&first);
        if uses[first] == 1 && !output && r.chance(50) && text.len() < 120 {
            forms.push(made);
            continue;
        }
        let shadow = n.args.iter().find_map(|a| match a {
            A::V(v) if uses[*v] == 1 && !c.outputs.contains(v) => match &forms[*v] {
                Form::Bound(name) if !name.contains('[') => Some(name.clone()),
                _ => None,
            },
            _ => None,
        });
        let name = shadow.filter(|_| r.chance(50)).unwrap_or_else(|| format!("h{i}"));
        let _ = writeln!(body, "    let {name} = {text};");
        forms.push(Form::Bound(name));
    }
    let results: Vec<String> = c.outputs.iter().map(|&o| forms[o].value()).collect();
    let (result, ty) = if results.len() == 1 {
        (results[0].clone(), "Tensor".to_string())
    } else {
        (
            format!("({})", results.join(", ")),
            format!("({})", vec!["Tensor"; results.len()].join(", ")),
        )
    };
    let d = c.inputs[0].dtype;
    let one = d.is_float() && c.inputs.iter().all(|i| i.dtype == d);
    let attribute = if one {
        format!("dtypes({d})")
    } else {
        String::new()
    };
    let params: Vec<String> = c
        .inputs
        .iter()
        .enumerate()
        .map(|(i, x)| {
            if one {
                format!("x{i}: &Tensor")
            } else {
                format!("#[spec({}[..])] x{i}: &Tensor", x.dtype)
            }
        })
        .collect();
    let item = format!(
        "fn {name}({}) -> Result<{ty}> {{\n{body}    Ok({result})\n}}",
        params.join(", ")
    );
    Some((attribute, item))
}

/// What the macro would say against a function.
fn refusal(attribute: &str, item: &str) -> Option<String> {
    let parse = |t: &str| t.parse::<proc_macro2::TokenStream>().map_err(|e| e.to_string());
    let (a, i) = match (parse(attribute), parse(item)) {
        (Ok(a), Ok(i)) => (a, i),
        (Err(e), _) | (_, Err(e)) => return Some(e),
    };
    match tensorplay_capture::compile(a, i) {
        Ok(c) => tensorplay_stax::analyse(&c.module).err().map(|e| e.to_string()),
        Err(f) => Some(
            f.diagnostics
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("; "),
        ),
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(PathBuf::new, Path::to_path_buf)
}

/// Writes a crate of `n` functions from `seed` on; returns its folder and how many bodies were refused.
///
/// # Errors
/// The file system's.
pub fn write_crate(seed: u64, n: u64) -> std::io::Result<(PathBuf, usize)> {
    let root = workspace();
    let dir = root.join("target/fuzz").join(format!("programs_{seed}_{n}"));
    std::fs::create_dir_all(dir.join("src"))?;
    let mut functions = String::new();
    let mut table = String::new();
    let (mut made, mut s, mut refusals) = (0, seed, 0);
    while made < n && s < seed + 4 * n {
        let c = case(s, Mode::Program).case;
        s += 1;
        let name = format!("f{}", c.seed);
        let Some((attribute, item)) = function(&c, &name) else {
            continue;
        };
        if let Some(why) = refusal(&attribute, &item) {
            println!("refused by the macro: {why}\n{item}");
            refusals += 1;
            continue;
        }
        made += 1;
        let attribute = if attribute.is_empty() {
            String::new()
        } else {
            format!("({attribute})")
        };
        let _ = writeln!(functions, "#[compile{attribute}]\n{item}\n");
        let args: Vec<String> = (0..c.inputs.len()).map(|i| format!("&x[{i}]")).collect();
        let results: Vec<String> = (0..c.outputs.len()).map(|i| format!("r.{i}")).collect();
        let map = if results.len() == 1 {
            "vec![r]".to_string()
        } else {
            format!("vec![{}]", results.join(", "))
        };
        let _ = writeln!(
            table,
            "    Function {{ seed: {}, source: {item:?}, run: |x| {name}({}).map(|r| {map}), explain: || explain!({name}) }},",
            c.seed,
            args.join(", ")
        );
    }
    let text = format!(
        "//! Generated by tensorplay-fuzz.\n#![allow(warnings)]\nuse tensorplay::{{Result, compile, explain, prelude::*}};\n\
         use tensorplay_fuzz::program::Function;\n\n{functions}\nfn main() {{\n    tensorplay_fuzz::program::serve(TABLE);\n}}\n\n\
         static TABLE: &[Function] = &[\n{table}];\n"
    );
    std::fs::write(dir.join("src/main.rs"), text)?;
    let own = std::fs::read_to_string(root.join("Cargo.toml"))?;
    let profiles: String = own
        .split("\n[")
        .filter(|s| s.starts_with("profile."))
        .map(|s| format!("[{s}\n"))
        .collect();
    let manifest = format!(
        "[package]\nname = \"programs\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n[workspace]\n\n[dependencies]\n\
         tensorplay = {{ path = {0:?} }}\ntensorplay-fuzz = {{ path = {1:?} }}\n\n{profiles}",
        root,
        root.join("fuzz")
    );
    std::fs::write(dir.join("Cargo.toml"), manifest)?;
    std::fs::copy(root.join("Cargo.lock"), dir.join("Cargo.lock"))?;
    Ok((dir, refusals))
}

/// Writes, builds and runs `n` functions from `seed` on; returns how many failed.
pub fn run(seed: u64, n: u64) -> usize {
    let mut failed = 0;
    for start in (0..n).step_by(PER_CRATE as usize) {
        let k = PER_CRATE.min(n - start);
        let (dir, refusals) = match write_crate(seed + start * 4, k) {
            Ok(d) => d,
            Err(e) => {
                println!("cannot write the crate: {e}");
                return failed + 1;
            }
        };
        failed += refusals;
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from);
        let status = Command::new(cargo)
            .arg("run")
            .arg("--quiet")
            .current_dir(&dir)
            .env("CARGO_TARGET_DIR", target)
            .status();
        match status {
            Ok(s) if s.success() => {}
            Ok(s) => failed += s.code().filter(|&c| c > 0).unwrap_or(1) as usize,
            Err(e) => {
                println!("cannot run cargo: {e}");
                failed += 1;
            }
        }
    }
    failed
}

fn one(f: &Function, c: &Case, splits: &mut BTreeMap<String, usize>) -> std::result::Result<(), Failure> {
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
        let split = t.splits - s.splits;
        if split > 0 {
            for f in &after.fallbacks {
                *splits.entry(f.reason.clone()).or_default() += 1;
            }
        } else if t.tile > s.tile {
            return fail("proof: tile VM", after.to_string());
        } else if !after.fallbacks.is_empty() {
            return fail("proof: fallback", after.to_string());
        }
        // again, from the plan
        let again = check::guarded(|| (f.run)(&inputs));
        check::against("compiled again", c, &want, &again)?;
    }
    Ok(())
}

/// Runs the functions of a generated crate; exits with the number of failures.
pub fn serve(table: &[Function]) {
    check::quiet_panics();
    let (mut failed, mut errors) = (0, 0);
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    let mut splits: BTreeMap<String, usize> = BTreeMap::new();
    for f in table {
        let c = case(f.seed, Mode::Program).case;
        errors += usize::from(matches!(check::expected(&c), Some(Expected::Error(_))));
        if let Err(e) = one(f, &c, &mut splits) {
            failed += 1;
            *groups.entry(e.kind.clone()).or_default() += 1;
            println!("=== {}\n{}", f.source, report::failure(f.seed, &c, &e));
        }
    }
    println!(
        "{} functions, {errors} with an expected error: {failed} failed {groups:?}",
        table.len()
    );
    println!(
        "{} split groups by a bound predicate",
        splits.values().sum::<usize>()
    );
    splits.iter().for_each(|(why, n)| println!("  {n} x {why}"));
    std::process::exit(failed.min(100));
}

/// The dtype names, for messages.
pub fn dtypes(c: &Case) -> Vec<DType> {
    c.inputs.iter().map(|i| i.dtype).collect()
}
