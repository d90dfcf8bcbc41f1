//! The code cache: 73.

use crate::check::{alone, panics};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tensorplay::compiler::{CacheKey, CodeCache};
use tensorplay::{Error, Result};

/// A folder of a test, gone at its end.
struct Folder(PathBuf);

impl Folder {
    fn of(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tensorplay-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return found;
    };
    for path in entries.map(|e| e.expect("an entry").path()) {
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

fn key() -> CacheKey {
    CacheKey::new("probe", "f").source("void f() {}")
}

#[test]
fn case_73_a_key_is_of_everything_but_the_order_of_options() {
    let base = key().option("arch", "sm_90").option("fast", true);
    let reordered = key().option("fast", true).option("arch", "sm_90");
    assert_eq!(base.to_string(), reordered.to_string());
    let others = [
        key(),
        key().option("arch", "sm_90"),
        key().option("arch", "sm_90").option("fast", false),
        key().option("arch", "sm_9").option("0fast", true),
        key().option("archsm_90", "").option("fast", true),
        CacheKey::new("probe", "f")
            .source("void f() { }")
            .option("arch", "sm_90")
            .option("fast", true),
        CacheKey::new("probe", "g")
            .source("void f() {}")
            .option("arch", "sm_90")
            .option("fast", true),
        CacheKey::new("prob", "ef")
            .source("void f() {}")
            .option("arch", "sm_90")
            .option("fast", true),
        CacheKey::new("other", "f")
            .source("void f() {}")
            .option("arch", "sm_90")
            .option("fast", true),
    ];
    let mut all: Vec<String> = others.iter().chain([&base]).map(|k| k.to_string()).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), others.len() + 1);
}

#[test]
fn case_73_a_key_is_compiled_once_and_read_from_disk_by_the_next() {
    let folder = Folder::of("once");
    let compiled = AtomicUsize::new(0);
    let compile = || {
        compiled.fetch_add(1, Relaxed);
        Ok(b"code".to_vec())
    };
    let cache = CodeCache::at(&folder.0, "probe");
    for _ in 0..3 {
        assert_eq!(
            &cache.get_or_compile(&key(), "so", compile).expect("it compiles")[..],
            b"code"
        );
    }
    let next = CodeCache::at(&folder.0, "probe");
    assert_eq!(
        &next.get_or_compile(&key(), "so", compile).expect("on disk")[..],
        b"code"
    );
    assert_eq!(compiled.load(Relaxed), 1);
    let other = key().option("arch", "sm_90");
    next.get_or_compile(&other, "so", compile).expect("another key");
    next.get_or_compile(&key(), "cubin", compile)
        .expect("another kind");
    assert_eq!(compiled.load(Relaxed), 3);

    let text = key().to_string();
    let place = folder
        .0
        .join("kernels/probe")
        .join(&text[..2])
        .join(format!("{text}.so"));
    assert!(place.is_file(), "{place:?}: {:?}", files(&folder.0));
}

#[test]
fn case_73_an_error_is_not_kept() {
    let folder = Folder::of("error");
    let cache = CodeCache::at(&folder.0, "probe");
    let failed = cache.get_or_compile(&key(), "so", || Err(Error::msg("no compiler")));
    assert_eq!(failed.expect_err("it fails").to_string(), "no compiler");
    let text = panics(|| cache.get_or_compile(&key(), "so", || panic!("a crash")));
    assert_eq!(text, "a crash");
    let code = cache.get_or_compile(&key(), "so", || Ok(b"code".to_vec()));
    assert_eq!(&code.expect("it compiles now")[..], b"code");
}

#[test]
fn case_73_threads_and_processes_compile_a_key_once() {
    let folder = Folder::of("racers");
    let binary = std::env::current_exe().expect("this test's path");
    let racers: Vec<_> = (0..4)
        .map(|_| {
            Command::new(&binary)
                .args(["cache::races", "--exact", "--ignored", "--nocapture"])
                .env("TENSORPLAY_CACHE_DIR", &folder.0)
                .spawn()
                .expect("a process")
        })
        .collect();
    for mut racer in racers {
        assert!(racer.wait().expect("it ends").success());
    }
    let log = fs::read_to_string(folder.0.join("compiled")).expect("somebody compiled");
    assert_eq!(log.lines().count(), 1, "{log}");
}

