//! When to look at the whole folder.
//!
//! Problem: a walk over all entries takes milliseconds, and other processes write too. Method: a cache looks after its
//! first store, when its count says that the cap is passed, and each time that it has stored a sixteenth of the cap.
//! Invariants: the count of the only writer is never below the truth; temporary files and lock files
//! of dead processes go at the first store at which nobody is active, and temporary files an hour after their
//! last write in any case; looking happens outside of every other lock.

use super::folder::Folder;
use super::listing::{Listed, Listing, artefact_locks};
use super::store::HOUR;
use super::{CodeCache, evict};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

#[derive(Debug, Default)]
struct Count {
    looked: bool,
    swept: bool,
    /// Bytes of entries, at least.
    total: u64,
    /// Bytes stored since the last look.
    since: u64,
}

#[derive(Debug, Default)]
pub(super) struct Tidy(Mutex<Count>);

impl Tidy {
    fn count(&self) -> MutexGuard<'_, Count> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, bytes: u64) {
        let mut count = self.count();
        count.total += bytes;
        count.since += bytes;
    }
}

fn remove(path: &std::path::Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

impl Count {
    fn look(&mut self, folder: &Folder, cap: u64) -> io::Result<()> {
        let alone = if self.swept { None } else { folder.lock_alone()? };
        if alone.is_none() && self.looked && self.total <= cap && self.since <= cap / 16 {
            return Ok(());
        }
        let listing = Listing::of(folder)?;
        let dead = |t: &&Listed| alone.is_some() || t.modified.elapsed().is_ok_and(|age| age > HOUR);
        for temp in listing.temps.iter().filter(dead) {
            remove(&temp.path)?;
        }
        if alone.is_some() {
            artefact_locks(folder)?.iter().try_for_each(|l| remove(l))?;
            self.swept = true;
        }
        drop(alone);
        self.total = listing.bytes();
        if self.total > cap {
            self.total = evict::evict(folder, cap)?;
        }
        (self.looked, self.since) = (true, 0);
        Ok(())
    }
}

impl CodeCache {
    pub(super) fn tidy_up(&self) {
        self.try_disk(|folder| self.tidy.count().look(folder, self.max_bytes));
    }
}
