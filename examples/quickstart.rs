//! A trained digit classifier, compiled by `cargo build`: accuracy, first call, speed, and a look inside.
//!
//! `cargo run --release --example quickstart`; `-- call` only times the first two calls, in a fresh process.

use std::collections::HashMap;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};
use tensorplay::prelude::*;
use tensorplay::{Result, compile, compiler, explain, safetensors};

/// Three dense layers with GELU between them; `B` may be any batch size.
#[compile(spec(x = f32[B, 64], return = f32[B, 10]))]
fn classify(
    x: &Tensor,
    w1: &Tensor,
    b1: &Tensor,
    w2: &Tensor,
    b2: &Tensor,
    w3: &Tensor,
    b3: &Tensor,
) -> Tensor {
    let hidden = x.linear(w1, Some(b1)).gelu();
    let hidden = hidden.linear(w2, Some(b2)).gelu();
    hidden.linear(w3, Some(b3))
}

struct Digits {
    data: HashMap<String, Tensor>,
}

impl Digits {
    fn load() -> Result<Digits> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/digits.safetensors");
        Ok(Digits {
            data: safetensors::load(path)?,
        })
    }

    fn logits(&self, x: &Tensor) -> Tensor {
        let p = |name: &str| &self.data[name];
        classify(
            x,
            p("fc1.weight"),
            p("fc1.bias"),
            p("fc2.weight"),
            p("fc2.bias"),
            p("fc3.weight"),
            p("fc3.bias"),
        )
    }
}

fn micros(d: Duration) -> f64 {
    d.as_secs_f64() * 1e6
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// The first two calls of a process, in microseconds.
fn first_two_calls(net: &Digits) -> (f64, f64) {
    let x = net.data["test_x"].narrow(0, 0, 32).contiguous();
    let time = || {
        let start = Instant::now();
        black_box(net.logits(black_box(&x)));
        micros(start.elapsed())
    };
    (time(), time())
}

fn main() -> Result<()> {
    let net = Digits::load()?;
    if std::env::args().nth(1).as_deref() == Some("call") {
        let (first, second) = first_two_calls(&net);
        println!("{first} {second}");
        return Ok(());
    }

    // a real job: 360 handwritten digits that the network has not seen
    let (x, labels) = (&net.data["test_x"], &net.data["test_y"]);
    let logits = net.logits(x);
    let right = logits.argmax(-1).eq(labels).sum_all().item::<i64>();
    let error = (&logits - &net.data["test_logits"])
        .abs()
        .max((0, 1))
        .item::<f32>();
    println!("{right} of {} digits are right", labels.elem_count());
    println!(
        "figure quickstart.accuracy {:.4} fraction",
        right as f64 / labels.elem_count() as f64
    );
    println!("figure quickstart.max_logit_error {error:.2e} logits");

    // no warm-up: the first call of a fresh process against its second
    let me = std::env::current_exe()?;
    let mut calls: Vec<(f64, f64)> = Vec::new();
    for _ in 0..11 {
        let out = Command::new(&me).arg("call").output()?;
        let text = String::from_utf8_lossy(&out.stdout);
        let mut numbers = text.split_whitespace().filter_map(|n| n.parse().ok());
        if let (Some(first), Some(second)) = (numbers.next(), numbers.next()) {
            calls.push((first, second));
        }
    }
    println!(
        "figure quickstart.first_call {:.1} us",
        median(calls.iter().map(|c| c.0).collect())
    );
    println!(
        "figure quickstart.second_call {:.1} us",
        median(calls.iter().map(|c| c.1).collect())
    );

    // compiled against the same function run op by op, interleaved
    let batch = x.narrow(0, 0, 32).contiguous();
    let (mut compiled, mut eager) = (Vec::new(), Vec::new());
    for _ in 0..301 {
        let start = Instant::now();
        black_box(net.logits(black_box(&batch)));
        compiled.push(micros(start.elapsed()));
        let start = Instant::now();
        black_box(compiler::disable_capture(|| net.logits(black_box(&batch))));
        eager.push(micros(start.elapsed()));
    }
    let (compiled, eager) = (median(compiled), median(eager));
    println!("figure quickstart.compiled {compiled:.2} us");
    println!("figure quickstart.eager {eager:.2} us");
    println!("figure quickstart.eager_vs_compiled {:.2} x", eager / compiled);

    // dispatch: a batch of no digits runs guards, look-up and allocation only
    let nothing = x.narrow(0, 0, 0).contiguous();
    net.logits(&nothing);
    let start = Instant::now();
    for _ in 0..10_000 {
        black_box(net.logits(black_box(&nothing)));
    }
    println!(
        "figure quickstart.dispatch {:.0} ns",
        start.elapsed().as_secs_f64() * 1e9 / 1e4
    );

    let report = explain!(classify);
    println!("\n{report}");
    if let Some(kernel) = report.kernels.first() {
        println!("\nthe first kernel, as emitted:\n{kernel}");
    }
    Ok(())
}
