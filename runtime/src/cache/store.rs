//! Reading and writing one file.
//!
//! Problem: a reader must never see half an artefact, and a failed or killed writer must leave nothing that looks like
//! one. Method: a temporary file in the same folder, synced, then renamed over the entry; the entry is checked when it is
//! read. Invariants: an entry appears whole or not at all; a write that fails removes its temporary file; what was used
//! in the last hour has a modification time of at most an hour ago, at the cost of one write an hour.

use super::entry::{self, Damage};
use super::folder::{Folder, Name, TEMP};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

pub(super) const HOUR: Duration = Duration::from_secs(3600);

pub(super) enum Found {
    Nothing,
    Damaged(Damage),
    Artefact(Arc<[u8]>),
}

/// A file that is removed unless it becomes an entry.
struct Temp(PathBuf);

impl Drop for Temp {
    fn drop(&mut self) {
        // after the rename there is nothing by this name
        let _ = fs::remove_file(&self.0);
    }
}

fn create_temp(shard: &Path) -> io::Result<(File, Temp)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let n = NEXT.fetch_add(1, Relaxed);
        let since = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let path = shard.join(format!("{TEMP}{}-{n}-{}", std::process::id(), since.as_nanos()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, Temp(path))),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

/// Marks an entry as used. Another user's file cannot be marked, and goes earlier.
fn touch(path: &Path, modified: SystemTime) {
    if modified.elapsed().is_ok_and(|age| age > HOUR) {
        let file = OpenOptions::new().write(true).open(path);
        let _ = file.and_then(|f| f.set_modified(SystemTime::now()));
    }
}

impl Folder {
    pub(super) fn read(&self, name: &Name) -> io::Result<Found> {
        let path = self.entry(name);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(e) => return Err(e),
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        match entry::payload(&name.file, &bytes) {
            Ok(payload) => {
                touch(&path, file.metadata()?.modified()?);
                Ok(Found::Artefact(payload.into()))
            }
            Err(damage) => Ok(Found::Damaged(damage)),
        }
    }

    pub(super) fn write(&self, name: &Name, payload: &[u8]) -> io::Result<()> {
        let shard = self.shard(name);
        fs::create_dir_all(&shard)?;
        let (mut file, temp) = create_temp(&shard)?;
        file.write_all(&entry::header(&name.file, payload))?;
        file.write_all(payload)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&temp.0, self.entry(name))
    }
}
