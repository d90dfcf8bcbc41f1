//! `#[assume_constant_result]`.

use crate::vector;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use tensorplay::__private::enter;
use tensorplay::compiler::reset;
use tensorplay::{assume_constant_result, prelude::*};

/// `reset` is for the whole process: tests of assumed values take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn assumed_results_are_kept_by_call_site() {
    let _turn = turn();
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    #[assume_constant_result]
    fn number(from: usize) -> (usize, Tensor) {
        (from + 100 * RUNS.fetch_add(1, Relaxed), vector())
    }
    let here = |n| number(n).0;
    // plain calls run
    assert_eq!([here(1), here(2)], [1, 102]);
    let on_stack = enter();
    assert_eq!([here(3), here(4), here(5)], [203; 3]);
    // another place has another value
    let there = |n| number(n).0;
    assert_eq!([there(6), here(7), there(8)], [306, 203, 306]);
    // a helper that tells its caller is one with its callers
    #[track_caller]
    fn helper(n: usize) -> usize {
        number(n).0
    }
    assert_eq!([helper(9), helper(10)], [409, 510]);
    assert_eq!([11, 12].map(|n| helper(n)), [611; 2]);
    drop(on_stack);
    assert_eq!(here(1), 701, "off the stack it runs again");
    let _on_stack = enter();
    assert_eq!(here(1), 203, "and the value is still there");
}

#[test]
fn reset_forgets_assumed_results() {
    let _turn = turn();
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    #[assume_constant_result]
    fn table() -> usize {
        RUNS.fetch_add(1, Relaxed)
    }
    let _on_stack = enter();
    let call = || table();
    assert_eq!([call(), call()], [0, 0]);
    reset();
    assert_eq!([call(), call()], [1, 1]);
    reset();
    reset();
    assert_eq!(call(), 2);
}

#[test]
fn threads_have_one_value() {
    let _turn = turn();
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    #[assume_constant_result]
    fn slow() -> usize {
        std::thread::sleep(std::time::Duration::from_millis(20));
        RUNS.fetch_add(1, Relaxed)
    }
    let call = || slow();
    let ready = Barrier::new(8);
    let values = std::thread::scope(|s| {
        let threads: Vec<_> = (0..8)
            .map(|i| {
                let (ready, call) = (&ready, &call);
                s.spawn(move || {
                    let _on_stack = (i > 0).then(enter);
                    ready.wait();
                    (i, call())
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|t| t.join().expect("no panic"))
            .collect::<Vec<_>>()
    });
    let kept: Vec<usize> = values.iter().filter(|v| v.0 > 0).map(|v| v.1).collect();
    assert_eq!(kept, [kept[0]; 7]);
    assert_eq!(RUNS.load(Relaxed), 2, "once for the site, once off the stack");
}

#[test]
fn a_panic_keeps_nothing() {
    let _turn = turn();
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    #[assume_constant_result]
    fn third_time() -> usize {
        let n = RUNS.fetch_add(1, Relaxed);
        assert!(n >= 2, "not yet");
        n
    }
    let _on_stack = enter();
    let call = || third_time();
    for _ in 0..2 {
        assert!(catch_unwind(call).is_err());
    }
    assert_eq!([call(), call()], [2, 2]);
}

#[test]
fn assumed_results_may_need_each_other() {
    let _turn = turn();
    #[assume_constant_result]
    fn depth(n: usize) -> usize {
        // the recursive call is one site: the innermost value is its first
        if n == 0 { 7 } else { depth(n - 1) + 1 }
    }
    #[assume_constant_result]
    fn even(n: usize) -> bool {
        n == 0 || odd(n - 1)
    }
    #[assume_constant_result]
    fn odd(n: usize) -> bool {
        n != 0 && even(n - 1)
    }
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                let _on_stack = enter();
                assert!(depth(3) >= 7);
                let _ = (even(4), odd(4));
            });
        }
    });
    let _on_stack = enter();
    assert!(!odd(0) && even(0));
}

#[test]
fn assumed_results_may_come_early() {
    let _turn = turn();
    #[assume_constant_result]
    fn early(mut list: Vec<i32>, more: &mut Vec<i32>, flag: bool) -> Option<Vec<i32>> {
        if flag {
            return None;
        }
        let last = list.pop()?;
        more.push(last);
        list.append(more);
        Some(list)
    }
    let mut more = vec![5];
    assert_eq!(early(vec![1, 2], &mut more, false), Some(vec![1, 5, 2]));
    assert_eq!((early(vec![], &mut more, false), more), (None, vec![]));
    let _on_stack = enter();
    let call = |flag| early(vec![1], &mut Vec::new(), flag);
    assert_eq!([call(true), call(false)], [None, None]);
}
