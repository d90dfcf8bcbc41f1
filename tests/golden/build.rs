//! Turns the golden cases into compiled functions.
//!
//! Problem: a case that does not capture must not break the build of the others, and what "captures"
//! means must be the product's answer, not a copy of it.
//!
//! Method: the vectors' folder is `vectors/`, or the one that `TENSORPLAY_GOLDEN` names. For every case a function is
//! written as text, and that text is given to the capture crate and the schedule, as `#[compile]` will do. A case with a diagnostic
//! becomes an ignored entry with that text; the others go to `$OUT_DIR/cases_<family>.rs`.

#[path = "build/family.rs"]
mod family;
#[path = "build/function.rs"]
mod function;
#[path = "build/names.rs"]
mod names;
#[path = "build/vectors.rs"]
mod vectors;

use std::path::{Path, PathBuf};
use std::{env, fs, process};

const FOLDER: &str = "TENSORPLAY_GOLDEN";

fn main() {
    if let Err(message) = run() {
        eprintln!("golden vectors: {message}");
        process::exit(1);
    }
}

fn run() -> Result<(), String> {
    let variable = |name: &str| env::var(name).map_err(|e| format!("{name}: {e}"));
    let out = PathBuf::from(variable("OUT_DIR")?);
    let folder = folder(Path::new(&variable("CARGO_MANIFEST_DIR")?));
    println!("cargo::rerun-if-env-changed={FOLDER}");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!(
        "cargo::rerun-if-changed={}",
        folder.join(vectors::CASES).display()
    );
    println!("cargo::rustc-env=TENSORPLAY_GOLDEN_VECTORS={}", folder.display());
    for (name, text) in family::files(&vectors::read(&folder)?)? {
        let path = out.join(name);
        // a file that stays the same keeps its time stamp
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

/// The folder of the vectors: the crate's own, or another, absolute or from the workspace root.
fn folder(manifest: &Path) -> PathBuf {
    match env::var_os(FOLDER).filter(|v| !v.is_empty()) {
        // joining an absolute path replaces the root
        Some(path) => manifest.join("../..").join(path),
        None => manifest.join("vectors"),
    }
}
