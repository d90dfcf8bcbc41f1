//! What a call costs before any kernel runs: finding a plan, on one thread and on two, and binding one anew.
//!
//! Every function has eight live entries, and the calls go round all of them. A virtual core is now and then slowed down by
//! others for a while. So a control, arithmetic in registers that shares nothing, is timed beside every sample: a figure is
//! the median of the samples at full speed, those whose control is within a tenth of the fastest so far; the median of all
//! stands behind it. What two threads reach of one is told beside what two threads of the control reach.

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

/// Arithmetic in registers.
fn control() {
    let (mut a, mut b, mut c, mut d) = (1u64, 2u64, 3u64, 4u64);
    for i in 0..10_000u64 {
        a = a.wrapping_add(i ^ b);
        b = b.rotate_left(5) ^ i;
        c = c.wrapping_add(i) ^ d;
        d = d.wrapping_add(c | i);
    }
    black_box((a, b, c, d));
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Nanoseconds per call.
fn per_call(calls: u32, f: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        f();
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
}

/// The machine, as the control knows it.
struct Machine {
    /// The fastest control so far, in nanoseconds.
    fastest: f64,
}

impl Machine {
    /// Samples of `calls` calls each, until enough of them are at full speed or ten seconds are over; prints their median.
    fn figure(&mut self, name: &str, unit: &str, scale: f64, calls: u32, mut f: impl FnMut()) {
        let (enough, limit) = if asked_for_smoke() { (1, 0.2) } else { (101, 10.0) };
        let start = Instant::now();
        let mut samples: Vec<(f64, f64)> = Vec::new();
        let mut at_speed = Vec::new();
        while at_speed.len() < enough && start.elapsed().as_secs_f64() < limit {
            let before = per_call(3, &mut control);
            let time = per_call(calls, &mut f) / scale;
            let speed = before.max(per_call(3, &mut control));
            self.fastest = self.fastest.min(speed);
            samples.push((time, speed));
            at_speed.clear();
            at_speed.extend(samples.iter().filter(|s| s.1 <= 1.1 * self.fastest).map(|s| s.0));
        }
        let all = median(samples.iter().map(|s| s.0).collect());
        let value = if at_speed.is_empty() {
            all
        } else {
            median(at_speed.clone())
        };
        println!(
            "figure dispatch.{name} {value:.1} {unit} ({} of {} samples at full speed; all {all:.1} {unit})",
            at_speed.len(),
            samples.len()
        );
    }
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

fn rounds(machine: &mut Machine, name: &str, function: &'static Function, sets: &[Vec<&Tensor>]) {
    let none: [HostArg; 0] = [];
    let all = || {
        for set in sets {
            assert!(black_box(function.look_up(black_box(set), &none)));
        }
    };
    machine.figure(name, "ns", sets.len() as f64, 200, all);
}

/// Calls a second of so many threads together.
fn rate(threads: usize, calls: u32, f: &(impl Fn() + Sync)) -> f64 {
    const WINDOW: Duration = Duration::from_millis(20);
    let barrier = Barrier::new(threads);
    std::thread::scope(|s| {
        let run = || {
            barrier.wait();
            let start = Instant::now();
            let mut done = 0u32;
            while start.elapsed() < WINDOW {
                (0..calls).for_each(|_| f());
                done += calls;
            }
            f64::from(done) / start.elapsed().as_secs_f64()
        };
        let all: Vec<_> = (0..threads).map(|_| s.spawn(run)).collect();
        all.into_iter().map(|t| t.join().unwrap_or(0.0)).sum()
    })
}

/// Prints how much two threads do of what one does, beside what they do of the control: medians of what was measured in turn.
fn scaling(name: &str, f: impl Fn() + Sync) {
    let pairs = if asked_for_smoke() { 1 } else { 41 };
    let (mut own, mut possible, mut part) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..pairs {
        let of_f = rate(2, 500, &f) / rate(1, 500, &f);
        let of_control = rate(2, 3, &control) / rate(1, 3, &control);
        own.push(of_f);
        possible.push(of_control);
        part.push(of_f / of_control);
    }
    println!(
        "figure dispatch.{name}.two_threads {:.2} x (the control {:.2} x, of it {:.0} %)",
        median(own),
        median(possible),
        100.0 * median(part)
    );
}

macro_rules! measure {
    ($machine:ident: $($name:ident, $label:literal, $sets:ident, $n:literal, $($i:literal)*;)*) => {$({
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
        rounds($machine, concat!($label, ".", $n), function, &sets);
        if $n == 5 {
            let none: [HostArg; 0] = [];
            let set = &sets[0];
            let found = || {
                black_box(function.look_up(black_box(set), &none));
            };
            scaling($label, found);
        }
    })*};
}

/// Whether the figures of that name were asked for: all are without a word on the command line.
fn asked(name: &str) -> bool {
    let mut words = std::env::args()
        .skip(1)
        .filter(|w| !w.starts_with('-') && w != "smoke")
        .peekable();
    words.peek().is_none() || words.any(|w| w == name)
}

/// Whether it is only to be seen that all of it runs.
fn asked_for_smoke() -> bool {
    std::env::args().any(|w| w == "smoke")
}

fn main() {
    let mut machine = Machine {
        fastest: f64::INFINITY,
    };
    if asked("find") {
        find(&mut machine);
    }
    if asked("call") {
        call(&mut machine);
    }
    if asked("rebind") {
        rebind(&mut machine);
    }
}

/// Looking up a plan.
fn find(machine: &mut Machine) {
    measure! { machine:
        one, "static", sizes, 1, 0;
        five, "static", sizes, 5, 0 1 2 3 4;
        twelve, "static", sizes, 12, 0 1 2 3 4 5 6 7 8 9 10 11;
        one_dynamic, "dynamic", forms, 1, 0;
        five_dynamic, "dynamic", forms, 5, 0 1 2 3 4;
        twelve_dynamic, "dynamic", forms, 12, 0 1 2 3 4 5 6 7 8 9 10 11;
    }
}

/// A whole call of a small kernel.
fn call(machine: &mut Machine) {
    let x: Vec<Tensor> = (0..5).map(|_| Tensor::rand((8, 16), DType::F32)).collect();
    let call = || {
        black_box(five(black_box(&x[0]), &x[1], &x[2], &x[3], &x[4]));
    };
    machine.figure("call.5", "ns", 1.0, 500, call);
    scaling("call", call);
}

/// Binding a graph of a hundred operations for a layout that is new.
fn rebind(machine: &mut Machine) {
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
    let rebind = || function.rebind(&args, &none).expect("it binds");
    machine.figure("rebind.100", "us", 1e3, 5, rebind);
}
