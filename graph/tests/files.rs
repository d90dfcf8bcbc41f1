//! Text-file tests: one case for each `tests/**/*.tpg`.
//!
//! A file has three parts between lines of `---`: comments with a line `pass: NAMES`, a graph, and what comes out: the graph
//! in text form, or the error. Names are those of `PASSES`, `standard`, `lowering`, `verify` (no pass) or `parse` (not even
//! the verifier). Graphs may leave out types, which the parser infers.
//!
//! Of every graph that comes out the runner also checks: it parses back to itself; the passes change nothing when run
//! again; "changed" is said exactly when the text changed.
//!
//! `TENSORPLAY_BLESS=1 cargo test -p tensorplay-graph --test files` rewrites the expected parts.

use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::{env, fs};
use tensorplay_graph::passes::{Pass, PassManager};
use tensorplay_graph::{GraphModule, text, verify};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let trials = files.into_iter().map(|path| {
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        Trial::test(name, move || check(&path))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("the folder of the tests").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "tpg") {
            files.push(path);
        }
    }
}

fn check(path: &Path) -> Result<(), Failed> {
    let content = fs::read_to_string(path)?;
    let mut parts = content.splitn(3, "---\n");
    let head = parts.next().unwrap_or_default();
    let input = parts.next().ok_or("no graph after `---`")?;
    let expected = parts.next().unwrap_or_default();
    let names = head
        .lines()
        .find_map(|l| l.strip_prefix("pass:"))
        .ok_or("no line `pass: NAMES`")?;
    let got = run(names, input)?;
    if got == expected {
        return Ok(());
    }
    if env::var_os("TENSORPLAY_BLESS").is_some() {
        fs::write(path, format!("{head}---\n{input}---\n{got}"))?;
        return Ok(());
    }
    Err(format!("{}:\n{}", path.display(), diff(expected, &got)).into())
}

fn run(names: &str, input: &str) -> Result<String, Failed> {
    let names: Vec<&str> = names.split([',', ' ']).filter(|n| !n.is_empty()).collect();
    let mut module = match text::parse(input) {
        Ok(m) => m,
        Err(e) => return Ok(format!("error at {e}\n")),
    };
    if names == ["parse"] {
        return printed(&module);
    }
    if let Err(errors) = verify(&module) {
        return Ok(errors.iter().map(|e| format!("{e}\n")).collect());
    }
    let mut manager = PassManager::new();
    for name in names.iter().filter(|n| **n != "verify") {
        manager = match Pass::from_name(name) {
            Some(pass) => manager.with(pass),
            None if *name == "standard" => PassManager::standard(),
            None if *name == "lowering" => PassManager::lowering(),
            None => return Err(format!("there is no pass `{name}`").into()),
        };
    }
    let before = module.to_string();
    let changed = match manager.run(&mut module) {
        Ok(changed) => changed,
        Err(e) => return Ok(format!("{e}\n")),
    };
    let after = printed(&module)?;
    if changed != (before != after) {
        return Err(format!("the passes say changed = {changed}:\n{}", diff(&before, &after)).into());
    }
    if manager.run(&mut module)? {
        return Err(format!("a second run changes:\n{}", diff(&after, &module.to_string())).into());
    }
    Ok(after)
}

fn printed(module: &GraphModule) -> Result<String, Failed> {
    let once = module.to_string();
    let parsed = text::parse(&once).map_err(|e| format!("the printed graph does not parse: {e}\n{once}"))?;
    let twice = parsed.to_string();
    if once != twice {
        return Err(format!("printing is not stable:\n{}", diff(&once, &twice)).into());
    }
    if module.graph.nodes.len() != parsed.graph.nodes.len() {
        return Err("the parsed graph has other nodes".into());
    }
    Ok(once)
}

/// Lines of both texts: `-` expected, `+` got.
fn diff(expected: &str, got: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), got.lines().collect());
    // the table of longest common subsequences, from the end
    let mut table = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            table[i][j] = if a[i] == b[j] {
                table[i + 1][j + 1] + 1
            } else {
                table[i + 1][j].max(table[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, String::new());
    while i < a.len() || j < b.len() {
        let (sign, line) = if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
            (' ', a[i - 1])
        } else if j == b.len() || (i < a.len() && table[i + 1][j] >= table[i][j + 1]) {
            i += 1;
            ('-', a[i - 1])
        } else {
            j += 1;
            ('+', b[j - 1])
        };
        out.push_str(&format!("{sign} {line}\n"));
    }
    out
}
