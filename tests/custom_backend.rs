//! A backend in a crate of its own (`examples/custom-backend`, a workspace of its own): it runs, and its tests pass.
//!
//! As for `tests/crates`, dependencies are those of this workspace, from the same lock file, in a folder that all share.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[test]
fn a_backend_of_another_crate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = root.join("examples/custom-backend");
    fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock")).expect("the lock file");

    let (out, err) = cargo(&package, &["run"]);
    assert_eq!(out.lines().last(), Some("ok custom-backend"), "{out}\n{err}");
    assert!(!err.contains("warning"), "{err}");
    for said in [
        "error[TP0903]: backend `closures` failed",
        "erf at src/main.rs:",
        "error[TP0902]",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }

    let (out, err) = cargo(&package, &["test", "--tests"]);
    assert!(out.contains("test result: ok. 12 passed"), "{out}\n{err}");
    assert!(!err.contains("warning"), "{err}");
}

fn cargo(package: &Path, args: &[&str]) -> (String, String) {
    let output = Command::new(env!("CARGO"))
        .args(&args[..1])
        .args(["--offline", "--quiet", "--config"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profile.toml"))
        .arg("--target-dir")
        .arg(target())
        .args(&args[1..])
        .current_dir(package)
        .output()
        .expect("cargo");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{args:?}: {out}\n{err}");
    (out, err)
}

/// `target/debug/deps/custom_backend-..` is this test.
fn target() -> PathBuf {
    let test = env::current_exe().expect("a path");
    test.ancestors().nth(3).expect("a folder").to_path_buf()
}
