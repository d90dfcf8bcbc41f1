//! Locks between processes.
//!
//! Problem: racers should compile once; the lock of a killed process must not stay; and a lock file that is deleted while
//! somebody opens it lets two processes hold "the" lock. Method: advisory locks of the operating system, which end
//! with their holder, on a file for each artefact, so that compiling one may ask for another. Whoever opens such a
//! file holds `active` shared, from before that until after the artefact is stored.
//! Invariants:
//! * lock files of artefacts, and temporary files that may be in use, are deleted only under `active` held
//!   exclusively: then nobody has any of them open, or waits for one;
//! * `active` is taken exclusively only if that needs no waiting, so whoever holds it shared never waits for a deletion
//!   that waits for them;
//! * whoever holds `evict` takes no other lock;
//! * `active` and `evict` are never deleted.

use super::folder::{Folder, Name};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;

/// The right to compile and store one artefact. The fields are released in this order.
#[derive(Debug)]
pub(super) struct Held {
    _artefact: File,
    _active: File,
}

/// The signal of a debugger or profiler may end a wait early.
fn patiently(wait: impl Fn() -> io::Result<()>) -> io::Result<()> {
    loop {
        match wait() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

impl Folder {
    fn lock_file(&self, file: &str) -> io::Result<File> {
        let path = self.locks().join(file);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        match options.open(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(self.locks())?;
                options.open(&path)
            }
            opened => opened,
        }
    }

    /// Waits until nobody else compiles this artefact.
    pub(super) fn lock(&self, name: &Name) -> io::Result<Held> {
        let active = self.lock_file("active")?;
        patiently(|| active.lock_shared())?;
        let artefact = self.lock_file(&name.file)?;
        if let Err(TryLockError::WouldBlock) = artefact.try_lock() {
            log::debug!("waiting for another process that compiles {}", name.file);
        }
        patiently(|| artefact.lock())?;
        Ok(Held {
            _artefact: artefact,
            _active: active,
        })
    }

    /// `active`, exclusively, if nobody compiles or stores anything.
    pub(super) fn lock_alone(&self) -> io::Result<Option<File>> {
        let active = self.lock_file("active")?;
        match active.try_lock() {
            Ok(()) => Ok(Some(active)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(e),
        }
    }

    pub(super) fn lock_eviction(&self) -> io::Result<File> {
        let evict = self.lock_file("evict")?;
        patiently(|| evict.lock())?;
        Ok(evict)
    }
}
