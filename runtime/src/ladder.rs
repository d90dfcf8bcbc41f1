//! `TENSORPLAY_LOG`: which kinds of events are told, through the crate `log`.
//!
//! Every kind has a target, `tensorplay::recompiles`, at which a logger of the program's can filter. A kind that the
//! variable names is raised to a level that loggers show; in a program without a logger it is printed on the standard
//! error output. Events happen where calls are bound: the hit path asks nothing.

use crate::{Error, Result};
use std::sync::OnceLock;

/// A kind of event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rung {
    /// An entry more of a function that had one, and why.
    Recompiles,
    /// The entry, with its guards.
    Guards,
    /// Graph breaks of functions that are called.
    Breaks,
    /// The graphs that are bound or given to a backend.
    Graphs,
    /// What the steps of a plan run on.
    Kernels,
}

const RUNGS: [(Rung, &str, &str); 5] = [
    (Rung::Recompiles, "recompiles", "tensorplay::recompiles"),
    (Rung::Guards, "guards", "tensorplay::guards"),
    (Rung::Breaks, "breaks", "tensorplay::breaks"),
    (Rung::Graphs, "graphs", "tensorplay::graphs"),
    (Rung::Kernels, "kernels", "tensorplay::kernels"),
];

const VARIABLE: &str = "TENSORPLAY_LOG";

fn parse(text: &str) -> std::result::Result<[bool; 5], String> {
    let mut asked = [false; 5];
    for word in text.split(',').map(str::trim).filter(|w| !w.is_empty()) {
        match RUNGS.iter().position(|(_, name, _)| *name == word) {
            Some(i) => asked[i] = true,
            None if word == "all" => asked = [true; 5],
            None => return Err(word.into()),
        }
    }
    Ok(asked)
}

fn asked() -> &'static std::result::Result<[bool; 5], String> {
    static ASKED: OnceLock<std::result::Result<[bool; 5], String>> = OnceLock::new();
    ASKED.get_or_init(|| parse(&std::env::var_os(VARIABLE).unwrap_or_default().to_string_lossy()))
}

/// An unknown word in the variable is an error.
pub(crate) fn check() -> Result<()> {
    match asked() {
        Ok(_) => Ok(()),
        Err(word) => Err(Error::Environment {
            variable: VARIABLE,
            value: word.clone(),
            expected: "recompiles, guards, breaks, graphs, kernels, or all, separated by commas",
        }),
    }
}

/// Tells of an event. `loud`: whether the configuration asks for it.
pub(crate) fn tell(rung: Rung, loud: bool, text: impl FnOnce() -> String) {
    let (_, _, target) = RUNGS[rung as usize];
    let named = asked().as_ref().is_ok_and(|a| a[rung as usize]);
    let level = match (named || loud, rung) {
        (true, Rung::Recompiles) => log::Level::Warn,
        (true, _) => log::Level::Info,
        (false, _) => log::Level::Debug,
    };
    if log::log_enabled!(target: target, level) {
        log::log!(target: target, level, "{}", text());
    } else if (named || loud) && log::max_level() == log::LevelFilter::Off {
        eprintln!("[{target}] {}", text());
    }
}

/// Warns, also a program that has no logger.
pub(crate) fn warn(text: impl std::fmt::Display) {
    log::warn!(target: "tensorplay", "{text}");
    if log::max_level() == log::LevelFilter::Off {
        eprintln!("[tensorplay] {text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kinds() {
        assert_eq!(
            parse("recompiles, kernels,"),
            Ok([true, false, false, false, true])
        );
        assert_eq!(parse("all"), Ok([true; 5]));
        assert_eq!(parse("guard"), Err("guard".into()));
        for (i, (rung, name, target)) in RUNGS.iter().enumerate() {
            assert_eq!(*rung as usize, i);
            assert!(target.ends_with(name));
        }
    }
}
