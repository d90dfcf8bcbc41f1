//! The programs of `examples/programs`, each in a process of its own: it exits with 0, and its last line is `ok` and its name.
//!
//! `cargo test` builds examples beside tests; where one is missing or older than a source, this asks cargo for it.
//! `TENSORPLAY_PROGRAMS=release` runs the programs in release.

use std::collections::{BTreeMap, BTreeSet};
use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::{env, fs, io};

use libtest_mimic::{Arguments, Failed, Trial};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let present = present().expect("examples/programs");
    let named = named(&fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).expect("Cargo.toml"));
    let waiting = waiting(include_str!("programs.txt"));

    let wrong = wrong(&present, &named, &waiting);
    let mut trials = vec![Trial::test("every_program_is_an_example_or_waits", move || {
        if wrong.is_empty() {
            return Ok(());
        }
        Err(wrong.join("\n").into())
    })];

    let examples = Arc::new(Examples::new(&named));
    for name in named {
        let examples = examples.clone();
        trials.push(Trial::test(name.clone(), move || examples.run(&name)));
    }
    for (name, what) in waiting {
        trials.push(
            Trial::test(name, || Ok(()))
                .with_kind(what)
                .with_ignored_flag(true),
        );
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The programs of the folder.
fn present() -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(Path::new(ROOT).join("examples/programs"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "rs") {
            names.extend(path.file_stem().and_then(|s| s.to_str()).map(str::to_string));
        }
    }
    Ok(names)
}

/// The programs that the manifest names, by the path of their target.
fn named(manifest: &str) -> BTreeSet<String> {
    let names = manifest.lines().filter_map(|l| {
        l.trim()
            .strip_prefix("path = \"examples/programs/")?
            .strip_suffix(".rs\"")
    });
    names.map(str::to_string).collect()
}

/// The programs that wait, and what for.
fn waiting(list: &str) -> BTreeMap<String, String> {
    let lines = list.lines().map(str::trim);
    let lines = lines.filter(|l| !l.is_empty() && !l.starts_with('#'));
    let entries = lines.map(|l| l.split_once(char::is_whitespace).unwrap_or((l, "")));
    entries
        .map(|(n, w)| (n.to_string(), w.trim().to_string()))
        .collect()
}

fn wrong(
    present: &BTreeSet<String>,
    named: &BTreeSet<String>,
    waiting: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for name in present {
        match (named.contains(name), waiting.contains_key(name)) {
            (true, true) => wrong.push(format!("{name} is an example: take it off tests/programs.txt")),
            (false, false) => wrong.push(format!("{name} is no example of Cargo.toml")),
            _ => {}
        }
    }
    for (name, what) in waiting {
        if what.is_empty() {
            wrong.push(format!("tests/programs.txt does not say what {name} waits for"));
        }
    }
    for name in named.iter().chain(waiting.keys()) {
        if !present.contains(name) {
            wrong.push(format!("there is no examples/programs/{name}.rs"));
        }
    }
    wrong
}

/// Where the examples are, all up to date, or why not.
struct Examples {
    folder: PathBuf,
    built: Result<(), String>,
}

impl Examples {
    fn new(names: &BTreeSet<String>) -> Examples {
        let test = env::current_exe().expect("this test's path");
        let profile = test
            .parent()
            .and_then(Path::parent)
            .expect("target/<profile>/deps");
        let release = env::var("TENSORPLAY_PROGRAMS").is_ok_and(|p| p == "release");
        let profile = match release {
            true => profile.with_file_name("release"),
            false => profile.to_path_buf(),
        };
        let folder = profile.join("examples");
        let built = if names.iter().all(|n| is_fresh(&folder, n)) {
            Ok(())
        } else {
            build(names, profile.ends_with("release"))
        };
        Examples { folder, built }
    }

    fn run(&self, name: &str) -> Result<(), Failed> {
        self.built.clone()?;
        for threads in [None, Some("1")] {
            let mut program = Command::new(self.folder.join(format!("{name}{EXE_SUFFIX}")));
            program.arg(Path::new(ROOT).join("examples/programs"));
            if let Some(n) = threads {
                program.env("TENSORPLAY_NUM_THREADS", n);
            }
            let output = program.output()?;
            let text = String::from_utf8_lossy(&output.stdout);
            if !output.status.success() || text.lines().last() != Some(&format!("ok {name}")) {
                let errors = String::from_utf8_lossy(&output.stderr);
                let threads = threads.unwrap_or("all");
                return Err(format!("{}, threads: {threads}\n{text}{errors}", output.status).into());
            }
        }
        Ok(())
    }
}

/// Whether the example is there, and newer than all that cargo made it from.
fn is_fresh(folder: &Path, name: &str) -> bool {
    let modified = |path: &Path| fs::metadata(path).and_then(|m| m.modified());
    let Ok(built) = modified(&folder.join(format!("{name}{EXE_SUFFIX}"))) else {
        return false;
    };
    let Ok(sources) = fs::read_to_string(folder.join(format!("{name}.d"))) else {
        return false;
    };
    // `target: source source ..`, a space inside a path as `\ `
    let sources = sources.trim_end().split_once(": ").map_or("", |s| s.1);
    let sources = sources.replace("\\ ", "\0");
    let mut sources = sources.split(' ').map(|s| PathBuf::from(s.replace('\0', " ")));
    sources.all(|s| modified(&s).is_ok_and(|t| t <= built))
}

fn build(names: &BTreeSet<String>, release: bool) -> Result<(), String> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "-q", "-p", "tensorplay"]).current_dir(ROOT);
    cargo.args(names.iter().flat_map(|n| ["--example", n.as_str()]));
    if release {
        cargo.arg("--release");
    }
    let output = cargo.output().map_err(|e| format!("cargo: {e}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}
