//! Prints the generated functions of `tests/programs.rs`.
//!
//! Problem: `#[compile]` is only tested by code that rustc compiles, and a cargo started by a test would build the
//! workspace's dependencies again.
//! Method: the generator is compiled into this script too; it needs the graph, capture and schedule crates, which
//! the macro needs on the host anyway, and no tensors.

#![allow(dead_code)]

#[path = "src/case.rs"]
mod case;
#[path = "src/generate/mod.rs"]
mod generate;
#[path = "src/inputs.rs"]
mod inputs;
#[path = "src/program.rs"]
mod program;
#[path = "src/reference/mod.rs"]
mod reference;
#[path = "src/rng.rs"]
mod rng;

use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let number = |name: &str, default: u64| {
        println!("cargo::rerun-if-env-changed={name}");
        env::var(name).map_or(Ok(default), |v| v.parse())
    };
    let (seed, n) = (number(program::SEED, 0)?, number(program::COUNT, 250)?);
    fs::write(
        Path::new(&env::var("OUT_DIR")?).join("programs.rs"),
        program::text(seed, n),
    )?;
    Ok(())
}
