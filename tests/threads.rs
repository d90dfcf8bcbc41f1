//! Many threads on few functions, while entries are evicted, tables emptied and backends come and go: every result is
//! right, every call is counted, and all of it ends.
#![deny(warnings)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use tensorplay::compiler::{
    BackendCapabilities, BackendEntry, CompileOptions, Example, Executable, counters, disable_capture,
    list_backends, register_backend, reset, unregister_backend, with_backend,
};
use tensorplay::graph::GraphModule;
use tensorplay::{Error, Result, compile, explain, prelude::*};

const THREADS: usize = 8;
const ROUNDS: usize = 400;

/// One test at a time: they reset what all of them use.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the process if what it guards does not end: threads that wait for each other cannot be told to stop.
struct Watchdog(Option<mpsc::Sender<()>>);

impl Watchdog {
    fn over(test: &'static str) -> Watchdog {
        let (sender, ended) = mpsc::channel::<()>();
        thread::spawn(move || {
            if ended.recv_timeout(Duration::from_secs(120)) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("{test}: still running after two minutes, a deadlock");
                std::process::exit(101);
            }
        });
        Watchdog(Some(sender))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.take();
    }
}

fn iota(shape: &[usize]) -> Tensor {
    let n: usize = shape.iter().product();
    Tensor::arange(0, n as i64, DType::F32).reshape(shape)
}

/// Sizes times layouts, each with what `f` makes of it.
fn cases(f: impl Fn(&Tensor) -> Tensor) -> Vec<(Tensor, Vec<f32>)> {
    let mut all = Vec::new();
    for n in [2, 3, 5] {
        all.extend([
            iota(&[n, n]),
            iota(&[n, n]).t(),
            iota(&[1, n]).expand((n, n)),
            iota(&[n, 2 * n]).slice(1, 0, 2 * n, 2),
        ]);
    }
    let right = |x: Tensor| {
        let y = disable_capture(|| f(&x)).to_vec::<f32>();
        (x, y)
    };
    all.into_iter().map(right).collect()
}

type Made = Result<Box<dyn Executable>>;

/// Runs the graph as it is.
fn as_it_is(graph: &GraphModule, _: &[Example], _: &CompileOptions) -> Made {
    let graph = graph.clone();
    Ok(Box::new(move |inputs: &[Tensor]| graph.run(inputs)))
}

const fn entry(name: &'static str) -> BackendEntry {
    BackendEntry {
        name,
        tags: &["debug"],
        capabilities: BackendCapabilities::new(),
        make: || Ok(Box::new(as_it_is)),
    }
}

#[test]
fn entries_are_evicted_while_threads_call() {
    #[compile(recompile_limit = 2)]
    fn f(x: &Tensor) -> Tensor {
        (x * 2.0 + 1.0).relu().sum_keepdim(1) + x
    }
    let _turn = turn();
    let _watchdog = Watchdog::over("entries_are_evicted_while_threads_call");
    let cases = cases(f);
    let before = counters();
    thread::scope(|s| {
        for t in 0..THREADS {
            let cases = &cases;
            s.spawn(move || {
                for k in 0..ROUNDS {
                    let (x, right) = &cases[(t + k * (t + 1)) % cases.len()];
                    assert_eq!(&f(x).to_vec::<f32>(), right, "thread {t}, round {k}");
                }
            });
        }
    });
    let (e, after) = (explain!(f), counters());
    let calls = (THREADS * ROUNDS) as u64;
    assert_eq!((e.calls.dispatched, e.calls.errors), (calls, 0), "{e}");
    assert!(e.entries.len() <= 2 && !e.entries.is_empty(), "{e}");
    assert_eq!(after.hits + after.misses, before.hits + before.misses + calls);
    assert_eq!(after.binds - before.binds, e.calls.bound);
    assert!(after.evictions > before.evictions);
    let hits: u64 = e.guards.iter().map(|c| c.hits()).sum();
    assert_eq!(hits, calls, "calls by path");
}

