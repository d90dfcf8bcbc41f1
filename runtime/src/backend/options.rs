//! `CompileOptions`: what a backend is told beside the graph.

use crate::{Error, Result};
use std::collections::BTreeMap;
use std::fmt;
use tensorplay_graph::{COMPILE_OPTIONS, CompileOption, Mode, compile_option};

/// The value of an option.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum OptionValue {
    /// On or off.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A string.
    Str(String),
}

impl From<bool> for OptionValue {
    fn from(v: bool) -> OptionValue {
        OptionValue::Bool(v)
    }
}

impl From<i64> for OptionValue {
    fn from(v: i64) -> OptionValue {
        OptionValue::Int(v)
    }
}

impl From<&str> for OptionValue {
    fn from(v: &str) -> OptionValue {
        OptionValue::Str(v.into())
    }
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Bool(v) => write!(f, "{v}"),
            OptionValue::Int(v) => write!(f, "{v}"),
            OptionValue::Str(v) => write!(f, "{v:?}"),
        }
    }
}

/// What the user asked for, as far as it was written.
///
/// ```
/// # mod tensorplay { pub use tensorplay_runtime::*; pub mod prelude { pub use tensorplay_runtime::*; } }
/// use tensorplay::compiler::{CompileOptions, Mode};
/// let mut o = CompileOptions { mode: Some(Mode::MaxAutotune), ..CompileOptions::default() };
/// o.options.insert("cudagraphs".into(), false.into());
/// let all = o.resolved()?;
/// assert!(all["max_autotune"] && !all["cudagraphs"]);
/// # Ok::<(), tensorplay::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompileOptions {
    /// `name = ".."`.
    pub name: Option<String>,
    /// `mode = ".."`.
    pub mode: Option<Mode>,
    /// `options(..)`.
    pub options: BTreeMap<String, OptionValue>,
    /// Whether sizes other than 0 and 1 differ between calls.
    pub dynamic: bool,
    /// Whether anything but native code is an error.
    pub strict_native: bool,
}

impl CompileOptions {
    /// Every option of the built-in compiler: its default, then what the mode turns on, then what is set.
    ///
    /// # Errors
    /// A name that is no option's, or a value that is no bool.
    pub fn resolved(&self) -> Result<BTreeMap<String, bool>> {
        let mut all = defaults(|o| o.default);
        for name in self.mode.iter().flat_map(|m| m.patch()) {
            all.insert((*name).into(), true);
        }
        for (name, value) in &self.options {
            let Some(option) = compile_option(name) else {
                let known = COMPILE_OPTIONS.iter().map(|o| o.name);
                return Err(Error::InvalidOption {
                    option: name.clone(),
                    message: "there is no such option".into(),
                    help: format!("the options are {}", known.collect::<Vec<_>>().join(", ")),
                });
            };
            match value {
                OptionValue::Bool(on) => all.insert(option.name.into(), *on),
                other => {
                    return Err(Error::InvalidOption {
                        option: name.clone(),
                        message: format!("options must be bool values, got {other}"),
                        help: format!("write {name} = true, or {name} = false"),
                    });
                }
            };
        }
        Ok(all)
    }
}

fn defaults(value: impl Fn(&CompileOption) -> bool) -> BTreeMap<String, bool> {
    COMPILE_OPTIONS
        .iter()
        .map(|o| (o.name.to_string(), value(o)))
        .collect()
}

/// The options that a mode changes; without a mode, every option with its default.
///
/// ```
/// # mod tensorplay { pub use tensorplay_runtime::*; pub mod prelude { pub use tensorplay_runtime::*; } }
/// use tensorplay::compiler::list_mode_options;
/// assert!(list_mode_options(Some("reduce-overhead"))?["cudagraphs"]);
/// assert!(!list_mode_options(None)?["cudagraphs"]);
/// # Ok::<(), tensorplay::Error>(())
/// ```
///
/// # Errors
/// A name that is no mode's.
pub fn list_mode_options(mode: Option<&str>) -> Result<BTreeMap<String, bool>> {
    let Some(name) = mode else {
        return Ok(defaults(|o| o.default));
    };
    let mode: Mode = name
        .parse()
        .map_err(|e: tensorplay_graph::UnknownMode| Error::InvalidOption {
            option: "mode".into(),
            message: e.to_string(),
            help: "list_mode_options(None) has every option".into(),
        })?;
    Ok(mode.patch().iter().map(|o| ((*o).into(), true)).collect())
}
