//! `mode = ".."` and `options(..)`: the settings of a backend.

use super::parse::{suggest, unknown};
use super::table::{STAX, TVM};
use crate::diagnostic::{Diagnostic, code};
use proc_macro2::Ident;
use syn::{Lit, LitStr};

/// A set of options under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `"default"`: no option is on.
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
    pub fn name(self) -> &'static str {
        match self {
            Mode::Default => "default",
            Mode::ReduceOverhead => "reduce-overhead",
            Mode::MaxAutotune => "max-autotune",
            Mode::MaxAutotuneNoCudagraphs => "max-autotune-no-cudagraphs",
        }
    }

    pub(super) fn parse(written: &LitStr) -> Result<Mode, Diagnostic> {
        let text = written.value();
        Mode::ALL.into_iter().find(|m| m.name() == text).ok_or_else(|| {
            let d = Diagnostic::new(code::UNKNOWN_ARGUMENT, written, format!("unknown mode `{text}`"));
            suggest(d, "mode", &text, Mode::ALL.iter().map(|m| m.name()))
        })
    }
}

/// One of `options(..)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value; a name alone is `true`.
    pub value: SettingValue,
}

/// The value of a [`Setting`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingValue {
    /// On or off.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A string.
    Str(String),
}

/// Types what `options(..)` holds. The names of a backend that is not ours are its own.
pub(super) fn settings(
    backend: Option<&str>,
    written: Vec<(Ident, Option<Lit>)>,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Setting> {
    let known = match backend {
        None | Some("stax" | "cudagraphs") => Some(STAX),
        Some("tvm") => Some(TVM),
        Some(_) => None,
    };
    let mut out: Vec<Setting> = Vec::new();
    for (name, value) in written {
        if let Some(known) = known
            && !known.iter().any(|k| name == k)
        {
            problems.push(unknown("option", &name, known.iter().copied()));
            continue;
        }
        if out.iter().any(|s| name == s.name) {
            let message = format!("the option `{name}` is written twice");
            problems.push(Diagnostic::new(code::DUPLICATE_ARGUMENT, name, message).help("keep one"));
            continue;
        }
        let typed = match &value {
            None => Some(SettingValue::Bool(true)),
            Some(Lit::Bool(b)) => Some(SettingValue::Bool(b.value)),
            Some(Lit::Str(s)) => Some(SettingValue::Str(s.value())),
            Some(Lit::Int(i)) => i.base10_parse().ok().map(SettingValue::Int),
            Some(_) => None,
        };
        let (fits, what, example) = match (known, name == "target") {
            (Some(_), true) => (
                matches!(typed, Some(SettingValue::Str(_))),
                "a string",
                "\"llvm\"",
            ),
            (Some(_), false) => (matches!(typed, Some(SettingValue::Bool(_))), "a bool", "true"),
            (None, _) => (typed.is_some(), "a bool, an integer or a string", "true"),
        };
        match typed {
            Some(value) if fits => out.push(Setting {
                name: name.to_string(),
                value,
            }),
            _ => {
                let message = format!("the option `{name}` takes {what}");
                let d = match &value {
                    Some(v) => Diagnostic::new(code::ARGUMENT_TYPE, v, message),
                    None => Diagnostic::new(code::ARGUMENT_TYPE, &name, message),
                };
                problems.push(d.help(format!("write {name} = {example}")));
            }
        }
    }
    out
}