#[test]
fn dynamic_entries_serve_all_sizes_from_all_threads() {
    #[compile(fullgraph, dynamic = true)]
    fn f(x: &Tensor) -> Tensor {
        if x.dim(0) > 3 {
            (x * 2.0 + 1.0).relu()
        } else {
            x - 1.0
        }
    }
    let _turn = turn();
    let _watchdog = Watchdog::over("dynamic_entries_serve_all_sizes_from_all_threads");
    // more sizes than an entry keeps plans
    let cases: Vec<(Tensor, Vec<f32>)> = (2..42)
        .map(|n| {
            let x = iota(&[n]);
            let y = disable_capture(|| f(&x)).to_vec::<f32>();
            (x, y)
        })
        .collect();
    thread::scope(|s| {
        for t in 0..THREADS {
            let cases = &cases;
            s.spawn(move || {
                for k in 0..ROUNDS {
                    let (x, right) = &cases[(7 * t + k * (t + 1)) % cases.len()];
                    assert_eq!(&f(x).to_vec::<f32>(), right, "thread {t}, round {k}");
                }
            });
        }
    });
    let e = explain!(f);
    assert_eq!(e.calls.dispatched, (THREADS * ROUNDS) as u64);
    assert_eq!((e.entries.len(), e.recompiles.len()), (2, 1), "{e}");
}

#[test]
fn resets_and_scopes_and_registrations_at_once() {
    #[compile(recompile_limit = 3)]
    fn f(x: &Tensor) -> Result<Tensor> {
        Ok((x * 2.0 + 1.0).relu() - x.max_all())
    }
    static STEADY: BackendEntry = entry("threads_steady");
    static CHURNED: BackendEntry = entry("threads_churned");
    let _turn = turn();
    let _watchdog = Watchdog::over("resets_and_scopes_and_registrations_at_once");
    register_backend(&STEADY).expect("a free name");
    let cases = cases(|x| f(x).expect("the body"));
    let (over, failed) = (AtomicBool::new(false), AtomicU64::new(0));
    // calls that were made on each kind of thread
    let [plain, scoped, churned] = [const { AtomicU64::new(0) }; 3];

    thread::scope(|s| {
        let callers: Vec<_> = (0..THREADS)
            .map(|t| {
                let (cases, failed) = (&cases, &failed);
                let (plain, scoped, churned) = (&plain, &scoped, &churned);
                s.spawn(move || {
                    for k in 0..ROUNDS {
                        let (x, right) = &cases[(t + k * (t + 1)) % cases.len()];
                        let call = |made: &AtomicU64| {
                            made.fetch_add(1, Relaxed);
                            f(x)
                        };
                        let y = match t % 4 {
                            0 | 1 => call(plain),
                            2 => with_backend("threads_steady", || call(scoped)).expect("it is steady"),
                            _ => match with_backend("threads_churned", || call(churned)) {
                                Ok(y) => y,
                                // not there just now
                                Err(Error::InvalidBackend { .. }) => continue,
                                Err(e) => panic!("{e}"),
                            },
                        };
                        match y {
                            Ok(y) => assert_eq!(&y.to_vec::<f32>(), right, "thread {t}, round {k}"),
                            // gone while it was called
                            Err(e) if t % 4 == 3 => {
                                assert!(e.to_string().contains("threads_churned"), "{e}");
                                failed.fetch_add(1, Relaxed);
                            }
                            Err(e) => panic!("{e}"),
                        }
                    }
                })
            })
            .collect();
        s.spawn(|| {
            while !over.load(Relaxed) {
                reset();
                thread::sleep(Duration::from_micros(300));
            }
        });
        s.spawn(|| {
            while !over.load(Relaxed) {
                register_backend(&CHURNED).expect("this thread alone registers it");
                list_backends(Default::default());
                thread::sleep(Duration::from_micros(500));
                unregister_backend("threads_churned");
                thread::sleep(Duration::from_micros(100));
            }
        });
        s.spawn(|| {
            while !over.load(Relaxed) {
                let e = explain!(f);
                assert!(e.entries.len() <= 3, "{e}");
                thread::sleep(Duration::from_micros(700));
            }
        });
        let results: Vec<_> = callers.into_iter().map(|c| c.join()).collect();
        over.store(true, Relaxed);
        for r in results {
            r.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    unregister_backend("threads_steady");

    let made = [&plain, &scoped, &churned].map(|n| n.load(Relaxed));
    let e = explain!(f);
    let failed = failed.load(Relaxed);
    assert_eq!(
        made[..2],
        [(THREADS / 2 * ROUNDS) as u64, (THREADS / 4 * ROUNDS) as u64]
    );
    assert_eq!(
        (e.calls.dispatched, e.calls.errors),
        (made.iter().sum::<u64>() - failed, failed),
        "{made:?}: {e}"
    );
}

#[test]
fn one_backend_is_made_once_and_asked_by_all_threads() {
    static COMPILED: AtomicU64 = AtomicU64::new(0);
    static MADE: AtomicU64 = AtomicU64::new(0);
    static ENTRY: BackendEntry = BackendEntry {
        make: || {
            MADE.fetch_add(1, Relaxed);
            thread::sleep(Duration::from_millis(20));
            Ok(Box::new(
                |graph: &GraphModule, examples: &[Example], options: &CompileOptions| {
                    COMPILED.fetch_add(1, Relaxed);
                    thread::sleep(Duration::from_millis(20));
                    as_it_is(graph, examples, options)
                },
            ))
        },
        ..entry("threads_once")
    };
    #[compile(backend = "threads_once")]
    fn f(x: &Tensor) -> Tensor {
        x * 3.0
    }
    let _turn = turn();
    let _watchdog = Watchdog::over("one_backend_is_made_once_and_asked_by_all_threads");
    register_backend(&ENTRY).expect("a free name");
    let x = iota(&[4]);
    let start = Instant::now();
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(f(&x).to_vec::<f32>(), [0.0, 3.0, 6.0, 9.0]);
                }
            });
        }
    });
    assert!(start.elapsed() < Duration::from_secs(60));
    assert_eq!(MADE.load(Relaxed), 1);
    assert_eq!(COMPILED.load(Relaxed), 1, "once for a layout");
    let e = explain!(f);
    assert_eq!(
        (e.calls.dispatched, e.entries.len()),
        (THREADS as u64 * 50, 1),
        "{e}"
    );
    unregister_backend("threads_once");
}

