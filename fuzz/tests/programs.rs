//! A hundred generated functions: emitted kernels against their bodies (the text is the build script's).

use tensorplay::{Result, compile, explain, prelude::*};
use tensorplay_fuzz::serve::Function;

#[allow(clippy::all, unused)]
mod generated {
    use super::*;
    include!(concat!(env!("OUT_DIR"), "/programs.rs"));

    pub fn run() -> usize {
        tensorplay_fuzz::serve::functions(TABLE, REFUSED)
    }
}

#[test]
fn generated_programs() {
    assert_eq!(generated::run(), 0, "the failures are printed above");
}
