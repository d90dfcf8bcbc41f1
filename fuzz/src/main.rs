//! `cargo run -p tensorplay-fuzz -- --graphs N --seed S` or `--programs N --seed S`.

use std::process::ExitCode;
use tensorplay_fuzz::{check, run, serve};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let number = |name: &str| -> Option<u64> {
        args.iter()
            .position(|a| a == name)
            .and_then(|i| args.get(i + 1)?.parse().ok())
    };
    let seed = number("--seed").unwrap_or(0);
    check::quiet_panics();
    let mut failures = 0;
    if let Some(n) = number("--graphs") {
        failures += run::graphs(seed, n, number("--show").unwrap_or(40) as usize);
    }
    if let Some(n) = number("--programs") {
        failures += serve::programs(seed, n);
    }
    if failures > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
