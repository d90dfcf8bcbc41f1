//! `Config`: what users can change for the whole process.
//!
//! Every field is a row of [`fields`]: its type, its default, the environment variable that sets it at the start, what it
//! does. It is read when a call is bound; calls that find their plan read nothing.

use crate::{Error, Result};
use std::sync::{LazyLock, PoisonError, RwLock};

/// The value of a variable.
trait Value: Sized {
    const EXPECTED: &'static str;
    fn parse(text: &str) -> Option<Self>;
}

impl Value for bool {
    const EXPECTED: &'static str = "0 or 1";
    fn parse(text: &str) -> Option<bool> {
        match text {
            "1" | "true" => Some(true),
            "0" | "false" => Some(false),
            _ => None,
        }
    }
}

impl Value for Option<bool> {
    const EXPECTED: &'static str = "0 or 1";
    fn parse(text: &str) -> Option<Self> {
        bool::parse(text).map(Some)
    }
}

impl Value for usize {
    const EXPECTED: &'static str = "an integer above 0";
    fn parse(text: &str) -> Option<usize> {
        text.parse().ok().filter(|n| *n > 0)
    }
}

impl Value for String {
    const EXPECTED: &'static str = "a string";
    fn parse(text: &str) -> Option<String> {
        Some(text.into())
    }
}

