//! The disk as the cache uses it: what fails there is a warning.
//!
//! Problem: a folder may be read-only, absent, on a full disk, or on a file system without locks, and a program that only
//! wants its code should not care. Method: every step on the folder goes through [`CodeCache::try_disk`]. Invariants:
//! one warning a cache, and one for each damaged file; without locks a racer compiles too and stores the same.

use super::CodeCache;
use super::entry;
use super::folder::{Folder, Name};
use super::lock::Held;
use super::store::Found;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::{fs, io};

impl CodeCache {
    /// The artefact on disk, if it is there and whole.
    pub(super) fn load(&self, name: &Name) -> Option<Arc<[u8]>> {
        match self.try_disk(|f| f.read(name))? {
            Found::Artefact(bytes) => Some(bytes),
            Found::Nothing | Found::Damaged(_) => None,
        }
    }

    /// The same for whoever is about to compile it; a damaged file is removed.
    pub(super) fn load_held(&self, name: &Name) -> Option<Arc<[u8]>> {
        match self.try_disk(|f| f.read(name))? {
            Found::Artefact(bytes) => Some(bytes),
            Found::Nothing => None,
            Found::Damaged(damage) => {
                self.try_disk(|f| {
                    let path = f.entry(name);
                    crate::ladder::warn(format!(
                        "code cache: {} is damaged: {damage}; it is built again",
                        path.display()
                    ));
                    fs::remove_file(path)
                });
                None
            }
        }
    }

    pub(super) fn save(&self, name: &Name, bytes: &[u8]) {
        let size = (entry::HEADER + bytes.len()) as u64;
        if size > self.max_bytes {
            log::debug!(
                "code cache: {} of {size} bytes is over the cap and stays in memory",
                name.file
            );
        } else if self.try_disk(|f| f.write(name, bytes)).is_some() {
            self.tidy.add(size);
        }
    }

    pub(super) fn hold(&self, name: &Name) -> Option<Held> {
        self.try_disk(|f| f.lock(name))
    }

    /// `step` on the folder; the first failure is a warning.
    pub(super) fn try_disk<T>(&self, step: impl FnOnce(&Folder) -> io::Result<T>) -> Option<T> {
        let (place, error) = match self.folder.as_ref().map(|f| (f, step(f))) {
            Some((_, Ok(done))) => return Some(done),
            Some((folder, Err(e))) => (folder.root().display().to_string(), e.to_string()),
            None => ("no folder".into(), "there is no home directory".into()),
        };
        if !self.warned.swap(true, Relaxed) {
            crate::ladder::warn(format!(
                "code cache: {place}: {error}; what it cannot store stays in memory\n  help: set TENSORPLAY_CACHE_DIR to a folder that can be written"
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::cache::{CacheKey, CacheOptions};
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn without_a_folder_it_works_in_memory() {
        let mut options = CacheOptions::new();
        options.root = None;
        let cache = options.open("b");
        let key = CacheKey::new("b", "e");
        assert_eq!(cache.path_of(&key, "o"), None);
        assert!(!cache.warned.load(Relaxed));
        assert_eq!(&cache.get_or_compile(&key, "o", || Ok(vec![1])).unwrap()[..], [1]);
        assert!(cache.warned.load(Relaxed));
        assert_eq!(
            &cache
                .get_or_compile(&key, "o", || panic!("it is in memory"))
                .unwrap()[..],
            [1]
        );
    }

    #[test]
    fn is_send_and_sync() {
        fn check<T: Send + Sync + 'static>(_: &T) {}
        check(&CacheOptions::new().open("b"));
        check(&CacheKey::new("b", "e"));
    }
}
