//! What a call costs before any kernel runs: finding a plan, on one thread and on two, and binding one anew.
//!
//! Every function has eight live entries; the calls go round all of them, so that each is found at its own depth.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};
use tensorplay::__private::{Function, HostArg};
use tensorplay::{compile, explain, prelude::*};

macro_rules! functions {
    ($($name:ident $(($dynamic:ident))? : $first:ident $($arg:ident)* => $body:expr;)*) => {$(
        #[compile($($dynamic = true)?)]
        #[allow(clippy::too_many_arguments)]
        fn $name($first: &Tensor $(, $arg: &Tensor)*) -> Tensor {
            $body
        }
    )*};
}

functions! {
    one: a => a + 1.0;
    five: a b c d e => a + b * c - d + e;
    twelve: a b c d e f g h i j k l => a + b + c + d + e + f + g + h + i + j + k + l;
    one_dynamic (dynamic): a => a + 1.0;
    five_dynamic (dynamic): a b c d e => a + b * c - d + e;
    twelve_dynamic (dynamic): a b c d e f g h i j k l => a + b + c + d + e + f + g + h + i + j + k + l;
}

/// A hundred operations: 25 products with what follows each.
#[compile]
fn hundred(x: &Tensor, w: &Tensor, b: &Tensor) -> Tensor {
    let mut h = x.relu();
    for _ in 0..24 {
        h = (h.matmul(w) + b).relu() * 0.5;
    }
    (h.matmul(w) + b).relu()
}

/// The median of `samples` times per call.
fn per_call(samples: usize, calls: u32, mut f: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..samples)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..calls {
                f();
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// `n` tensors in each of eight sizes.
fn sizes(n: usize) -> Vec<Vec<Tensor>> {
    let tensors = |rows: usize| (0..n).map(|_| Tensor::rand((rows, 16), DType::F32)).collect();
    (2..10).map(tensors).collect()
}

/// `n` tensors in each of eight forms that are entries of their own under `dynamic`: dtype, layout, and the class of a size.
fn forms(n: usize) -> Vec<Vec<Tensor>> {
    let mut all = Vec::new();
    for dtype in [DType::F32, DType::F64] {
        let x = || Tensor::rand((8, 16), dtype);
        all.push((0..n).map(|_| x()).collect());
        all.push((0..n).map(|_| Tensor::rand((16, 8), dtype).t()).collect());
        all.push((0..n).map(|_| x().narrow(0, 0, 1).contiguous()).collect());
        all.push((0..n).map(|_| x().narrow(1, 0, 1).contiguous()).collect());
    }
    all
}

fn rounds(function: &'static Function, sets: &[Vec<&Tensor>]) -> f64 {
    let none: [HostArg; 0] = [];
    let all = || {
        for set in sets {
            assert!(black_box(function.look_up(black_box(set), &none)));
        }
    };
    per_call(101, 2_000, all) / sets.len() as f64
}

/// Calls a second on each of so many threads together.
fn rate(threads: usize, f: impl Fn() + Sync) -> f64 {
    let barrier = Barrier::new(threads);
    let total: f64 = std::thread::scope(|s| {
        let run = || {
            barrier.wait();
            let start = Instant::now();
            let mut calls = 0u32;
            while start.elapsed() < Duration::from_millis(200) {
                (0..500).for_each(|_| f());
                calls += 500;
            }
            f64::from(calls) / start.elapsed().as_secs_f64()
        };
        let all: Vec<_> = (0..threads).map(|_| s.spawn(run)).collect();
        all.into_iter().map(|t| t.join().unwrap_or(0.0)).sum()
    });
    total
}

/// How much two threads do of what one does: the median of so many pairs.
fn scaling(pairs: usize, f: impl Fn() + Sync) -> f64 {
    let mut ratios: Vec<f64> = (0..pairs).map(|_| rate(2, &f) / rate(1, &f)).collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

macro_rules! measure {
    ($($name:ident, $label:literal, $sets:ident, $n:literal, $($i:literal)*;)*) => {$({
        let sets = $sets($n);
        for x in &sets {
            $name($(&x[$i]),*);
        }
        assert_eq!(explain!($name).entries.len(), 8, "{}", stringify!($name));
        let function = tensorplay::__private::probe(|| {
            let x = &sets[0];
            let _ = $name($(&x[$i]),*);
        });
        let sets: Vec<Vec<&Tensor>> = sets.iter().map(|s| s.iter().collect()).collect();
        println!("figure dispatch.{}.{} {:.1} ns", $label, $n, rounds(function, &sets));
        if $n == 5 {
            let none: [HostArg; 0] = [];
            let set = &sets[0];
            let found = || {
                black_box(function.look_up(black_box(set), &none));
            };
            println!("figure dispatch.{}.two_threads {:.2} x", $label, scaling(5, found));
        }
    })*};
}

/// Whether the figures of that name were asked for: all are without a word on the command line.
fn asked(name: &str) -> bool {
    let mut words = std::env::args()
        .skip(1)
        .filter(|w| !w.starts_with('-'))
        .peekable();
    words.peek().is_none() || words.any(|w| w == name)
}

fn main() {
    if asked("find") {
        find();
    }
    if asked("call") {
        call();
    }
    if asked("rebind") {
        rebind();
    }
}

/// Looking up a plan.
fn find() {
    measure! {
        one, "static", sizes, 1, 0;
        five, "static", sizes, 5, 0 1 2 3 4;
        twelve, "static", sizes, 12, 0 1 2 3 4 5 6 7 8 9 10 11;
        one_dynamic, "dynamic", forms, 1, 0;
        five_dynamic, "dynamic", forms, 5, 0 1 2 3 4;
        twelve_dynamic, "dynamic", forms, 12, 0 1 2 3 4 5 6 7 8 9 10 11;
    }
}

/// A whole call of a small kernel.
fn call() {
    let x: Vec<Tensor> = (0..5).map(|_| Tensor::rand((8, 16), DType::F32)).collect();
    let call = || {
        black_box(five(black_box(&x[0]), &x[1], &x[2], &x[3], &x[4]));
    };
    println!("figure dispatch.call.5 {:.1} ns", per_call(101, 2_000, call));
    println!("figure dispatch.call.two_threads {:.2} x", scaling(5, call));
}

/// Binding a graph of a hundred operations for a layout that is new.
fn rebind() {
    let (x, w, b) = (
        Tensor::rand((8, 16), DType::F32),
        Tensor::rand((16, 16), DType::F32),
        Tensor::rand(16, DType::F32),
    );
    hundred(&x, &w, &b);
    let function = tensorplay::__private::probe(|| {
        let _ = hundred(&x, &w, &b);
    });
    let transposed = Tensor::rand((16, 8), DType::F32).t();
    let args = [&transposed, &w, &b];
    let none: [HostArg; 0] = [];
    let rebind = per_call(51, 50, || function.rebind(&args, &none).expect("it binds"));
    println!("figure dispatch.rebind.100 {:.1} us", rebind / 1e3);
}
