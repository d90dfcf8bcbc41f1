//! `Settings`: what the attribute of a compiled function says about its calls.

use crate::backend::registry::{self, Slot};
use crate::backend::{BackendEntry, CompileOptions, OptionValue};
use crate::config::Config;
use crate::{Error, Result};
use tensorplay_graph::Mode;

/// How an attribute names a backend.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Named {
    Name(&'static str),
    /// By its entry, registered or not.
    Entry(&'static BackendEntry),
}

/// The value of an option in an attribute.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Setting {
    /// On or off.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A string.
    Str(&'static str),
}

impl From<Setting> for OptionValue {
    fn from(s: Setting) -> OptionValue {
        match s {
            Setting::Bool(v) => OptionValue::Bool(v),
            Setting::Int(v) => OptionValue::Int(v),
            Setting::Str(v) => OptionValue::Str(v.into()),
        }
    }
}

/// What the attribute says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub name: Option<&'static str>,
    pub backend: Option<Named>,
    pub mode: Option<Mode>,
    pub options: &'static [(&'static str, Setting)],
    pub dynamic: Option<bool>,
    pub recompile_limit: Option<usize>,
    /// Whether one entry more than the limit is an error.
    pub fails_at_limit: bool,
    /// Whether the last number of a call is the address of its instance.
    pub isolated: bool,
    pub strict_native: bool,
}

impl Settings {
    pub(super) const fn new() -> Settings {
        Settings {
            name: None,
            backend: None,
            mode: None,
            options: &[],
            dynamic: None,
            recompile_limit: None,
            fails_at_limit: false,
            isolated: false,
            strict_native: false,
        }
    }

    pub(super) fn is_dynamic(&self, config: &Config) -> bool {
        let of_process = config.dynamic_shapes.unwrap_or(!config.assume_static_by_default);
        self.dynamic.unwrap_or(of_process)
    }

    pub(super) fn limit(&self, config: &Config) -> usize {
        self.recompile_limit.unwrap_or(config.recompile_limit).max(1)
    }

    /// What a backend is told.
    pub(super) fn options(&self, dynamic: bool) -> CompileOptions {
        let options = self.options.iter();
        CompileOptions {
            name: self.name.map(Into::into),
            mode: self.mode,
            options: options.map(|(k, v)| ((*k).into(), (*v).into())).collect(),
            dynamic,
            strict_native: self.strict_native,
        }
    }
}

impl Named {
    /// The registration. An entry that is not registered is, under its name.
    pub(crate) fn slot(self) -> Result<&'static Slot> {
        match self {
            Named::Name(name) => registry::slot(name),
            Named::Entry(entry) => match registry::slot(entry.name) {
                Ok(slot) if std::ptr::eq(slot.entry, entry) => Ok(slot),
                Ok(_) => Err(Error::BackendUnavailable {
                    name: entry.name.into(),
                    message: "the name is another backend's".into(),
                    help: "give the entry that the attribute names a name of its own".into(),
                }),
                Err(_) => {
                    // another thread may have been faster
                    let registered = registry::register_backend(entry);
                    registry::slot(entry.name).map_err(|e| registered.err().unwrap_or(e))
                }
            },
        }
    }
}
