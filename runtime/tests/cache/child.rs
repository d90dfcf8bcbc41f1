//! This binary as another process.

use crate::support::*;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tensorplay_runtime::compiler::{CacheKey, CacheOptions, CodeCache};

const ROLE: &str = "TENSORPLAY_TEST_ROLE";
const SCRATCH: &str = "TENSORPLAY_TEST_SCRATCH";
pub const ARGS: [&str; 4] = ["child::child", "--exact", "--ignored", "--nocapture"];

/// The arguments make `program` run this binary, if it is not this binary.
pub fn command(program: &[&str], role: &str, scratch: &Path) -> Command {
    let exe = std::env::current_exe().unwrap();
    let mut command = match program {
        [] => Command::new(exe),
        [name, rest @ ..] => {
            let mut c = Command::new(name);
            c.args(rest).arg(exe);
            c
        }
    };
    command.args(ARGS).env(ROLE, role).env(SCRATCH, scratch);
    for variable in ["TENSORPLAY_CACHE_DIR", "TENSORPLAY_CACHE_SIZE", "XDG_CACHE_HOME"] {
        command.env_remove(variable);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub fn start(role: &str, scratch: &Path) -> Child {
    command(&[], role, scratch).spawn().unwrap()
}

/// Waits for success; what it printed.
pub fn finish(child: Child) -> String {
    let out = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned();
    assert!(out.status.success(), "{}: {text}", out.status);
    assert!(text.contains("1 passed"), "the child ran no test");
    text
}

pub const LARGE: usize = 100 << 10;
/// Of the child that is killed at any time.
pub const KEYS: usize = 3;
pub const CAP: u64 = 512 << 10;

fn race(cache: &CodeCache, scratch: &Path) {
    let id = std::process::id();
    std::fs::write(scratch.join(format!("ready-{id}")), "").unwrap();
    wait_for("the start", || scratch.join("go").exists());
    let compile = || {
        note(&scratch.join("compiled"));
        std::thread::sleep(Duration::from_millis(100));
        Ok(code(1, 5000))
    };
    let got = cache.get_or_compile(&key(1), "bin", compile).unwrap();
    assert_eq!(&got[..], code(1, 5000));
}

fn hang(cache: &CodeCache, scratch: &Path) {
    let compile = || {
        note(&scratch.join("compiled"));
        std::thread::sleep(Duration::from_secs(300));
        Ok(vec![])
    };
    cache.get_or_compile(&key(1), "bin", compile).unwrap();
}

/// Large artefacts meet a disk that takes small ones only.
fn full(cache: &CodeCache, root: &Path) {
    for n in [1, 2] {
        let got = cache
            .get_or_compile(&key(n), "bin", || Ok(code(n, LARGE)))
            .unwrap();
        assert_eq!(&got[..], code(n, LARGE));
        let again = cache
            .get_or_compile(&key(n), "bin", || panic!("it is in memory"))
            .unwrap();
        assert_eq!(again, got);
        assert!(!cache.path_of(&key(n), "bin").unwrap().exists());
    }
    assert_eq!(warnings(root).len(), 1, "{:?}", warnings(root));
    println!("{}", warnings(root)[0]);
    assert!(temps(root).is_empty());
    cache.put(&key(3), "bin", &code(3, 1000));
    let other = CodeCache::at(root, "probe");
    assert_eq!(other.get(&key(3), "bin").as_deref(), Some(&code(3, 1000)[..]));
    assert_eq!(other.get(&key(1), "bin"), None);
}

fn churn(cache: &CodeCache, scratch: &Path) {
    for n in 0.. {
        cache.put(&key(n % KEYS), "bin", &code(n % KEYS, LARGE));
        note(&scratch.join("stored"));
    }
}

fn fill(root: PathBuf) {
    let cache = CacheOptions::new().root(root).max_bytes(CAP).open("probe");
    let id = std::process::id();
    for n in 0..100 {
        let own = CacheKey::new("probe", "fill")
            .option("process", id)
            .option("n", n);
        let got = cache.get_or_compile(&own, "bin", || Ok(code(n, 10_000))).unwrap();
        assert_eq!(&got[..], code(n, 10_000));
    }
}

#[test]
#[ignore = "the other tests start it"]
fn child() {
    let role = std::env::var(ROLE).expect("started by a test");
    let scratch = PathBuf::from(std::env::var_os(SCRATCH).unwrap());
    let root = scratch.join("root");
    capture_log();
    let cache = CodeCache::at(&root, "probe");
    match role.as_str() {
        "race" => race(&cache, &scratch),
        "hang" => hang(&cache, &scratch),
        "store" => cache.put(&key(1), "bin", &code(1, LARGE)),
        "full" => full(&cache, &root),
        "churn" => churn(&cache, &scratch),
        "fill" => fill(root),
        "environment" => {
            CodeCache::open("probe").put(&key(1), "bin", &code(1, 100));
            let log = warnings("");
            std::fs::write(scratch.join("log"), log.join("\n")).unwrap();
        }
        _ => panic!("no role {role}"),
    }
}
