//! Threads and processes that ask for one artefact at the same time.

use crate::child::{finish, start};
use crate::support::*;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;
use tensorplay_runtime::compiler::CodeCache;
use tensorplay_runtime::{Error, Result};

fn processes_compile_once(count: usize) {
    let scratch = Scratch::new(&format!("processes-{count}"));
    let children: Vec<_> = (0..count).map(|_| start("race", scratch.path())).collect();
    wait_for("the children", || {
        let names = fs::read_dir(scratch.path()).unwrap();
        names
            .flatten()
            .filter(|n| n.file_name().to_string_lossy().starts_with("ready"))
            .count()
            == count
    });
    fs::write(scratch.path().join("go"), "").unwrap();
    children.into_iter().for_each(|c| drop(finish(c)));
    assert_eq!(notes(&scratch.path().join("compiled")), 1);
    assert_eq!(entries(&scratch.root()).len(), 1);
    assert!(temps(&scratch.root()).is_empty());
}

#[test]
fn two_processes_compile_once() {
    processes_compile_once(2);
}

#[test]
fn eight_processes_compile_once() {
    processes_compile_once(8);
}

/// 16 threads; whether they share a `CodeCache` or have one each.
fn threads_compile_once(name: &str, shared: bool) -> Vec<Arc<[u8]>> {
    let scratch = Scratch::new(name);
    let (compiled, barrier) = (AtomicUsize::new(0), Barrier::new(16));
    let cache = CodeCache::at(scratch.root(), "probe");
    let got = Mutex::new(Vec::new());
    thread::scope(|s| {
        for _ in 0..16 {
            s.spawn(|| {
                let own = CodeCache::at(scratch.root(), "probe");
                let cache = if shared { &cache } else { &own };
                barrier.wait();
                let compile = || {
                    compiled.fetch_add(1, Relaxed);
                    thread::sleep(Duration::from_millis(20));
                    Ok(code(1, 3000))
                };
                let bytes = cache.get_or_compile(&key(1), "bin", compile).unwrap();
                got.lock().unwrap().push(bytes);
            });
        }
    });
    assert_eq!(compiled.into_inner(), 1);
    let got = got.into_inner().unwrap();
    assert!(got.len() == 16 && got.iter().all(|b| b[..] == code(1, 3000)));
    assert!(temps(&scratch.root()).is_empty());
    got
}

#[test]
fn threads_share_one_artefact() {
    let got = threads_compile_once("threads", true);
    assert!(got.iter().all(|b| Arc::ptr_eq(b, &got[0])));
}

#[test]
fn instances_in_threads_compile_once() {
    threads_compile_once("instances", false);
}

#[test]
fn second_instance_reads_the_disk() {
    let scratch = Scratch::new("second");
    let first = CodeCache::at(scratch.root(), "probe");
    let made = first.get_or_compile(&key(1), "bin", || Ok(code(1, 300))).unwrap();
    let second = CodeCache::at(scratch.root(), "probe");
    let read = second
        .get_or_compile(&key(1), "bin", || panic!("it is on disk"))
        .unwrap();
    assert_eq!(made, read);
    assert!(!Arc::ptr_eq(&made, &read));
    // other extensions, keys and backends are other artefacts
    assert_eq!(second.get(&key(1), "ptx"), None);
    assert_eq!(second.get(&key(2), "bin"), None);
    assert_eq!(CodeCache::at(scratch.root(), "other").get(&key(1), "bin"), None);
    // and what is in memory does not depend on the disk
    fs::remove_dir_all(scratch.root()).unwrap();
    assert_eq!(second.get(&key(1), "bin"), Some(read));
}

#[test]
fn errors_pass_and_are_not_kept() {
    let scratch = Scratch::new("errors");
    let cache = CodeCache::at(scratch.root(), "probe");
    for n in 0..3 {
        let failed: Result<_> = cache.get_or_compile(&key(1), "bin", || Err(Error::msg(format!("no {n}"))));
        assert_eq!(failed.unwrap_err().to_string(), format!("no {n}"));
    }
    assert!(entries(&scratch.root()).is_empty());
    assert_eq!(
        &cache.get_or_compile(&key(1), "bin", || Ok(vec![7])).unwrap()[..],
        [7]
    );
}

#[test]
fn a_panic_releases_the_locks() {
    let scratch = Scratch::new("panic");
    let cache = CodeCache::at(scratch.root(), "probe");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        cache.get_or_compile(&key(1), "bin", || panic!("compiler bug"))
    }));
    assert!(panicked.is_err());
    assert_eq!(cache.get(&key(1), "bin"), None);
    let other = CodeCache::at(scratch.root(), "probe");
    for cache in [&other, &cache] {
        assert_eq!(
            &cache.get_or_compile(&key(1), "bin", || Ok(vec![7])).unwrap()[..],
            [7]
        );
    }
}

#[test]
fn compiling_may_ask_for_other_artefacts() {
    fn nested(root: &std::path::Path, n: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![n as u8];
        if n > 0 {
            let cache = CodeCache::at(root, "probe");
            let inner = cache.get_or_compile(&key(n - 1), "bin", || nested(root, n - 1))?;
            bytes.extend_from_slice(&inner);
            let text = cache.get_or_compile(&key(n - 1), "txt", || Ok(vec![0xee]))?;
            bytes.extend_from_slice(&text);
        }
        Ok(bytes)
    }
    let scratch = Scratch::new("nested");
    let got = nested(&scratch.root(), 40).unwrap();
    assert_eq!(got.len(), 81);
    assert_eq!(entries(&scratch.root()).len(), 40);
    let all = CodeCache::at(scratch.root(), "probe").get(&key(39), "bin");
    assert_eq!(all.as_deref(), Some(&got[1..80]));
}

/// An entry is replaced in one step.
#[test]
fn readers_see_the_old_or_the_new() {
    let scratch = Scratch::new("replaced");
    let cache = CodeCache::at(scratch.root(), "probe");
    let versions = [code(1, 50_000), code(2, 40_000)];
    cache.put(&key(1), "bin", &versions[0]);
    let (done, seen) = (AtomicBool::new(false), [const { AtomicUsize::new(0) }; 2]);
    thread::scope(|s| {
        let reader = s.spawn(|| {
            while !done.load(Relaxed) {
                let got = CodeCache::at(scratch.root(), "probe")
                    .get(&key(1), "bin")
                    .expect("one is there");
                let version = versions
                    .iter()
                    .position(|v| v[..] == got[..])
                    .expect("it is whole");
                seen[version].fetch_add(1, Relaxed);
            }
        });
        for n in 1..200 {
            if !reader.is_finished() {
                cache.put(&key(1), "bin", &versions[n % 2]);
            }
        }
        done.store(true, Relaxed);
    });
    assert!(seen.iter().all(|s| s.load(Relaxed) > 0), "{seen:?}");
}
