//! `Published`: the table of a function, and what each thread holds of it.
//!
//! Problem: reading through a pointer that others may replace takes two locked operations, a third of a look-up. Method: a
//! thread keeps the table that it read last with its version; while that is the version, a look-up reads one shared
//! number and nothing else that is shared.
//! Invariants: a version is read before its table, so what a thread keeps is never older than the version beside it.
//! What a backend made goes when it is unregistered, not when the last thread calls again: tables that hold such code are
//! not kept. A plan that was dropped stays until every thread that kept its table has called the function again or
//! ended; it holds steps and constants, no scratch memory.

use super::table::Table;
use arc_swap::{ArcSwap, Guard};
use std::cell::RefCell;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

#[derive(Debug)]
pub(super) struct Published {
    /// Its place in what a thread keeps.
    number: usize,
    version: AtomicU64,
    table: ArcSwap<Table>,
}

/// A table with its version.
pub(super) struct Kept {
    version: u64,
    table: Arc<Table>,
}

thread_local!(static KEPT: RefCell<Vec<Option<Rc<Kept>>>> = const { RefCell::new(Vec::new()) });

/// A table that stays as it is while this lives.
pub(super) enum Held {
    Kept(Rc<Kept>),
    Shared(Guard<Arc<Table>>),
}

impl Deref for Held {
    type Target = Table;
    #[inline]
    fn deref(&self) -> &Table {
        match self {
            Held::Kept(kept) => &kept.table,
            Held::Shared(table) => table,
        }
    }
}

impl Published {
    pub(super) fn new(table: Table) -> Published {
        static NUMBERS: AtomicUsize = AtomicUsize::new(0);
        Published {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            version: AtomicU64::new(1),
            table: ArcSwap::from_pointee(table),
        }
    }

    /// The table for a look-up.
    #[inline]
    pub(super) fn load(&self) -> Held {
        let version = self.version.load(Ordering::Acquire);
        let kept = KEPT.try_with(|kept| match kept.borrow().get(self.number) {
            Some(Some(k)) if k.version == version => Some(k.clone()),
            _ => None,
        });
        match kept {
            Ok(Some(kept)) => Held::Kept(kept),
            _ => self.read(version),
        }
    }

    #[cold]
    fn read(&self, version: u64) -> Held {
        let table = self.table.load();
        if table.is_of_backends() {
            return Held::Shared(table);
        }
        let new = Rc::new(Kept {
            version,
            table: Guard::into_inner(table),
        });
        let keep = |kept: &RefCell<Vec<Option<Rc<Kept>>>>| {
            let mut kept = kept.borrow_mut();
            if kept.len() <= self.number {
                kept.resize(self.number + 1, None);
            }
            kept[self.number].replace(new.clone())
        };
        // the old table is dropped when nothing is borrowed; a thread that ends keeps nothing
        drop(KEPT.try_with(keep));
        Held::Kept(new)
    }

    /// The table for anything else.
    pub(super) fn load_full(&self) -> Arc<Table> {
        self.table.load_full()
    }

    /// Replaces the table. One thread at a time does so.
    pub(super) fn store(&self, table: Table) {
        self.table.store(Arc::new(table));
        self.version.fetch_add(1, Ordering::Release);
    }
}
