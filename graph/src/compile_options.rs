//! The options that a compiled function takes, and the modes, which are sets of them: what the attribute checks at build
//! time and a backend is given at run time.

use std::fmt;
use std::str::FromStr;

/// An option of the built-in compiler, on or off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompileOption {
    /// The name.
    pub name: &'static str,
    /// What it is unless it is set.
    pub default: bool,
    /// What it does.
    pub about: &'static str,
}

const fn option(name: &'static str, default: bool, about: &'static str) -> CompileOption {
    CompileOption { name, default, about }
}

/// Every option.
pub static COMPILE_OPTIONS: &[CompileOption] = &[
    option(
        "native",
        true,
        "groups run on emitted kernels; off, on the tile VM",
    ),
    option(
        "fusion",
        true,
        "operations are fused into groups; off, each runs by itself",
    ),
    option(
        "emulate_precision_casts",
        false,
        "f16 and bf16 are rounded after every operation; nothing is fused",
    ),
    option(
        "fast_math",
        false,
        "in emitted kernels, a * b + c may be rounded once",
    ),
    option(
        "cudagraphs",
        false,
        "calls are replayed as CUDA graphs; skipped, with a log line, on the CPU",
    ),
    option(
        "max_autotune",
        false,
        "kernels of a GPU are chosen by measuring; skipped, with a log line, on the CPU",
    ),
    option(
        "coordinate_descent_tuning",
        false,
        "what max_autotune chose is refined; skipped, with a log line, on the CPU",
    ),
];

/// The option of that name.
pub fn compile_option(name: &str) -> Option<&'static CompileOption> {
    COMPILE_OPTIONS.iter().find(|o| o.name == name)
}

/// A set of options under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// `"default"`: no option is changed.
    Default,
    /// `"reduce-overhead"`: calls are replayed.
    ReduceOverhead,
    /// `"max-autotune"`: kernels are chosen by measuring them, and replayed.
    MaxAutotune,
    /// `"max-autotune-no-cudagraphs"`: the same without replay.
    MaxAutotuneNoCudagraphs,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 4] = [
        Mode::Default,
        Mode::ReduceOverhead,
        Mode::MaxAutotune,
        Mode::MaxAutotuneNoCudagraphs,
    ];

    /// The name, as it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Default => "default",
            Mode::ReduceOverhead => "reduce-overhead",
            Mode::MaxAutotune => "max-autotune",
            Mode::MaxAutotuneNoCudagraphs => "max-autotune-no-cudagraphs",
        }
    }

    /// The options that it turns on.
    pub const fn patch(self) -> &'static [&'static str] {
        match self {
            Mode::Default => &[],
            Mode::ReduceOverhead => &["cudagraphs"],
            Mode::MaxAutotune => &["cudagraphs", "max_autotune", "coordinate_descent_tuning"],
            Mode::MaxAutotuneNoCudagraphs => &["max_autotune", "coordinate_descent_tuning"],
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no mode's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownMode(pub String);

impl fmt::Display for UnknownMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Mode::ALL.map(Mode::name).join(", ");
        write!(f, "unrecognized mode `{}`, it is one of {names}", self.0)
    }
}

impl std::error::Error for UnknownMode {}

impl FromStr for Mode {
    type Err = UnknownMode;
    fn from_str(text: &str) -> Result<Mode, UnknownMode> {
        let mode = Mode::ALL.into_iter().find(|m| m.name() == text);
        mode.ok_or_else(|| UnknownMode(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_sets_of_options() {
        for mode in Mode::ALL {
            assert_eq!(mode.name().parse(), Ok(mode));
            assert!(mode.patch().iter().all(|name| compile_option(name).is_some()));
        }
        let wrong = "fast".parse::<Mode>().map_err(|e| e.to_string());
        assert!(wrong.is_err_and(|e| e.starts_with("unrecognized mode `fast`")));
    }
}
