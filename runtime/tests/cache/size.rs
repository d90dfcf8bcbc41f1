//! The cap on the size.

use crate::child::{CAP, finish, start};
use crate::support::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use tensorplay_runtime::compiler::{CacheOptions, CodeCache};

fn open(scratch: &Scratch) -> CodeCache {
    CacheOptions::new()
        .root(scratch.root())
        .max_bytes(CAP)
        .open("probe")
}

fn length(n: usize) -> usize {
    4000 + n * 977 % 12_000
}

#[test]
fn holds_while_others_read() {
    let scratch = Scratch::new("cap");
    let cache = open(&scratch);
    let (done, hits, next) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|s| {
        for reader in 0..2 {
            let (scratch, done, hits, next) = (&scratch, &done, &hits, &next);
            s.spawn(move || {
                let mut n = reader;
                while !done.load(Relaxed) {
                    n = (n * 7 + 3) % next.load(Relaxed).max(1);
                    if let Some(bytes) = open(scratch).get(&key(n), "bin") {
                        assert!(bytes[..] == code(n, length(n)), "{n}");
                        hits.fetch_add(1, Relaxed);
                    }
                }
            });
        }
        let writers: Vec<_> = (0..4)
            .map(|_| {
                s.spawn(|| {
                    while let n @ 0..200 = next.fetch_add(1, Relaxed) {
                        let got = cache
                            .get_or_compile(&key(n), "bin", || Ok(code(n, length(n))))
                            .unwrap();
                        assert!(got[..] == code(n, length(n)), "{n}");
                        assert!(
                            bytes(&scratch.root()) <= CAP + 4 * 16_100,
                            "what four writers may have in flight"
                        );
                    }
                })
            })
            .collect();
        let failed = writers
            .into_iter()
            .map(|w| w.join().is_err())
            .filter(|&e| e)
            .count();
        done.store(true, Relaxed);
        assert_eq!(failed, 0, "writers failed");
    });
    let written: usize = (0..200).map(length).sum();
    assert!(written as u64 > 3 * CAP && hits.into_inner() > 0);
    let left = bytes(&scratch.root());
    assert!(left <= CAP && left > CAP / 2, "{left}");
    assert!(temps(&scratch.root()).is_empty());
    assert_eq!(warnings(scratch.root()), [""; 0]);
    // what was evicted is compiled again, what is in memory is not
    let gone: Vec<usize> = (0..200)
        .filter(|&n| open(&scratch).get(&key(n), "bin").is_none())
        .collect();
    assert!(gone.len() > 100 && gone.len() < 200, "{}", gone.len());
    let got = open(&scratch).get_or_compile(&key(gone[0]), "bin", || Ok(code(gone[0], 9)));
    assert_eq!(&got.unwrap()[..], code(gone[0], 9));
    assert!(
        cache
            .get_or_compile(&key(gone[0]), "bin", || panic!("it is in memory"))
            .is_ok()
    );
}

#[test]
fn holds_between_processes() {
    let scratch = Scratch::new("cap-processes");
    let children: Vec<_> = (0..4).map(|_| start("fill", scratch.path())).collect();
    children.into_iter().for_each(|c| drop(finish(c)));
    let left = bytes(&scratch.root());
    assert!(left <= CAP + 4 * (CAP / 16) && left > CAP / 2, "{left}");
    assert!(temps(&scratch.root()).is_empty());
    // whoever stores next has the exact figure
    open(&scratch).put(&key(0), "bin", &[0]);
    assert!(bytes(&scratch.root()) <= CAP);
}

#[test]
fn what_is_larger_than_the_cap_stays_in_memory() {
    let scratch = Scratch::new("large");
    let cache = open(&scratch);
    cache.put(&key(1), "bin", &code(1, 1000));
    let large = code(2, CAP as usize);
    for _ in 0..2 {
        assert!(
            cache
                .get_or_compile(&key(2), "bin", || Ok(large.clone()))
                .unwrap()[..]
                == large
        );
    }
    assert_eq!(entries(&scratch.root()), [cache.path_of(&key(1), "bin").unwrap()]);
}
