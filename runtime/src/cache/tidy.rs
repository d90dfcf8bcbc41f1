//! When to look at the whole folder.
//!
//! Problem: a walk over all entries takes milliseconds, and other processes write too. Method: a cache looks after its
//! first store, when its count says that the cap is passed, and each time that it has stored a sixteenth of the cap.
//! Invariants: the count of the only writer is never below the truth; if nobody else is active after a store, its lock
//! file goes, and after the first such store so do the temporary files and lock files of dead processes; temporary files
//! go an hour after their last write in any case; looking happens outside of every other lock.

use super::folder::{Folder, Name};
use super::listing::{Listed, Listing, artefact_locks};
use super::store::HOUR;
use super::{CodeCache, evict};
use crate::sync::lock;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::{fs, io};

#[derive(Debug, Default)]
struct Count {
    looked: bool,
    swept: bool,
    /// Bytes of entries, at most: what other processes removed since counts.
    total: u64,
    /// Bytes stored since the last look.
    since: u64,
}

#[derive(Debug, Default)]
pub(super) struct Tidy(Mutex<Count>);

impl Tidy {
    fn count(&self) -> MutexGuard<'_, Count> {
        lock(&self.0)
    }

    pub(super) fn add(&self, bytes: u64) {
        let mut count = self.count();
        count.total += bytes;
        count.since += bytes;
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

impl Count {
    fn look(&mut self, folder: &Folder, stored: &Name, cap: u64) -> io::Result<()> {
        let alone = folder.lock_alone()?;
        if alone.is_some() {
            remove(&folder.locks().join(&stored.file))?;
        }
        let sweep = alone.is_some() && !self.swept;
        if !sweep && self.looked && self.total <= cap && self.since <= cap / 16 {
            return Ok(());
        }
        let listing = Listing::of(folder)?;
        let dead = |t: &&Listed| alone.is_some() || t.modified.elapsed().is_ok_and(|age| age > HOUR);
        for temp in listing.temps.iter().filter(dead) {
            remove(&temp.path)?;
        }
        if sweep {
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
    pub(super) fn tidy_up(&self, stored: &Name) {
        self.try_disk(|folder| self.tidy.count().look(folder, stored, self.max_bytes));
    }
}
