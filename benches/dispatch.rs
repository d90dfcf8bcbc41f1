//! What a call costs before any kernel runs.

use std::hint::black_box;
use std::time::Instant;
use tensorplay::prelude::*;
use tensorplay::{__private::HostArg, compile};

#[compile]
fn five(a: &Tensor, b: &Tensor, c: &Tensor, d: &Tensor, e: &Tensor) -> Tensor {
    a + b * c - d + e
}

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

fn main() {
    let x: Vec<Tensor> = (0..5).map(|_| Tensor::rand((8, 16), DType::F32)).collect();
    five(&x[0], &x[1], &x[2], &x[3], &x[4]);
    let function = tensorplay::__private::probe(|| {
        let _ = five(&x[0], &x[1], &x[2], &x[3], &x[4]);
    });
    let args = [&x[0], &x[1], &x[2], &x[3], &x[4]];
    let none: [HostArg; 0] = [];
    assert!(function.look_up(&args, &none));
    let look_up = per_call(101, 10_000, || {
        black_box(function.look_up(black_box(&args), &none));
    });
    println!("figure dispatch.static.5 {look_up:.1} ns");
    let call = per_call(101, 2_000, || {
        black_box(five(black_box(args[0]), args[1], args[2], args[3], args[4]));
    });
    println!("figure dispatch.call.5 {call:.1} ns");
    // the same through sixteen bound sizes: the oldest is found last
    for n in 1..16usize {
        let y: Vec<Tensor> = x.iter().map(|t| t.narrow(0, 0, n % 8 + 1).contiguous()).collect();
        five(&y[0], &y[1], &y[2], &y[3], &y[4]);
    }
    let many = per_call(101, 10_000, || {
        black_box(function.look_up(black_box(&args), &none));
    });
    println!("figure dispatch.sizes.8 {many:.1} ns");
}
