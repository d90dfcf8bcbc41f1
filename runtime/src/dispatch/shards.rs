//! `Sharded`: counters that many threads bump without sharing a cache line.
//!
//! Problem: an atomic addition costs as much as the rest of a guard check, and a shared line costs ten times that.
//! Method: a live thread has a number; of the numbers below [`OWN`] each belongs to one thread at a time, which is
//! alone in writing its line and so needs no atomic addition. Other threads share the last lines.
//! Invariants: a number is handed on under a lock, so that the next owner sees what the last one wrote.

use crate::sync::lock;
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Threads with a line of their own.
const OWN: usize = 16;
/// Lines that the others share.
const SHARED: usize = 4;

#[repr(align(64))]
#[derive(Debug)]
struct Line(AtomicU64);

/// A counter spread over cache lines.
#[derive(Debug)]
pub(crate) struct Sharded([Line; OWN + SHARED]);

/// Which numbers are taken, and how many threads asked.
static TAKEN: Mutex<(u32, usize)> = Mutex::new((0, 0));

/// Gives a number back when its thread ends.
struct Lease(usize);

impl Drop for Lease {
    fn drop(&mut self) {
        // what still runs on this thread counts in a shared line
        MINE.set(OWN as u32);
        if self.0 < OWN {
            lock(&TAKEN).0 &= !(1 << self.0);
        }
    }
}

const UNKNOWN: u32 = u32::MAX;

thread_local! {
    static MINE: Cell<u32> = const { Cell::new(UNKNOWN) };
    static LEASE: Cell<Option<Lease>> = const { Cell::new(None) };
}

#[cold]
fn assign() -> u32 {
    let number = {
        let mut taken = lock(&TAKEN);
        taken.1 += 1;
        match (0..OWN).find(|i| taken.0 & (1 << i) == 0) {
            Some(i) => {
                taken.0 |= 1 << i;
                i
            }
            None => OWN + taken.1 % SHARED,
        }
    };
    let kept = LEASE.try_with(|l| l.set(Some(Lease(number)))).is_ok();
    if !kept && number < OWN {
        // the thread is ending: its number could not be given back later
        drop(Lease(number));
        return OWN as u32;
    }
    MINE.set(number as u32);
    number as u32
}

impl Sharded {
    pub(crate) const fn new() -> Sharded {
        Sharded([const { Line(AtomicU64::new(0)) }; OWN + SHARED])
    }

    #[inline]
    pub(crate) fn add(&self, n: u64) {
        let mine = match MINE.get() {
            UNKNOWN => assign(),
            mine => mine,
        } as usize;
        let line = &self.0[mine].0;
        if mine < OWN {
            line.store(line.load(Relaxed).wrapping_add(n), Relaxed);
        } else {
            line.fetch_add(n, Relaxed);
        }
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.iter().map(|l| l.0.load(Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_count_is_lost() {
        static COUNT: Sharded = Sharded::new();
        // more threads than lines, in two rounds, so that numbers are handed on
        for _ in 0..2 {
            std::thread::scope(|s| {
                for _ in 0..OWN + 9 {
                    s.spawn(|| (0..1000).for_each(|_| COUNT.add(1)));
                }
            });
        }
        assert_eq!(COUNT.get(), 2 * (OWN as u64 + 9) * 1000);
    }
}
