//! Medians, one thread, and what a kernel costs the user's release build.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

pub fn median(mut v: Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    v[v.len() / 2]
}

/// Starts this program again with one thread for kernels, unless that is how it was started.
pub fn one_thread() {
    if env::var_os("TENSORPLAY_NUM_THREADS").is_some_and(|n| n == "1") {
        return;
    }
    let Ok(me) = env::current_exe() else { return };
    let status = Command::new(me)
        .args(env::args_os().skip(1))
        .env("TENSORPLAY_NUM_THREADS", "1")
        .status();
    std::process::exit(status.ok().and_then(|s| s.code()).unwrap_or(1));
}

const KERNELS: usize = 60;

/// CPU milliseconds of a release build of a crate with `KERNELS` one-kernel functions, less those of the same
/// crate with plain functions, divided by the number of kernels.
pub fn build_cost() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("target/build-cost");
    let mut cpu = Vec::new();
    for attribute in ["#[tensorplay::compile(disable)]", "#[tensorplay::compile]"] {
        match build(root, &folder, attribute) {
            Some(ms) => cpu.push(ms),
            None => {
                println!("build.ms_per_kernel: the generated crate did not build");
                return;
            }
        }
    }
    println!("figure build.plain {:.0} ms", cpu[0]);
    println!("figure build.compiled {:.0} ms", cpu[1]);
    println!(
        "figure build.ms_per_kernel {:.1} ms",
        (cpu[1] - cpu[0]) / KERNELS as f64
    );
}

fn build(root: &Path, folder: &Path, attribute: &str) -> Option<f64> {
    fs::create_dir_all(folder.join("src")).ok()?;
    let manifest = format!(
        "[package]\nname = \"build-cost\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         tensorplay = {{ path = {:?} }}\n",
        root
    );
    fs::write(folder.join("Cargo.toml"), manifest).ok()?;
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).ok()?;
    fs::write(folder.join("src/lib.rs"), program(attribute)).ok()?;
    let cargo = |args: &[&str]| {
        let target: PathBuf = root.join("target");
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let out = Command::new(cargo)
            .args(args)
            .current_dir(folder)
            .env("CARGO_TARGET_DIR", target)
            .env("CARGO_INCREMENTAL", "0")
            .output()
            .ok()?;
        out.status.success().then_some(())
    };
    // dependencies first, then the crate alone, three times
    cargo(&["build", "--release", "--offline"]).or_else(|| cargo(&["build", "--release"]))?;
    let mut samples = Vec::new();
    for i in 0..3 {
        fs::write(
            folder.join("src/lib.rs"),
            format!("// {i}\n{}", program(attribute)),
        )
        .ok()?;
        let before = children_ms()?;
        cargo(&["build", "--release", "--offline"])?;
        samples.push(children_ms()? - before);
    }
    Some(median(samples))
}

/// Chains of four to nine operations, no two alike.
fn program(attribute: &str) -> String {
    let mut s = String::from("use tensorplay::prelude::*;\n");
    let steps = ["+ b", "* w", "* 0.5", "- x", "+ 1.0", "/ (w.square() + 1.0)"];
    let calls = ["tanh", "exp", "relu", "sigmoid", "abs", "gelu", "silu"];
    for k in 0..KERNELS {
        // the loop below repeats after 42 kernels
        let mut body = String::from(if k < 42 {
            "let t = x * w + b;"
        } else {
            "let t = (x + w) * b;"
        });
        for j in 0..2 + k % 3 {
            let _ = write!(
                body,
                " let t = (t {}).{}();",
                steps[(k + j) % 6],
                calls[(k * 3 + j) % 7]
            );
        }
        let _ = writeln!(
            s,
            "{attribute}\npub fn f{k}(x: &Tensor, w: &Tensor, b: &Tensor) -> Tensor {{ {body} t }}"
        );
    }
    s
}

/// CPU time of all waited-for descendants.
fn children_ms() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks: f64 = fields.get(13)?.parse::<f64>().ok()? + fields.get(14)?.parse::<f64>().ok()?;
    Some(ticks * 10.0)
}
