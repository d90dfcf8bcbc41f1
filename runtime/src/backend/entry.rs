//! `BackendEntry`: a backend before it is made, and what it needs.

use super::Backend;
use crate::Result;
use std::fmt;

/// The revision of the contract between dispatch and [`Backend`].
pub const CONTRACT_VERSION: u32 = 1;

/// A library or tool that a backend uses if it is there.
#[derive(Clone, Copy, Debug)]
pub struct Dependency {
    /// Its name.
    pub name: &'static str,
    /// The command that installs it.
    pub install: &'static str,
    /// Whether it is there.
    pub available: fn() -> bool,
}

/// What a backend declares about itself.
#[derive(Clone, Copy, Debug)]
pub struct BackendCapabilities {
    /// What has to be installed.
    pub optional_deps: &'static [Dependency],
    /// The revision of the contract that it was written for.
    pub contract_version: u32,
    /// The first version of tensorplay that it works with.
    pub min_core_version: Option<&'static str>,
    /// The last version of tensorplay that it works with.
    pub max_core_version: Option<&'static str>,
}

impl Default for BackendCapabilities {
    fn default() -> Self {
        BackendCapabilities::new()
    }
}

impl BackendCapabilities {
    /// No dependencies, the present contract, any version of tensorplay.
    pub const fn new() -> BackendCapabilities {
        BackendCapabilities {
            optional_deps: &[],
            contract_version: CONTRACT_VERSION,
            min_core_version: None,
            max_core_version: None,
        }
    }

    /// With what has to be installed.
    #[must_use]
    pub const fn optional_deps(mut self, deps: &'static [Dependency]) -> Self {
        self.optional_deps = deps;
        self
    }

    /// For that revision of the contract.
    #[must_use]
    pub const fn contract_version(mut self, version: u32) -> Self {
        self.contract_version = version;
        self
    }

    /// For that version of tensorplay and later ones.
    #[must_use]
    pub const fn min_core_version(mut self, version: &'static str) -> Self {
        self.min_core_version = Some(version);
        self
    }

    /// For that version of tensorplay and earlier ones.
    #[must_use]
    pub const fn max_core_version(mut self, version: &'static str) -> Self {
        self.max_core_version = Some(version);
        self
    }

    /// The dependencies that are not there.
    pub fn missing(&self) -> Vec<&'static Dependency> {
        self.optional_deps.iter().filter(|d| !(d.available)()).collect()
    }
}

/// A backend by name. It is made when it is looked up first.
#[derive(Clone, Copy)]
pub struct BackendEntry {
    /// The name.
    pub name: &'static str,
    /// `debug` and `experimental` hide it from [`list_backends`](super::list_backends).
    pub tags: &'static [&'static str],
    /// What it needs.
    pub capabilities: BackendCapabilities,
    /// Makes it.
    pub make: fn() -> Result<Box<dyn Backend>>,
}

impl fmt::Debug for BackendEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackendEntry")
            .field("name", &self.name)
            .field("tags", &self.tags)
            .finish_non_exhaustive()
    }
}
