//! Emitted kernels against hand-written loops, one thread, fresh outputs on both sides, interleaved.
//!
//! The hand loops are plain Rust under AVX-512 `#[target_feature]`, in the shape an expert writes them, over the
//! product's own vector functions; `x * w + b` is rounded twice, as compiled code does. Both sides are checked against
//! f64 first. `-- smoke` takes few samples and skips the build-cost figure.

use std::hint::black_box;
use std::time::Instant;
use tensorplay::compile;
use tensorplay::prelude::*;

mod hand;
mod support;

const ROWS: usize = 1024;
const COLS: usize = 1024;

#[compile]
fn gelu_affine(x: &Tensor, w: &Tensor, b: &Tensor) -> Tensor {
    (x * w + b).gelu()
}

#[compile]
fn softmax(x: &Tensor) -> Tensor {
    x.softmax(-1)
}

#[compile]
fn layer_norm(x: &Tensor, w: &Tensor, b: &Tensor) -> Tensor {
    x.layer_norm(1, Some(w), Some(b), 1e-5)
}

/// Interleaved medians of two ways to do the same, in microseconds, and the median of the paired ratios.
fn compare(samples: usize, mut ours: impl FnMut(), mut hand: impl FnMut()) -> (f64, f64, f64) {
    let time = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64() * 1e6
    };
    let (mut a, mut b, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..samples + 3 {
        // who goes first alternates
        let (x, y) = if i % 2 == 0 {
            let x = time(&mut ours);
            (x, time(&mut hand))
        } else {
            let y = time(&mut hand);
            (time(&mut ours), y)
        };
        if i >= 3 {
            a.push(x);
            b.push(y);
            ratios.push(x / y);
        }
    }
    (support::median(a), support::median(b), support::median(ratios))
}

fn report(name: &str, samples: usize, ours: impl FnMut(), hand: impl FnMut()) {
    let (ours, hand, ratio) = compare(samples, ours, hand);
    println!("figure kernels.{name} {ours:.1} us");
    println!("figure kernels.{name}.hand {hand:.1} us");
    println!("figure kernels.{name}.vs_hand {ratio:.3} x");
}

fn main() {
    support::one_thread();
    let smoke = std::env::args().any(|a| a == "smoke");
    // a second a kernel: a busy neighbour of some milliseconds does not move the median
    let samples = if smoke { 5 } else { 2001 };

    let x = Tensor::randn((ROWS, COLS), DType::F32);
    let w = Tensor::randn(COLS, DType::F32);
    let b = Tensor::randn(COLS, DType::F32);
    let (xs, ws, bs): (Vec<f32>, Vec<f32>, Vec<f32>) = (x.to_vec(), w.to_vec(), b.to_vec());

    let wide = |t: &Tensor| t.to_dtype(DType::F64);
    let (x64, w64, b64) = (wide(&x), wide(&w), wide(&b));
    let check = |name: &str, ours: &Tensor, hand: Vec<f32>, right: &Tensor| {
        let hand = Tensor::from_vec(hand, (ROWS, COLS));
        assert!(wide(ours).allclose(right, 2e-5, 2e-6), "{name}: ours is wrong");
        assert!(
            wide(&hand).allclose(right, 2e-5, 2e-6),
            "{name}: the hand loop is wrong"
        );
    };
    check(
        "gelu",
        &gelu_affine(&x, &w, &b),
        hand::gelu_affine(&xs, &ws, &bs),
        &(&x64 * &w64 + &b64).gelu(),
    );
    check(
        "softmax",
        &softmax(&x),
        hand::softmax(&xs, COLS),
        &x64.softmax(-1),
    );
    let right = x64.layer_norm(1, Some(&w64), Some(&b64), 1e-5);
    check(
        "layer_norm",
        &layer_norm(&x, &w, &b),
        hand::layer_norm(&xs, &ws, &bs),
        &right,
    );

    report(
        "gelu_1m",
        samples,
        || drop(black_box(gelu_affine(black_box(&x), &w, &b))),
        || drop(black_box(hand::gelu_affine(black_box(&xs), &ws, &bs))),
    );
    report(
        "softmax_1024",
        samples,
        || drop(black_box(softmax(black_box(&x)))),
        || drop(black_box(hand::softmax(black_box(&xs), COLS))),
    );
    report(
        "layer_norm_1024",
        samples,
        || drop(black_box(layer_norm(black_box(&x), &w, &b))),
        || drop(black_box(hand::layer_norm(black_box(&xs), &ws, &bs))),
    );
    if !smoke {
        support::build_cost();
    }
}
