//! The golden cases, on the runners `eager`, `compiled` and `tile`.

use std::process::ExitCode;

mod cases {
    include!(concat!(env!("OUT_DIR"), "/cases.rs"));
}

fn main() -> ExitCode {
    tensorplay_golden::main(
        env!("CARGO_MANIFEST_DIR"),
        env!("TENSORPLAY_GOLDEN_VECTORS"),
        cases::FAMILIES,
    )
}
