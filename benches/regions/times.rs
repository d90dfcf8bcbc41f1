//! What macros cost: `cargo check` of one target with `TENSORPLAY_MACRO_TIMES`.

use std::path::Path;
use std::process::Command;
use std::time::SystemTime;
use std::{env, fs};

/// The lines `item ms` of one target, whose source is touched so that it is checked again: the quickest of three checks.
/// `None` without a cargo.
pub fn of_check(kind: &str, target: &str, source: &str) -> Option<Vec<(String, f64)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = env::temp_dir().join(format!("tensorplay-macro-times-{}", std::process::id()));
    let check = |timed: bool| {
        let mut cargo = Command::new(env::var_os("CARGO")?);
        cargo.args(["check", "--quiet", "--offline", &format!("--{kind}"), target]);
        if timed {
            cargo.env("TENSORPLAY_MACRO_TIMES", &file);
        }
        let status = cargo.current_dir(root).status().ok()?;
        status.success().then_some(())
    };
    // what the target is made of, first
    check(false)?;
    let source = fs::File::options().append(true).open(root.join(source)).ok()?;
    let line = |l: &str| {
        let (item, ms) = l.rsplit_once(' ')?;
        Some((item.to_string(), ms.parse().ok()?))
    };
    let once = |_| {
        source.set_modified(SystemTime::now()).ok()?;
        check(true)?;
        let text = fs::read_to_string(&file).ok()?;
        fs::remove_file(&file).ok()?;
        text.lines().map(line).collect::<Option<Vec<(String, f64)>>>()
    };
    (0..3).filter_map(once).min_by(|a, b| sum(a).total_cmp(&sum(b)))
}

/// All expansions.
pub fn sum(lines: &[(String, f64)]) -> f64 {
    lines.iter().map(|(_, ms)| ms).sum()
}

/// The expansions of one item.
pub fn of_item(lines: &[(String, f64)], item: &str) -> f64 {
    lines
        .iter()
        .filter(|(name, _)| name == item)
        .map(|(_, ms)| ms)
        .sum()
}
