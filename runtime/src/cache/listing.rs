//! What lies in the folder.
//!
//! Problem: files come and go while they are listed. Method: one walk over the three levels. Invariants: what vanishes
//! meanwhile is not there; what does not have the form of our names is not listed.

use super::folder::{self, Folder, TEMP};
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[derive(Debug)]
pub(super) struct Listed {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) modified: SystemTime,
}

#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) entries: Vec<Listed>,
    pub(super) temps: Vec<Listed>,
}

/// What `done` says, or nothing if that vanished.
fn unless_gone<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        done => done.map(Some),
    }
}

fn children(folder: &Path) -> io::Result<Vec<DirEntry>> {
    unless_gone(fs::read_dir(folder))?.map_or(Ok(Vec::new()), Iterator::collect)
}

fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for child in children(folder)? {
        if unless_gone(child.file_type())?.is_some_and(|t| t.is_dir()) {
            all.push(child.path());
        }
    }
    Ok(all)
}

impl Listing {
    pub(super) fn of(folder: &Folder) -> io::Result<Listing> {
        let mut listing = Listing::default();
        for backend in folders(&folder.kernels())? {
            for shard in folders(&backend)? {
                for child in children(&shard)? {
                    listing.add(&child)?;
                }
            }
        }
        Ok(listing)
    }

    fn add(&mut self, child: &DirEntry) -> io::Result<()> {
        let name = child.file_name();
        let name = name.to_str().unwrap_or_default();
        let list = if folder::is_artefact(name) {
            &mut self.entries
        } else if name.starts_with(TEMP) {
            &mut self.temps
        } else {
            return Ok(());
        };
        if let Some(meta) = unless_gone(child.metadata())?.filter(|m| m.is_file()) {
            list.push(Listed {
                path: child.path(),
                bytes: meta.len(),
                modified: meta.modified()?,
            });
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> u64 {
        self.entries.iter().map(|e| e.bytes).sum()
    }
}

/// The lock files of artefacts.
pub(super) fn artefact_locks(folder: &Folder) -> io::Result<Vec<PathBuf>> {
    let mut locks = children(&folder.locks())?;
    locks.retain(|l| l.file_name().to_str().is_some_and(folder::is_artefact));
    Ok(locks.iter().map(DirEntry::path).collect())
}
