//! What `#[compile]` makes of two functions, as text: a change of emitted code shows in review. One is captured whole, the
//! other has graph breaks.
//!
//! `TENSORPLAY_BLESS=1 cargo test --test expansion` accepts the present text. rustc itself expands the example, against
//! the libraries that this test was linked with, so nothing is built.
#![deny(warnings)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const SOURCE: &str = "examples/quickstart.rs";
const BROKEN: &str = "tests/expansion/source.rs";

/// The facade's libraries beside this test, newest first: older ones are leftovers of other builds.
fn libraries() -> (PathBuf, Vec<PathBuf>) {
    let me = std::env::current_exe().expect("this test's path");
    let deps = me.parent().expect("the deps folder").to_path_buf();
    let mut found: Vec<(SystemTime, PathBuf)> = std::fs::read_dir(&deps)
        .expect("the deps folder")
        .filter_map(|e| e.ok())
        .filter(|e| {
            let name = e.file_name();
            let name = name.to_string_lossy();
            name.starts_with("libtensorplay-") && name.ends_with(".rlib")
        })
        .filter_map(|e| Some((e.metadata().ok()?.modified().ok()?, e.path())))
        .collect();
    found.sort();
    (deps, found.into_iter().rev().map(|f| f.1).collect())
}

/// `rustc -Zunpretty=expanded` of a file.
fn expand(source: &str) -> String {
    let (deps, libraries) = libraries();
    let rustc = Path::new(env!("CARGO")).with_file_name("rustc");
    let rustc = if rustc.is_file() {
        rustc
    } else {
        PathBuf::from("rustc")
    };
    let mut problem = format!("no libtensorplay in {}", deps.display());
    for library in libraries {
        let out = Command::new(&rustc)
            .current_dir(ROOT)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_MANIFEST_DIR", ROOT)
            .env("CARGO_PKG_NAME", "tensorplay")
            .env("CARGO_CRATE_NAME", "quickstart")
            .args([
                "-Zunpretty=expanded",
                "--edition=2024",
                "--crate-name=quickstart",
                "--crate-type=bin",
                source,
            ])
            .arg("-L")
            .arg(format!("dependency={}", deps.display()))
            .arg("--extern")
            .arg(format!("tensorplay={}", library.display()))
            .output()
            .expect("rustc");
        if out.status.success() {
            return String::from_utf8(out.stdout).expect("UTF-8");
        }
        problem = format!("{}: {}", library.display(), String::from_utf8_lossy(&out.stderr));
    }
    panic!("{problem}")
}

/// `classify` and what stands beside it.
fn of_the_function(expanded: &str) -> String {
    part(expanded, "fn classify(", "\nstruct Digits")
}

/// A compiled function and what stands beside it, without the bytes of its blob. rustc's printer strews comments of the
/// source between the items; they are left out.
fn part(expanded: &str, first: &str, behind: &str) -> String {
    let start = expanded.find(first).expect("the function");
    let end = expanded[start..].find(behind).expect("the item after it") + start;
    let mut out = String::new();
    let mut rest = &expanded[start..end];
    while let Some(at) = rest.find("b\"") {
        let (before, literal) = rest.split_at(at);
        let mut bytes = 0;
        let mut chars = literal[2..].char_indices();
        let close = loop {
            match chars.next().expect("the literal ends") {
                (i, '"') => break i,
                (_, '\\') => {
                    if let Some((_, 'x')) = chars.next() {
                        chars.nth(1);
                    }
                    bytes += 1;
                }
                _ => bytes += 1,
            }
        };
        assert!(bytes > 0, "an empty blob");
        out.push_str(before);
        out.push_str("b\"(the blob)\"");
        rest = &literal[2 + close + 1..];
    }
    out.push_str(rest);
    let lines = out
        .lines()
        .filter(|l| !l.trim().is_empty() && !l.trim_start().starts_with("//"));
    lines.flat_map(|l| [l.trim_end(), "\n"]).collect()
}

fn expanded() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| expand(SOURCE))
}

