//! Files that are not what was written.

use crate::support::*;
use std::fs;
use std::path::{Path, PathBuf};
use tensorplay_runtime::compiler::CodeCache;

/// An entry, and its file's bytes.
fn entry(root: &Path) -> (PathBuf, Vec<u8>) {
    let cache = CodeCache::at(root, "probe");
    cache.put(&key(1), "bin", &code(1, 40));
    let path = cache.path_of(&key(1), "bin").unwrap();
    let good = fs::read(&path).unwrap();
    assert!(good.len() > 40);
    (path, good)
}

/// `bad` in place of the file: one warning, one compilation, and the file is good again.
fn is_rebuilt(what: &str, root: &Path, path: &Path, good: &[u8], bad: &[u8]) {
    fs::write(path, bad).unwrap();
    let before = warnings(root).len();
    assert_eq!(CodeCache::at(root, "probe").get(&key(1), "bin"), None, "{what}");
    assert_eq!(warnings(root).len(), before, "{what}");
    let mut compiled = 0;
    let compile = || {
        compiled += 1;
        Ok(code(1, 40))
    };
    let got = CodeCache::at(root, "probe")
        .get_or_compile(&key(1), "bin", compile)
        .unwrap();
    assert_eq!((&got[..], compiled), (&code(1, 40)[..], 1), "{what}");
    assert_eq!(
        warnings(root).len(),
        before + 1,
        "{what}: {:?}",
        &warnings(root)[before..]
    );
    assert!(warnings(root)[before].contains("is damaged"), "{what}");
    assert!(
        fs::read(path).unwrap() == good,
        "{what}: the file is not as before"
    );
}

#[test]
fn truncated_at_every_length() {
    let scratch = Scratch::new("truncated");
    let (path, good) = entry(&scratch.root());
    for n in 0..good.len() {
        is_rebuilt(&format!("{n} bytes"), &scratch.root(), &path, &good, &good[..n]);
    }
    assert!(temps(&scratch.root()).is_empty());
}

#[test]
fn a_bit_flipped_in_every_byte() {
    let scratch = Scratch::new("flipped");
    let (path, good) = entry(&scratch.root());
    for n in 0..good.len() {
        for mask in [1 << (n % 8), 0xff] {
            let mut bad = good.clone();
            bad[n] ^= mask;
            is_rebuilt(
                &format!("byte {n} ^ {mask:#x}"),
                &scratch.root(),
                &path,
                &good,
                &bad,
            );
        }
    }
}

#[test]
fn longer_or_of_another_artefact() {
    let scratch = Scratch::new("longer");
    let (path, good) = entry(&scratch.root());
    is_rebuilt(
        "a byte more",
        &scratch.root(),
        &path,
        &good,
        &[&good[..], &[0]].concat(),
    );
    let cache = CodeCache::at(scratch.root(), "probe");
    cache.put(&key(2), "bin", &code(2, 40));
    let other = fs::read(cache.path_of(&key(2), "bin").unwrap()).unwrap();
    is_rebuilt("another's file", &scratch.root(), &path, &good, &other);
}

/// A damaged file that cannot be replaced still does no harm.
#[test]
fn a_folder_in_place_of_the_file() {
    let scratch = Scratch::new("folder");
    let cache = CodeCache::at(scratch.root(), "probe");
    fs::create_dir_all(cache.path_of(&key(1), "bin").unwrap().join("sub")).unwrap();
    for _ in 0..2 {
        assert_eq!(
            &cache.get_or_compile(&key(1), "bin", || Ok(code(1, 40))).unwrap()[..],
            code(1, 40)
        );
    }
    assert_eq!(warnings(scratch.root()).len(), 1);
    assert!(temps(&scratch.root()).is_empty());
}
