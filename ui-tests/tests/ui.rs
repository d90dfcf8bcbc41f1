//! What a user reads: one program a mistake with the message it gets.
//!
//! `TRYBUILD=overwrite cargo test -p tensorplay-ui-tests --test ui` blesses the messages. The programs of `ui/pass` build and
//! run as test targets of their own.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A mistake in one function that only shows once: what else is wrong there shows too.
#[test]
fn a_bad_spec_hides_no_other_error() {
    let (_, text) = messages()
        .into_iter()
        .find(|m| m.0 == "several_errors")
        .expect("the program");
    assert_eq!(
        text.matches("[TP0012]").count(),
        2,
        "the product in `beside_a_bad_spec` is not reported:\n{text}"
    );
}

#[test]
fn ui() {
    let t = trybuild::TestCases::new();
    t.compile_fail("ui/fail/*.rs");
}

#[test]
fn every_good_program_is_a_target() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the manifest");
    for entry in fs::read_dir(root.join("ui/pass")).expect("ui/pass") {
        let name = entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("a name");
        assert!(
            manifest.contains(&format!("path = \"ui/pass/{name}\"")),
            "{name} is no target of ui-tests/Cargo.toml"
        );
    }
}

fn messages() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui/fail");
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("ui/fail")
        .map(|e| e.expect("an entry").path())
        .collect();
    files.sort();
    let stderr = files
        .iter()
        .filter(|p| p.extension().is_some_and(|e| e == "stderr"));
    stderr
        .map(|p| {
            let name = p.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(p).expect("the messages"))
        })
        .collect()
}

/// Codes of docs/errors.md that no program can show when it is built, and why.
const NOT_AT_BUILD: &[(&str, &str)] = &[
    (
        "TP0031",
        "capture checks arguments against the op table first: only hand-made graphs reach it",
    ),
    ("TP0099", "a bug of tensorplay"),
];

#[test]
fn every_code_of_a_build_has_a_program() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors.md"))
        .expect("the page");
    let shown: String = messages().into_iter().map(|m| m.1).collect();
    let codes = page
        .lines()
        .filter_map(|l| l.strip_prefix("## "))
        .filter_map(|l| l.split_whitespace().next());
    // TP09xx are run-time errors
    let codes: BTreeSet<&str> = codes
        .filter(|c| c.starts_with("TP0") && !c.starts_with("TP09"))
        .collect();
    assert!(codes.len() > 30, "docs/errors.md lists {codes:?}");
    let missing: Vec<&str> = codes
        .into_iter()
        .filter(|c| !NOT_AT_BUILD.iter().any(|n| n.0 == *c) && !shown.contains(&format!("[{c}]")))
        .collect();
    assert!(missing.is_empty(), "no program of ui/fail shows {missing:?}");
}

/// Our messages: lower case, no full stop.
#[test]
fn messages_keep_the_house_rules() {
    let mut broken = Vec::new();
    for (name, text) in messages() {
        for line in text.lines() {
            let Some((_, message)) = line.split_once("[TP").and_then(|(_, r)| r.split_once("] ")) else {
                continue;
            };
            // a type's name keeps its spelling in backticks
            if message.starts_with(char::is_uppercase) || message.ends_with('.') && !message.ends_with("..") {
                broken.push(format!("{name}: {message}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Our messages say what to write instead.
#[test]
fn messages_say_what_to_write() {
    let mut broken = BTreeSet::new();
    for (_, text) in messages() {
        let lines: Vec<&str> = text.lines().collect();
        for (i, line) in lines
            .iter()
            .enumerate()
            .filter(|(_, l)| l.starts_with("error: [TP"))
        {
            let own = lines[i + 1..]
                .iter()
                .take_while(|l| !l.trim_start().starts_with("-->"));
            if !own.clone().any(|l| l.contains("help: ")) {
                broken.insert(line.to_string());
            }
        }
    }
    assert!(
        broken.is_empty(),
        "without help:\n{}",
        broken.into_iter().collect::<Vec<_>>().join("\n")
    );
}
