//! Keeping the folder below its cap.
//!
//! Problem: artefacts of old sources are never asked for again. Method: once the entries are larger than the cap, the
//! least recently used ones go, until an eighth of it is free, so that not every store has to evict. Invariants:
//! temporary files are not entries, so nothing is evicted while it is written; an entry that is read
//! while it goes is still read whole, and one that is gone is compiled again; a single entry that fits stays.

use super::folder::Folder;
use super::listing::{Listed, Listing};
use std::{fs, io};

/// The entries to delete, for at most `cap` bytes to stay.
fn victims(mut entries: Vec<Listed>, cap: u64) -> Vec<Listed> {
    let mut left: u64 = entries.iter().map(|e| e.bytes).sum();
    if left <= cap {
        return Vec::new();
    }
    entries.sort_by(|a, b| (b.modified, &b.path).cmp(&(a.modified, &a.path)));
    let mut gone = Vec::new();
    while left > cap - cap / 8 {
        if entries.len() == 1 && left <= cap {
            break;
        }
        let Some(oldest) = entries.pop() else { break };
        left -= oldest.bytes;
        gone.push(oldest);
    }
    gone
}

/// Evicts down to the cap; the bytes that are left.
pub(super) fn evict(folder: &Folder, cap: u64) -> io::Result<u64> {
    let _lock = folder.lock_eviction()?;
    let listing = Listing::of(folder)?;
    let mut left = listing.bytes();
    let mut failed = None;
    for victim in victims(listing.entries, cap) {
        match fs::remove_file(&victim.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => failed = Some(e),
            _ => left -= victim.bytes,
        }
    }
    failed.map_or(Ok(left), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{CacheKey, CacheOptions};
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    fn listed(sizes: &[u64]) -> Vec<Listed> {
        let one = |(i, &bytes): (usize, &u64)| Listed {
            path: i.to_string().into(),
            bytes,
            modified: SystemTime::UNIX_EPOCH + Duration::from_secs(i as u64),
        };
        sizes.iter().enumerate().map(one).collect()
    }

    fn gone(sizes: &[u64], cap: u64) -> Vec<String> {
        let mut entries = listed(sizes);
        entries.reverse();
        let gone = victims(entries, cap);
        gone.iter().map(|v| v.path.display().to_string()).collect()
    }

    #[test]
    fn oldest_go_until_an_eighth_is_free() {
        assert!(gone(&[], 0).is_empty());
        assert!(gone(&[400, 600], 1000).is_empty());
        assert_eq!(gone(&[100, 400, 501], 1000), ["0", "1"]);
        assert_eq!(gone(&[200, 400, 401], 1000), ["0"]);
        assert_eq!(gone(&[1, 1, 1], 0), ["0", "1", "2"]);
    }

    #[test]
    fn one_that_fits_stays() {
        assert_eq!(gone(&[200, 900], 1000), ["0"]);
        assert_eq!(gone(&[200, 1001], 1000), ["0", "1"]);
    }

    #[test]
    fn reading_makes_an_entry_recent() {
        let root = std::env::temp_dir().join(format!("tensorplay-evict-{}", std::process::id()));
        let open = || CacheOptions::new().root(&root).max_bytes(5000).open("b");
        let key = |i: usize| CacheKey::new("b", &i.to_string());
        let path = |i| open().path_of(&key(i), "o").unwrap();
        let day = Duration::from_secs(86400);
        for i in 0..4 {
            open().put(&key(i), "o", &[i as u8; 1000]);
            let old = SystemTime::now() - day + Duration::from_secs(i as u64);
            File::options()
                .write(true)
                .open(path(i))
                .unwrap()
                .set_modified(old)
                .unwrap();
        }
        assert!(open().get(&key(0), "o").is_some());
        let before = path(0).metadata().unwrap().modified().unwrap();
        assert!(before.elapsed().unwrap() < day / 2);
        assert!(open().get(&key(0), "o").is_some());
        assert_eq!(
            path(0).metadata().unwrap().modified().unwrap(),
            before,
            "marked twice in an hour"
        );

        open().put(&key(4), "o", &[4; 1000]);
        let left: Vec<usize> = (0..5).filter(|&i| path(i).exists()).collect();
        assert_eq!(left, [0, 2, 3, 4], "1 was used least recently");
        fs::remove_dir_all(root).unwrap();
    }
}
