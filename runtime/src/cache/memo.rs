//! Artefacts in memory.
//!
//! Problem: the second request in a process should touch no file, and threads that race should compile once even
//! without a disk. Method: a slot for each artefact, locked while it is filled. Invariants: the table's own lock is
//! never held while another is taken; a panic while a slot is filled leaves it empty and free.

use super::folder::Name;
use crate::sync::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

#[derive(Debug, Default)]
pub(super) struct Slot(Mutex<Option<Arc<[u8]>>>);

#[derive(Debug, Default)]
pub(super) struct Memo(Mutex<HashMap<String, Arc<Slot>>>);

impl Memo {
    pub(super) fn slot(&self, name: &Name) -> Arc<Slot> {
        let mut slots = lock(&self.0);
        match slots.get(&name.file) {
            Some(slot) => slot.clone(),
            None => slots.entry(name.file.clone()).or_default().clone(),
        }
    }
}

impl Slot {
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Arc<[u8]>>> {
        lock(&self.0)
    }

    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, Option<Arc<[u8]>>>> {
        match self.0.try_lock() {
            Ok(value) => Some(value),
            Err(TryLockError::Poisoned(e)) => Some(e.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}