macro_rules! fields {
    ($($(#[doc = $doc:literal])+ $name:ident: $ty:ty = $default:expr, $env:literal;)*) => {
        /// What users can change for the whole process; see [`config_mut`].
        #[derive(Clone, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        pub struct Config {
            $($(#[doc = $doc])+ ///
            #[doc = concat!("Set at the start by `", $env, "`.")]
            pub $name: $ty,)*
        }

        impl Default for Config {
            fn default() -> Config {
                Config { $($name: $default),* }
            }
        }

        impl Config {
            /// The defaults with what the environment sets, and the first variable whose value is invalid.
            fn from_env(get: impl Fn(&str) -> Option<String>) -> (Config, Option<Wrong>) {
                let mut config = Config::default();
                let mut wrong = None;
                $(match get($env).filter(|text| !text.is_empty()) {
                    None => {}
                    Some(text) => match <$ty as Value>::parse(text.trim()) {
                        Some(value) => config.$name = value,
                        None => {
                            let found = Wrong { variable: $env, value: text, expected: <$ty as Value>::EXPECTED };
                            wrong.get_or_insert(found);
                        }
                    },
                })*
                (config, wrong)
            }

            /// Takes over the fields in which `new` is not `old`.
            fn change(&mut self, old: &Config, new: Config) {
                $(if new.$name != old.$name {
                    self.$name = new.$name;
                })*
            }
        }

        #[cfg(test)]
        const VARIABLES: &[&str] = &[$($env),*];
    };
}

fields! {
    /// Whether functions without `dynamic = ..` are dynamic; `None` leaves it to `assume_static_by_default`.
    dynamic_shapes: Option<bool> = None, "TENSORPLAY_DYNAMIC_SHAPES";
    /// Whether sizes are numbers in the keys of functions without `dynamic = ..`.
    assume_static_by_default: bool = true, "TENSORPLAY_ASSUME_STATIC";
    /// The live entries of a function that does not say `recompile_limit = ..`; 0 counts as 1.
    recompile_limit: usize = 8, "TENSORPLAY_RECOMPILE_LIMIT";
    /// The entries of a function since the start or the last reset after which it is reported as never settling.
    accumulated_recompile_limit: usize = 256, "TENSORPLAY_ACCUMULATED_RECOMPILE_LIMIT";
    /// Whether a call that needs one entry more than a limit is an error. Otherwise the coldest entry goes.
    fail_on_recompile_limit_hit: bool = false, "TENSORPLAY_FAIL_ON_RECOMPILE_LIMIT_HIT";
    /// Whether every recompilation is a warning, as with `TENSORPLAY_LOG=recompiles`.
    verbose: bool = false, "TENSORPLAY_VERBOSE";
    /// Whether code caches are left alone: everything is compiled, nothing is kept on disk.
    force_disable_caches: bool = false, "TENSORPLAY_FORCE_DISABLE_CACHES";
    /// A part of every key of the code caches.
    cache_key_tag: String = String::new(), "TENSORPLAY_CACHE_KEY_TAG";
}

/// A variable with an invalid value.
#[derive(Clone, Debug)]
struct Wrong {
    variable: &'static str,
    value: String,
    expected: &'static str,
}

impl From<Wrong> for Error {
    fn from(w: Wrong) -> Error {
        Error::Environment {
            variable: w.variable,
            value: w.value,
            expected: w.expected,
        }
    }
}

static CONFIG: LazyLock<RwLock<(Config, Option<Wrong>)>> = LazyLock::new(|| {
    let text = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
    RwLock::new(Config::from_env(text))
});

/// The configuration.
pub fn config() -> Config {
    CONFIG.read().unwrap_or_else(PoisonError::into_inner).0.clone()
}

/// The same, where an invalid variable is an error.
pub(crate) fn checked() -> Result<Config> {
    let state = CONFIG.read().unwrap_or_else(PoisonError::into_inner);
    match &state.1 {
        None => Ok(state.0.clone()),
        Some(wrong) => Err(wrong.clone().into()),
    }
}

/// Changes the configuration of the process. Entries that exist stay.
///
/// ```
/// # mod tensorplay { pub use tensorplay_runtime::*; pub mod prelude { pub use tensorplay_runtime::*; } }
/// use tensorplay::compiler::{config, config_mut};
/// config_mut(|c| c.recompile_limit = 16);
/// assert_eq!(config().recompile_limit, 16);
/// ```
pub fn config_mut(change: impl FnOnce(&mut Config)) {
    let old = config();
    let mut new = old.clone();
    // the lock is not held while the user's code runs: what others change meanwhile stays
    change(&mut new);
    let mut state = CONFIG.write().unwrap_or_else(PoisonError::into_inner);
    state.0.change(&old, new);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_set_fields() {
        let (config, wrong) = Config::from_env(|name| match name {
            "TENSORPLAY_RECOMPILE_LIMIT" => Some("3".into()),
            "TENSORPLAY_DYNAMIC_SHAPES" => Some("1".into()),
            "TENSORPLAY_VERBOSE" => Some(String::new()),
            _ => None,
        });
        assert!(wrong.is_none());
        assert_eq!((config.recompile_limit, config.dynamic_shapes), (3, Some(true)));
        assert!(!config.verbose);
        let (config, wrong) =
            Config::from_env(|name| Some(if name.ends_with("TAG") { "t" } else { "many" }.into()));
        assert_eq!(config.recompile_limit, 8);
        assert_eq!(wrong.map(|w| w.variable), Some("TENSORPLAY_DYNAMIC_SHAPES"));
    }

    #[test]
    fn changes_of_other_fields_stay() {
        let old = Config::default();
        let mut state = old.clone();
        state.cache_key_tag = "another's".into();
        let mut new = old.clone();
        new.recompile_limit = 3;
        state.change(&old, new);
        assert_eq!(
            (&state.cache_key_tag[..], state.recompile_limit),
            ("another's", 3)
        );
    }

    #[test]
    fn variables_are_told_apart() {
        for (i, name) in VARIABLES.iter().enumerate() {
            assert!(!VARIABLES[..i].contains(name) && name.starts_with("TENSORPLAY_"));
        }
    }

    #[test]
    fn the_table_has_every_field_and_option() {
        let table = include_str!("../../docs/configuration.md");
        let names = tensorplay_graph::COMPILE_OPTIONS.iter().map(|o| o.name);
        let modes = tensorplay_graph::Mode::ALL.map(|m| m.name());
        for name in VARIABLES.iter().copied().chain(names).chain(modes) {
            assert!(table.contains(&format!("`{name}`")), "{name}");
        }
    }
}