#[test]
fn a_backend_may_call_compiled_functions_and_the_registry() {
    #[compile]
    fn inner(x: &Tensor) -> Tensor {
        x + 1.0
    }
    #[compile]
    fn outer(x: &Tensor) -> Tensor {
        x * 2.0
    }
    static ENTRY: BackendEntry = BackendEntry {
        make: || {
            list_backends(Default::default());
            Ok(Box::new(
                |graph: &GraphModule, examples: &[Example], options: &CompileOptions| -> Made {
                    // the scope does not hold in here, or this would never end
                    assert_eq!(inner(&iota(&[2])).to_vec::<f32>(), [1.0, 2.0]);
                    assert_eq!(outer(&iota(&[3])).to_vec::<f32>(), [0.0, 2.0, 4.0]);
                    let made = as_it_is(graph, examples, options)?;
                    Ok(Box::new(move |inputs: &[Tensor]| -> Result<Vec<Tensor>> {
                        let outputs = made.run(inputs)?;
                        Ok(vec![inner(&outputs[0])])
                    }))
                },
            ))
        },
        ..entry("threads_nested")
    };
    let _turn = turn();
    let _watchdog = Watchdog::over("a_backend_may_call_compiled_functions_and_the_registry");
    register_backend(&ENTRY).expect("a free name");
    thread::scope(|s| {
        for n in 0..THREADS {
            s.spawn(move || {
                for k in 0..20 {
                    let x = iota(&[(n + k) % 4 + 1]);
                    let y = with_backend("threads_nested", || outer(&x)).expect("it is registered");
                    let right: Vec<f32> = x.to_vec::<f32>().iter().map(|a| 2.0 * a + 1.0).collect();
                    assert_eq!(y.to_vec::<f32>(), right);
                }
            });
        }
    });
    unregister_backend("threads_nested");
}