#[test]
fn the_quickstart_expands_to_the_golden_text() {
    golden("quickstart", of_the_function(expanded()));
}

#[test]
fn a_function_with_breaks_expands_to_the_golden_text() {
    let text = part(&expand(BROKEN), "fn early_exit(", "\nfn main()");
    golden("early_exit", text);
}

/// Compares a text with the one on file.
fn golden(name: &str, got: String) {
    let path = Path::new(ROOT).join(format!("tests/expansion/{name}.rs"));
    if std::env::var_os("TENSORPLAY_BLESS").is_some() {
        std::fs::write(&path, &got).expect("the golden text is written");
        return;
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    if let Some((i, (a, b))) = want
        .lines()
        .zip(got.lines())
        .enumerate()
        .find(|(_, (a, b))| a != b)
    {
        panic!(
            "line {} of {} differs:\n- {a}\n+ {b}\nbless with TENSORPLAY_BLESS=1",
            i + 1,
            path.display()
        );
    }
    let (n, m) = (want.lines().count(), got.lines().count());
    assert_eq!(
        n,
        m,
        "{} has {n} lines, the expansion {m}; bless with TENSORPLAY_BLESS=1",
        path.display()
    );
}

#[test]
fn the_expansion_is_deterministic() {
    assert!(
        expanded() == expand(SOURCE),
        "two expansions of the same source differ"
    );
}

/// The lines of `classify` in the source.
fn body() -> Vec<(usize, String)> {
    let source = std::fs::read_to_string(Path::new(ROOT).join(SOURCE)).expect("the example");
    let lines = source.lines().enumerate().map(|(i, l)| (i + 1, l.to_string()));
    let mut out: Vec<_> = lines
        .skip_while(|(_, l)| !l.starts_with("fn classify("))
        .collect();
    let end = out
        .iter()
        .position(|(_, l)| l == "}")
        .expect("the end of `classify`");
    out.truncate(end);
    out
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|w| !w.is_empty())
        .collect()
}

#[test]
fn every_kernel_carries_names_and_lines_of_the_source() {
    let text = of_the_function(expanded());
    let body = body();
    let known: Vec<String> = body
        .iter()
        .flat_map(|(_, l)| words(l).into_iter().map(String::from))
        .collect();
    // documentation, type, implementation
    let strips: Vec<&str> = text
        .split("#[doc =")
        .filter(|s| s.contains("Program for "))
        .collect();
    assert!(!strips.is_empty(), "no kernel in\n{text}");
    for strip in strips {
        let (documented, kernel) = strip.split_once("Program for ").expect("a program");
        let name = words(kernel)[0];
        // the line of the source, and the text that stands there
        let source = documented.split('"').nth(1).expect("a literal").trim();
        let (line, written) = source
            .strip_prefix(&format!("{SOURCE}:"))
            .and_then(|s| s.split_once(": "))
            .unwrap_or_else(|| panic!("`{name}` comes from `{source}`"));
        let line: usize = line.parse().expect("a line");
        let (_, there) = body
            .iter()
            .find(|b| b.0 == line)
            .unwrap_or_else(|| panic!("`{name}`: {source}"));
        let dense = |s: &str| s.split_whitespace().collect::<String>();
        assert!(
            dense(there).contains(&dense(written.trim_end_matches(".."))),
            "`{name}`: `{written}` is not in `{there}`"
        );
        // its own name, an operand and a value are words of the source
        let from_source = |w: &str| known.iter().any(|k| k == w);
        assert!(
            name.split('_').any(from_source),
            "the kernel's name `{name}` has no word of the source"
        );
        let start = kernel.find("fn lanes(").expect("the lanes");
        let end = kernel[start..].find("lanes(__tp_n,").expect("their call") + start;
        let mut named = words(&kernel[start..end])
            .into_iter()
            .map(|w| w.trim_end_matches("_out"));
        assert!(
            named.any(from_source),
            "`{name}` has no operand named in the source"
        );
    }
}
