//! Three crates as users have them: regions and layers of one, used by two others (`tests/crates`, a workspace of its own).
//!
//! Its dependencies are those of this workspace, from the same lock file, in a folder that both share: what cargo builds
//! here is tensorplay itself and the three crates.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[test]
fn regions_and_layers_of_another_crate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = root.join("tests/crates");
    fs::copy(root.join("Cargo.lock"), workspace.join("Cargo.lock")).expect("the lock file");
    let output = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--quiet", "--tests", "--config"])
        .arg(root.join("tests/profile.toml"))
        .arg("--target-dir")
        .arg(target())
        .current_dir(workspace)
        .output()
        .expect("cargo");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    assert!(!err.contains("warning"), "{err}");
    assert!(out.contains("test result: ok. 4 passed"), "{out}");
}

/// `target/debug/deps/crates-..` is this test.
fn target() -> PathBuf {
    let test = env::current_exe().expect("a path");
    test.ancestors().nth(3).expect("a folder").to_path_buf()
}