#[test]
#[ignore = "run by case_73"]
fn races() {
    let root = std::env::var("TENSORPLAY_CACHE_DIR").expect("a folder");
    let log = Path::new(&root).join("compiled");
    let cache = CodeCache::open("probe");
    let compile = || -> Result<Vec<u8>> {
        use std::io::Write as _;
        fs::create_dir_all(&root)?;
        let mut log = fs::OpenOptions::new().create(true).append(true).open(&log)?;
        writeln!(log, "{}", std::process::id())?;
        std::thread::sleep(std::time::Duration::from_millis(300));
        Ok(vec![7; 10_000])
    };
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                let code = cache.get_or_compile(&key(), "so", compile).expect("it compiles");
                assert_eq!(code[..], vec![7; 10_000]);
            });
        }
    });
}

#[test]
fn case_73_no_temporary_files_are_left() {
    let folder = Folder::of("left");
    let cache = CodeCache::at(&folder.0, "probe");
    for n in 0..5 {
        let key = key().option("n", n);
        cache
            .get_or_compile(&key, "so", || Ok(vec![n; 100]))
            .expect("it compiles");
    }
    let artefacts = |f: &PathBuf| f.extension().is_some_and(|e| e == "so");
    let found = files(&folder.0.join("kernels"));
    assert_eq!(found.iter().filter(|f| artefacts(f)).count(), 5, "{found:?}");
    let temporary = found
        .iter()
        .filter(|f| f.file_name().is_some_and(|n| n.to_string_lossy().contains("tmp")));
    assert_eq!(temporary.count(), 0, "{found:?}");
}

#[test]
fn case_73_a_damaged_file_is_compiled_again() {
    let folder = Folder::of("damaged");
    let compiled = AtomicUsize::new(0);
    let right: Vec<u8> = (0..200).collect();
    let compile = || {
        compiled.fetch_add(1, Relaxed);
        Ok((0..200).collect())
    };
    CodeCache::at(&folder.0, "probe")
        .get_or_compile(&key(), "so", compile)
        .expect("it compiles");
    let file = files(&folder.0)
        .into_iter()
        .find(|f| f.extension().is_some_and(|e| e == "so"));
    let file = file.expect("a file");
    let whole = fs::read(&file).expect("its bytes");
    let mut flipped = whole.clone();
    *flipped.last_mut().expect("bytes") ^= 1;
    for (n, damage) in [&whole[..whole.len() / 2], &[], &flipped].into_iter().enumerate() {
        fs::write(&file, damage).expect("it is damaged");
        for _ in 0..2 {
            let cache = CodeCache::at(&folder.0, "probe");
            let code = cache.get_or_compile(&key(), "so", compile).expect("it compiles");
            assert_eq!(code[..], right);
            assert_eq!(compiled.load(Relaxed), n + 2, "once more, and kept");
        }
    }
}

#[test]
fn case_73_the_environment_says_where_and_whether() {
    let folder = Folder::of("root");
    let root = folder.0.to_str().expect("a path");
    alone("cache::kept", &[("TENSORPLAY_CACHE_DIR", root)]);
    let kept = files(&folder.0.join("kernels/probe"));
    assert_eq!(
        kept.iter()
            .filter(|f| f.extension().is_some_and(|e| e == "so"))
            .count(),
        1,
        "{kept:?}"
    );

    let folder = Folder::of("disabled");
    let root = folder.0.to_str().expect("a path");
    let disabled = [
        ("TENSORPLAY_CACHE_DIR", root),
        ("TENSORPLAY_FORCE_DISABLE_CACHES", "1"),
    ];
    alone("cache::not_kept", &disabled);
    assert_eq!(files(&folder.0), Vec::<PathBuf>::new());
}

/// How often three requests of one key compile.
fn compiles() -> usize {
    let compiled = AtomicUsize::new(0);
    let cache = CodeCache::open("probe");
    for _ in 0..3 {
        let code = cache.get_or_compile(&key(), "so", || {
            compiled.fetch_add(1, Relaxed);
            Ok(b"code".to_vec())
        });
        assert_eq!(&code.expect("it compiles")[..], b"code");
    }
    compiled.load(Relaxed)
}

#[test]
#[ignore = "run by case_73"]
fn kept() {
    assert_eq!(compiles(), 1);
}

#[test]
#[ignore = "run by case_73"]
fn not_kept() {
    assert_eq!(compiles(), 3, "disabled caches compile every time");
}
