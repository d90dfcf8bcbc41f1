//! Scratch folders, artefacts with known bytes, and what was logged.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};
use tensorplay_runtime::compiler::CacheKey;

/// A folder that goes with its value.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        capture_log();
        let path = std::env::temp_dir().join(format!("tensorplay-cache-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn root(&self) -> PathBuf {
        self.0.join("root")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn key(n: usize) -> CacheKey {
    CacheKey::new("probe", "f").source(n.to_string())
}

/// What compiling `key(n)` yields: `len` bytes of no period that a page or a block has.
pub fn code(n: usize, len: usize) -> Vec<u8> {
    (0..len)
        .map(|i| ((i * 31 + i / 251 + n * 17) % 256) as u8)
        .collect()
}

/// A line more in a file that several processes append to.
pub fn note(file: &Path) {
    let mut f = OpenOptions::new().create(true).append(true).open(file).unwrap();
    f.write_all(b"once\n").unwrap();
}

pub fn notes(file: &Path) -> usize {
    fs::read_to_string(file).map_or(0, |s| s.lines().count())
}

pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(
            start.elapsed() < Duration::from_secs(120),
            "waited too long for {what}"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// All files below `root`.
pub fn files(root: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for child in fs::read_dir(root).into_iter().flatten().flatten() {
        match child.file_type() {
            Ok(t) if t.is_dir() => all.extend(files(&child.path())),
            _ => all.push(child.path()),
        }
    }
    all
}

fn named(root: &Path, part: &str) -> Vec<PathBuf> {
    let mut all = files(root);
    all.retain(|f| f.file_name().unwrap().to_string_lossy().contains(part));
    all
}

pub fn temps(root: &Path) -> Vec<PathBuf> {
    named(root, ".tmp")
}

pub fn entries(root: &Path) -> Vec<PathBuf> {
    named(&root.join("kernels"), ".bin")
}

pub fn bytes(root: &Path) -> u64 {
    entries(root)
        .iter()
        .filter_map(|e| e.metadata().ok())
        .map(|m| m.len())
        .sum()
}

/// Lock files of artefacts.
#[cfg(unix)]
pub fn locks(root: &Path) -> Vec<PathBuf> {
    named(&root.join("locks"), ".bin")
}

static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Capture;

impl log::Log for Capture {
    fn enabled(&self, _: &log::Metadata) -> bool {
        true
    }
    fn log(&self, record: &log::Record) {
        LOG.lock().unwrap().push(record.args().to_string());
    }
    fn flush(&self) {}
}

pub fn capture_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&Capture).unwrap();
        log::set_max_level(log::LevelFilter::Warn);
    });
}

/// Warnings that have `part`, such as a path.
pub fn warnings(part: impl AsRef<Path>) -> Vec<String> {
    let part = part.as_ref().to_str().unwrap();
    let mut log = LOG.lock().unwrap().clone();
    log.retain(|line| line.contains(part));
    log
}
