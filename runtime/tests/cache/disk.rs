//! Folders that cannot be written, and full disks.

#[cfg(unix)]
use crate::child::{command, finish};
use crate::support::*;
use std::fs;
use tensorplay_runtime::compiler::{CacheOptions, CodeCache};

/// Below a regular file nobody can write, not even root.
#[test]
fn an_impossible_folder_is_one_warning() {
    let scratch = Scratch::new("impossible");
    let file = scratch.path().join("file");
    fs::write(&file, "").unwrap();
    let cache = CodeCache::at(file.join("root"), "probe");
    let mut compiled = 0;
    for n in [1, 2, 1, 2, 1] {
        let compile = || {
            compiled += 1;
            Ok(code(n, 100))
        };
        assert_eq!(
            &cache.get_or_compile(&key(n), "bin", compile).unwrap()[..],
            code(n, 100)
        );
    }
    assert_eq!(compiled, 2, "results stay in memory");
    cache.put(&key(3), "bin", &[3]);
    assert_eq!(cache.get(&key(3), "bin").as_deref(), Some(&[3][..]));
    assert_eq!(warnings(&file).len(), 1, "{:?}", warnings(&file));
    let other = CodeCache::at(file.join("root"), "probe");
    assert_eq!(other.get(&key(1), "bin"), None);
    assert_eq!(warnings(&file).len(), 2, "one for each cache");
}

#[test]
fn a_missing_folder_is_made() {
    let scratch = Scratch::new("missing");
    let root = scratch.path().join("a/b/c");
    CodeCache::at(&root, "probe").put(&key(1), "bin", &[1]);
    assert_eq!(entries(&root).len(), 1);
    let cache = CodeCache::at(&root, "probe");
    cache.put(&key(1), "bin", &[1]);
    fs::remove_dir_all(&root).unwrap();
    cache.put(&key(2), "bin", &[2]);
    assert_eq!(entries(&root).len(), 1, "it is made again");
    assert_eq!(warnings(&root), [""; 0]);
}

#[test]
fn disabled_caches_compile_every_time() {
    let scratch = Scratch::new("disabled");
    CodeCache::at(scratch.root(), "probe").put(&key(1), "bin", &[0]);
    let before = files(scratch.path()).len();
    let cache = CacheOptions::new()
        .root(scratch.root())
        .disabled(true)
        .open("probe");
    for n in 0..3u8 {
        assert_eq!(
            &cache.get_or_compile(&key(1), "bin", || Ok(vec![n])).unwrap()[..],
            [n]
        );
        assert_eq!(
            &cache.get_or_compile(&key(2), "bin", || Ok(vec![n])).unwrap()[..],
            [n]
        );
    }
    cache.put(&key(3), "bin", &[3]);
    assert_eq!(
        (cache.get(&key(3), "bin"), cache.get(&key(1), "bin")),
        (None, None)
    );
    assert_eq!(files(scratch.path()).len(), before);
}

/// A limit on the size of files, with its signal ignored: writes fail half way with EFBIG.
#[cfg(unix)]
#[test]
fn writes_that_fail_half_way() {
    let scratch = Scratch::new("limit");
    let shell = ["sh", "-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""];
    let text = finish(command(&shell, "full", scratch.path()).spawn().unwrap());
    assert!(text.contains("File too large"), "{text}");
    assert_eq!(entries(&scratch.root()).len(), 1);
    assert!(temps(&scratch.root()).is_empty());
}

/// ENOSPC, on a file system of 64 KiB; only where a user may mount one.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let scratch = Scratch::new("full");
    let mount = "mount -t tmpfs -o size=64k none \"$0\"";
    let unshare = |script: &str| {
        let mut c = std::process::Command::new("unshare");
        c.args(["-rm", "sh", "-c", script]).arg(scratch.path());
        c
    };
    match unshare(mount).output() {
        Ok(out) if out.status.success() => {
            let script = format!("{mount} && exec \"$@\"");
            let path = scratch.path().to_str().unwrap();
            let program = ["unshare", "-rm", "sh", "-c", &script, path];
            let text = finish(command(&program, "full", scratch.path()).spawn().unwrap());
            assert!(text.contains("No space left"), "{text}");
        }
        Ok(out) => println!("skipped: no mount: {}", String::from_utf8_lossy(&out.stderr)),
        Err(e) => println!("skipped: no unshare: {e}"),
    }
}
