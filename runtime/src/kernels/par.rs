//! The only entry to parallelism.
//!
//! Problem: forking costs 6-20 us and stalls when a core is taken, so small work must stay serial and large work
//! must not be dealt out in fixed halves. Method: [`parts`] runs work below [`THRESHOLD_NS`] on the caller;
//! above, the range is cut into chunks that the caller and rayon workers claim from one counter, so that a
//! late worker costs nothing but its share. `TENSORPLAY_NUM_THREADS` (default: the available cores) bounds the
//! threads; with 1, rayon is never touched. Calls from inside a part run serially; panics propagate.
//!
//! Invariant: which ranges `f` sees depends on the thread count. A caller whose result depends on the borders
//! (a float reduction) makes its items the fixed pieces and combines them in order.

use std::cell::Cell;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Work below this many nanoseconds is never split.
pub const THRESHOLD_NS: u64 = 60_000;
/// No chunk is cheaper than this.
const CHUNK_NS: u64 = 10_000;
/// Chunks a thread, so that a thread that started late leaves its share to others.
const CHUNKS_PER_THREAD: usize = 4;

thread_local! {
    static BUSY: Cell<bool> = const { Cell::new(false) };
    static LIMIT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// How many threads kernels may use, the caller included.
pub fn threads() -> usize {
    static N: OnceLock<usize> = OnceLock::new();
    let n = *N.get_or_init(|| {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        match std::env::var("TENSORPLAY_NUM_THREADS") {
            Err(_) => cores(),
            Ok(s) => s.trim().parse().ok().filter(|&n| n > 0).unwrap_or_else(|| {
                crate::ladder::warn(format!(
                    "TENSORPLAY_NUM_THREADS={s}: expected a number of threads above 0"
                ));
                cores()
            }),
        }
    });
    n.min(LIMIT.get())
}

/// Runs `f` with at most `n` threads for its kernels.
pub fn with_threads<R>(n: usize, f: impl FnOnce() -> R) -> R {
    let _restore = Restore(&LIMIT, LIMIT.replace(n.max(1)));
    f()
}

struct Restore<T: Copy + 'static>(&'static std::thread::LocalKey<Cell<T>>, T);

impl<T: Copy> Drop for Restore<T> {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

/// The workers: one thread fewer than [`threads`], for the caller works too.
fn pool() -> Option<&'static rayon::ThreadPool> {
    static POOL: OnceLock<Option<rayon::ThreadPool>> = OnceLock::new();
    POOL.get_or_init(|| {
        let workers = with_threads(usize::MAX, threads) - 1;
        rayon::ThreadPoolBuilder::new()
            .num_threads(workers)
            .thread_name(|i| format!("tensorplay-{i}"))
            .build()
            .inspect_err(|e| crate::ladder::warn(format!("kernels run on one thread: {e}")))
            .ok()
    })
    .as_ref()
}

/// Calls `f` with ranges that cover `0..n`, in parallel when the whole costs `cost_ns` nanoseconds or more than
/// [`THRESHOLD_NS`] on one thread. `f` sees every index once.
#[inline]
pub fn parts(cost_ns: u64, n: usize, f: impl Fn(Range<usize>) + Sync) {
    if cost_ns < THRESHOLD_NS || n < 2 || BUSY.get() {
        if n > 0 {
            f(0..n);
        }
        return;
    }
    fork(cost_ns, n, &f);
}

#[inline(never)]
fn fork(cost_ns: u64, n: usize, f: &(dyn Fn(Range<usize>) + Sync)) {
    let threads = threads().min(n);
    let Some(pool) = (if threads > 1 { pool() } else { None }) else {
        return f(0..n);
    };
    let chunks = (threads * CHUNKS_PER_THREAD)
        .min(n)
        .min((cost_ns / CHUNK_NS) as usize)
        .max(threads);
    let next = AtomicUsize::new(0);
    let work = || {
        let _restore = Restore(&BUSY, BUSY.replace(true));
        loop {
            let c = next.fetch_add(1, Relaxed);
            if c >= chunks {
                break;
            }
            f(border(n, chunks, c)..border(n, chunks, c + 1));
        }
    };
    pool.in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| work());
        }
        work();
    });
}

/// Where chunk `c` of `chunks` begins.
fn border(n: usize, chunks: usize, c: usize) -> usize {
    (n as u128 * c as u128 / chunks as u128) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_index_is_seen_once() {
        for (cost, n) in [
            (0, 0),
            (0, 5),
            (1 << 30, 0),
            (1 << 30, 1),
            (1 << 30, 2),
            (100_000, 1000),
            (1 << 40, 7919),
        ] {
            let seen: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
            parts(cost, n, |r| {
                r.for_each(|i| {
                    seen[i].fetch_add(1, Relaxed);
                })
            });
            assert!(seen.iter().all(|s| s.load(Relaxed) == 1), "{cost} {n}");
        }
    }

    #[test]
    fn nested_calls_and_one_thread_are_serial() {
        let ids = Mutex::new(vec![]);
        with_threads(1, || {
            parts(1 << 40, 100, |r| {
                ids.lock().unwrap().push((r, std::thread::current().id()))
            })
        });
        assert_eq!(ids.into_inner().unwrap(), [(0..100, std::thread::current().id())]);
        parts(1 << 40, 8, |_| {
            let inner = AtomicUsize::new(0);
            parts(1 << 40, 100, |r| {
                inner.fetch_add(r.len().min(1), Relaxed);
            });
            assert_eq!(inner.into_inner(), 1);
        });
    }

    #[test]
    fn panics_propagate_and_leave_the_pool_usable() {
        let r = std::panic::catch_unwind(|| parts(1 << 40, 64, |r| assert!(!r.contains(&40), "item 40")));
        assert!(r.is_err());
        every_index_is_seen_once();
    }
}
