//! Processes that die while they compile or write.

use crate::child::{KEYS, LARGE, command, finish, start};
use crate::support::*;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tensorplay_runtime::compiler::CodeCache;

/// What survives of `key(n)` is whole; what does not is compiled; nothing else stays.
fn works_again(root: &Path, keys: usize) {
    for n in 0..keys {
        let found = CodeCache::at(root, "probe").get(&key(n), "bin");
        assert!(found.is_none_or(|b| b[..] == code(n, LARGE)), "{n}");
    }
    let next = CodeCache::at(root, "probe");
    for n in 0..keys {
        let got = next
            .get_or_compile(&key(n), "bin", || Ok(code(n, LARGE)))
            .unwrap();
        assert_eq!(&got[..], code(n, LARGE));
        let read = CodeCache::at(root, "probe").get(&key(n), "bin");
        assert_eq!(read.as_deref(), Some(&code(n, LARGE)[..]));
    }
    next.put(&key(keys), "bin", &[]);
    assert!(temps(root).is_empty(), "{:?}", temps(root));
    assert!(locks(root).is_empty(), "{:?}", locks(root));
    assert_eq!(warnings(root), [""; 0]);
}

/// The kernel kills a process at the very write that passes its limit, as nothing else does so exactly.
#[test]
fn killed_half_way_through_a_file() {
    let scratch = Scratch::new("half");
    let shell = ["sh", "-c", "ulimit -c 0; ulimit -f 64; exec \"$0\" \"$@\""];
    let out = command(&shell, "store", scratch.path()).output().unwrap();
    assert!(out.status.signal().is_some(), "{out:?}");
    let left = temps(&scratch.root());
    assert_eq!(left.len(), 1);
    let half = left[0].metadata().unwrap().len();
    assert!(half > 0 && half < LARGE as u64, "{half}");
    works_again(&scratch.root(), 2);
}

/// SIGKILL at any time: rounds until three of them left half a file.
#[test]
fn killed_at_any_time() {
    let scratch = Scratch::new("churn");
    let stored = scratch.path().join("stored");
    let (mut rounds, mut left) = (0, 0);
    while left < 3 {
        assert!(
            rounds < 200,
            "{left} of {rounds} rounds were killed while they wrote"
        );
        let mut child = start("churn", scratch.path());
        let before = notes(&stored);
        wait_for("a first file", || notes(&stored) > before);
        std::thread::sleep(Duration::from_micros(1700 * rounds % 40_000));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        left += usize::from(!temps(&scratch.root()).is_empty());
        works_again(&scratch.root(), KEYS);
        rounds += 1;
    }
    println!("{left} of {rounds} rounds were killed while they wrote");
}

#[test]
fn killed_while_it_compiles() {
    let scratch = Scratch::new("hang");
    let compiled = scratch.path().join("compiled");
    let mut first = start("hang", scratch.path());
    wait_for("the first", || notes(&compiled) == 1);
    fs::write(scratch.path().join("go"), "").unwrap();
    let mut second = start("race", scratch.path());
    let ready = scratch.path().join(format!("ready-{}", second.id()));
    wait_for("the second", || ready.exists());
    std::thread::sleep(Duration::from_millis(200));
    assert!(second.try_wait().unwrap().is_none(), "it waits for the first");
    assert_eq!(notes(&compiled), 1);
    first.kill().unwrap();
    first.wait().unwrap();
    finish(second);
    assert_eq!(notes(&compiled), 2);
    let read = CodeCache::at(scratch.root(), "probe").get(&key(1), "bin");
    assert_eq!(read.as_deref(), Some(&code(1, 5000)[..]));
}

/// While somebody is active only old files go; then all.
#[test]
fn files_of_live_writers_stay() {
    let scratch = Scratch::new("live");
    let root = scratch.root();
    let compiled = scratch.path().join("compiled");
    let mut active = start("hang", scratch.path());
    wait_for("the child", || notes(&compiled) == 1);
    let held = locks(&root);
    assert_eq!(held.len(), 1);

    let shard = root.join("kernels/probe/00");
    fs::create_dir_all(&shard).unwrap();
    let [old, new, other] = [".tmp-old", ".tmp-new", "mine.txt"].map(|f| shard.join(f));
    let hours = SystemTime::now() - Duration::from_secs(7200);
    for file in [&old, &new, &other] {
        File::create(file).unwrap();
    }
    for file in [&old, &other] {
        File::options()
            .write(true)
            .open(file)
            .unwrap()
            .set_modified(hours)
            .unwrap();
    }
    CodeCache::at(&root, "probe").put(&key(2), "bin", &[1]);
    assert_eq!([&old, &new, &other].map(|f| f.exists()), [false, true, true]);
    assert!(held[0].exists(), "somebody holds it");

    active.kill().unwrap();
    active.wait().unwrap();
    CodeCache::at(&root, "probe").put(&key(3), "bin", &[1]);
    assert_eq!([&new, &other].map(|f| f.exists()), [false, true]);
    assert!(locks(&root).is_empty());
}
