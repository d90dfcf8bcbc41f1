//! `backend = ..`, `mode = ".."` and `options(..)`: the settings of a backend.

use super::parse::{suggest, unknown};
use super::table::TVM;
use crate::diagnostic::{Diagnostic, code};
use proc_macro2::{Ident, TokenStream};
use syn::parse::Parser;
use syn::{Lit, LitStr, Path};
use tensorplay_graph::{COMPILE_OPTIONS, Mode};

/// How `backend = ..` names a backend.
#[derive(Clone, Debug)]
pub enum BackendName {
    /// By the name that it is registered under.
    Name(String),
    /// By the path of its entry, a `static`.
    Entry(Path),
}

impl BackendName {
    pub(super) fn parse(written: &TokenStream) -> Option<BackendName> {
        if let Ok(name) = syn::parse2::<LitStr>(written.clone()) {
            return Some(BackendName::Name(name.value()));
        }
        let path = Path::parse_mod_style.parse2(written.clone());
        path.ok().map(BackendName::Entry)
    }
}

/// The value of `mode = ".."`.
pub(super) fn mode(written: &LitStr) -> Result<Mode, Diagnostic> {
    let text = written.value();
    text.parse().map_err(|_| {
        let d = Diagnostic::new(code::UNKNOWN_ARGUMENT, written, format!("unknown mode `{text}`"));
        suggest(d, "mode", &text, Mode::ALL.iter().map(|m| m.name()))
    })
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
    backend: Option<&BackendName>,
    written: Vec<(Ident, Option<Lit>)>,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Setting> {
    let backend = match backend {
        None => Some("stax"),
        Some(BackendName::Name(name)) => Some(name.as_str()),
        Some(BackendName::Entry(_)) => None,
    };
    let own = matches!(backend, Some("stax" | "cudagraphs"));
    let known: Option<Vec<&str>> = match backend {
        _ if own => Some(COMPILE_OPTIONS.iter().map(|o| o.name).collect()),
        Some("tvm") => Some(TVM.to_vec()),
        _ => None,
    };
    let mut out: Vec<Setting> = Vec::new();
    for (name, value) in written {
        if let Some(known) = &known
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
        let (fits, what, example) = match (&known, name == "target") {
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
