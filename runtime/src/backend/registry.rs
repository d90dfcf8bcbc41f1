//! The registry: backends by name.
//!
//! Problem: a name has to mean one backend, wherever it comes from: built in, registered by hand, or submitted by a crate
//! that was linked. Method: a name that is owned (the first two) wins over a submission; every registration is a [`Slot`]
//! of its own with a number that is never used again, which is what keys of tables hold. Invariants: a slot makes its
//! backend once; no lock is held meanwhile; what was compiled by a backend that is gone is never run again.

use super::entry::{BackendCapabilities, BackendEntry, CONTRACT_VERSION};
use super::{Backend, failed, guarded};
use crate::reentry::{Inside, is_inside};
use crate::sync::lock;
use crate::{Error, Result};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};
use std::sync::{Arc, LazyLock, Mutex};
use tensorplay_graph::distance;

/// The name of the built-in compiler.
pub(crate) const STAX: &str = "stax";

/// A backend that is part of tensorplay.
#[doc(hidden)]
#[derive(Debug)]
pub struct BuiltIn(pub &'static BackendEntry);

/// A backend of another crate.
#[doc(hidden)]
#[derive(Debug)]
pub struct Submitted(pub &'static BackendEntry);

inventory::collect!(BuiltIn);
inventory::collect!(Submitted);

/// A registration.
#[derive(Debug)]
pub(crate) struct Slot {
    /// Never used again; 0 is the built-in compiler.
    pub id: u64,
    pub entry: &'static BackendEntry,
    /// A tag that registration added.
    tag: Option<&'static str>,
    built_in: bool,
    live: AtomicBool,
    /// Whether its name means it: changed under the lock of the names.
    in_force: AtomicBool,
    making: Mutex<()>,
    made: Mutex<Option<Made>>,
}

struct Made(Arc<dyn Backend>);

impl std::fmt::Debug for Made {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Made")
    }
}

impl Slot {
    fn new(entry: &'static BackendEntry, tag: Option<&'static str>, built_in: bool) -> &'static Slot {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = match built_in && entry.name == STAX {
            true => 0,
            false => NEXT.fetch_add(1, Relaxed),
        };
        // a registration leaves a few words behind; what it made is freed
        Box::leak(Box::new(Slot {
            id,
            entry,
            tag,
            built_in,
            live: AtomicBool::new(true),
            in_force: AtomicBool::new(true),
            making: Mutex::new(()),
            made: Mutex::new(None),
        }))
    }

    pub(crate) fn name(&self) -> &'static str {
        self.entry.name
    }

    pub(crate) fn is_live(&self) -> bool {
        self.live.load(Relaxed)
    }

    fn has_tag(&self, tag: &str) -> bool {
        self.tag == Some(tag) || self.entry.tags.contains(&tag)
    }

    /// The backend, made if it was not yet.
    pub(crate) fn backend(&'static self) -> Result<Arc<dyn Backend>> {
        check(self.entry)?;
        let made = || lock(&self.made).as_ref().map(|m| m.0.clone());
        if let Some(backend) = made() {
            return Ok(backend);
        }
        if is_inside(self) {
            return Err(failed(
                self.name(),
                "BackendEntry::make",
                Error::msg("it looks itself up while it is made"),
            ));
        }
        let _turn = lock(&self.making);
        if let Some(backend) = made() {
            return Ok(backend);
        }
        let _making = Inside::of(self);
        let make = guarded(self.entry.make).map_err(|e| failed(self.name(), "BackendEntry::make", e))?;
        let backend: Arc<dyn Backend> = make.into();
        let mut made = lock(&self.made);
        // `retire` takes what is there after it marked the slot
        if self.is_live() {
            *made = Some(Made(backend.clone()));
        }
        Ok(backend)
    }

    fn retire(&self) {
        self.live.store(false, Relaxed);
        // dropped after the lock is released
        let _made = lock(&self.made).take();
    }
}

/// Whether a backend can be had here.
fn check(entry: &BackendEntry) -> Result<()> {
    let unavailable = |message: String, help: String| {
        Err(Error::BackendUnavailable {
            name: entry.name.into(),
            message,
            help,
        })
    };
    let c = &entry.capabilities;
    let missing = c.missing();
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|d| d.name).collect();
        let installs: Vec<&str> = missing.iter().map(|d| d.install).collect();
        return unavailable(
            format!("needs {}", names.join(", ")),
            format!("install with `{}`", installs.join("` and `")),
        );
    }
    if c.contract_version > CONTRACT_VERSION {
        return unavailable(
            format!(
                "is written for revision {} of the backend contract, this tensorplay has {CONTRACT_VERSION}",
                c.contract_version
            ),
            "upgrade tensorplay".into(),
        );
    }
    let present = env!("CARGO_PKG_VERSION");
    let core = version(present).unwrap_or_default();
    let bounds = [
        (
            c.min_core_version,
            Ordering::Less,
            "requires tensorplay >=",
            "upgrade tensorplay",
        ),
        (
            c.max_core_version,
            Ordering::Greater,
            "supports tensorplay <=",
            "upgrade the backend",
        ),
    ];
    for (bound, outside, says, help) in bounds {
        let Some(bound) = bound else { continue };
        match version(bound) {
            None => {
                let message = format!("declares the core version `{bound}`, which is none");
                return unavailable(message, "write a version as \"1.2.3\"".into());
            }
            Some(v) if core.cmp(&v) == outside => {
                return unavailable(format!("{says} {bound}, this is {present}"), help.into());
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Major, minor, patch.
fn version(text: &str) -> Option<[u64; 3]> {
    let core = text.split(['-', '+']).next()?;
    let mut parts = core.split('.').map(|p| p.parse::<u64>().ok());
    let mut next = || parts.next().unwrap_or(Some(0));
    Some([next()?, next()?, next()?])
}

#[derive(Debug, Default)]
struct Names {
    owned: BTreeMap<&'static str, &'static Slot>,
    submitted: BTreeMap<&'static str, &'static Slot>,
}

impl Names {
    fn get(&self, name: &str) -> Option<&'static Slot> {
        self.owned.get(name).or_else(|| self.submitted.get(name)).copied()
    }

    fn slot(&self, name: &str) -> Result<&'static Slot> {
        self.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.all().map(|s| s.name()).collect();
            Error::InvalidBackend {
                name: name.into(),
                suggestions: nearest(name, &known),
            }
        })
    }

    fn all(&self) -> impl Iterator<Item = &'static Slot> {
        let hidden = |name: &&str| !self.owned.contains_key(*name);
        let submitted = self.submitted.iter().filter(move |(name, _)| hidden(name));
        self.owned.values().copied().chain(submitted.map(|(_, s)| *s))
    }
}

static NAMES: LazyLock<Mutex<Names>> = LazyLock::new(|| {
    let mut names = Names::default();
    for BuiltIn(entry) in inventory::iter::<BuiltIn> {
        names.owned.insert(entry.name, Slot::new(entry, None, true));
    }
    for Submitted(entry) in inventory::iter::<Submitted> {
        let name = entry.name;
        if names.get(name).is_some() {
            log::warn!(target: "tensorplay",
                "the submitted backend `{name}` is ignored: the name is taken"
            );
            continue;
        }
        names.submitted.insert(name, Slot::new(entry, None, false));
    }
    Mutex::new(names)
});

/// The backend of functions that name none; null is the built-in compiler. Changed under the lock of the names.
static DEFAULT: AtomicPtr<Slot> = AtomicPtr::new(std::ptr::null_mut());

/// The default, unless it is the built-in compiler.
#[inline]
pub(crate) fn default_slot() -> Option<&'static Slot> {
    let slot = DEFAULT.load(Acquire);
    // SAFETY: null, or a slot that was leaked.
    unsafe { slot.as_ref() }
}

/// The registration that a name means, found without a lock while it is the same.
#[derive(Debug)]
pub(crate) struct Remembered(AtomicPtr<Slot>);

impl Remembered {
    pub(crate) const fn new() -> Remembered {
        Remembered(AtomicPtr::new(std::ptr::null_mut()))
    }

    #[inline]
    pub(crate) fn get(&self, find: impl FnOnce() -> Result<&'static Slot>) -> Result<&'static Slot> {
        // SAFETY: null, or a slot that was leaked.
        if let Some(slot) = unsafe { self.0.load(Acquire).as_ref() }
            && slot.in_force.load(Acquire)
        {
            return Ok(slot);
        }
        let slot = find()?;
        self.0.store(std::ptr::from_ref(slot).cast_mut(), Release);
        Ok(slot)
    }
}

/// The registration under a name.
///
/// # Errors
/// The name is not registered.
pub(crate) fn slot(name: &str) -> Result<&'static Slot> {
    lock(&NAMES).slot(name)
}

/// Which of these numbers are of registrations that are gone.
pub(crate) fn gone(ids: &[u64]) -> Vec<u64> {
    let names = lock(&NAMES);
    let here = |id: u64| {
        id == 0
            || names
                .owned
                .values()
                .chain(names.submitted.values())
                .any(|s| s.id == id)
    };
    ids.iter().copied().filter(|id| !here(*id)).collect()
}

/// Up to two names that resemble one.
fn nearest(name: &str, known: &[&'static str]) -> Vec<String> {
    let mut close: Vec<(usize, &str)> = known
        .iter()
        .map(|k| (distance(name, k), *k))
        .filter(|(d, k)| *d <= (k.len().max(name.len()) / 3).max(1))
        .collect();
    close.sort_unstable();
    close.into_iter().take(2).map(|(_, k)| k.to_string()).collect()
}

fn register(entry: &'static BackendEntry, tag: Option<&'static str>) -> Result<()> {
    let refused = |message: &str, help: &str| {
        Err(Error::BackendUnavailable {
            name: entry.name.into(),
            message: message.into(),
            help: help.into(),
        })
    };
    if entry.name.trim().is_empty() {
        return refused("a backend needs a name", "set the `name` of its entry");
    }
    let mut names = lock(&NAMES);
    if let Some(there) = names.owned.get(entry.name) {
        let help = match there.built_in {
            true => "it is built in and stays: register yours under another name",
            false => "register it under another name, or call unregister_backend(..) first",
        };
        return refused("a backend of this name is already registered", help);
    }
    if let Some(hidden) = names.submitted.get(entry.name) {
        hidden.in_force.store(false, Release);
    }
    names.owned.insert(entry.name, Slot::new(entry, tag, false));
    Ok(())
}

/// Registers a backend under its name. A submitted backend of that name is hidden until this one is unregistered.
///
/// # Errors
/// The name is empty, or owned.
pub fn register_backend(entry: &'static BackendEntry) -> Result<()> {
    register(entry, None)
}

/// The same with the tag `debug`.
///
/// # Errors
/// See [`register_backend`].
pub fn register_debug_backend(entry: &'static BackendEntry) -> Result<()> {
    register(entry, Some("debug"))
}

/// The same with the tag `experimental`.
///
/// # Errors
/// See [`register_backend`].
pub fn register_experimental_backend(entry: &'static BackendEntry) -> Result<()> {
    register(entry, Some("experimental"))
}

/// Takes a name back, unless it is built in or nobody's; the number of the registration that is gone.
pub(crate) fn unregister(name: &str) -> Option<u64> {
    let slot = {
        let mut names = lock(&NAMES);
        let slot = names.owned.get(name).copied().filter(|s| !s.built_in)?;
        names.owned.remove(name);
        slot.in_force.store(false, Release);
        if let Some(hidden) = names.submitted.get(name) {
            hidden.in_force.store(true, Release);
        }
        if default_slot().is_some_and(|d| d.id == slot.id) {
            DEFAULT.store(std::ptr::null_mut(), Release);
        }
        slot
    };
    slot.retire();
    Some(slot.id)
}

/// What [`list_backends`] lists.
#[derive(Clone, Copy, Debug)]
pub struct ListBackends<'a> {
    /// Backends with one of these tags are left out.
    pub exclude_tags: &'a [&'a str],
    /// Whether those are listed whose dependencies are missing.
    pub include_unavailable: bool,
}

impl Default for ListBackends<'_> {
    fn default() -> Self {
        ListBackends {
            exclude_tags: &["debug", "experimental"],
            include_unavailable: false,
        }
    }
}

/// The names of backends, sorted.
///
/// ```
/// # mod tensorplay { pub use tensorplay_runtime::*; pub mod prelude { pub use tensorplay_runtime::*; } }
/// use tensorplay::compiler::{ListBackends, list_backends};
/// let all = ListBackends { exclude_tags: &[], include_unavailable: true };
/// assert!(list_backends(ListBackends::default()).iter().all(|b| list_backends(all).contains(b)));
/// ```
pub fn list_backends(what: ListBackends<'_>) -> Vec<String> {
    let slots: Vec<&Slot> = lock(&NAMES).all().collect();
    let mut listed: Vec<String> = slots
        .into_iter()
        .filter(|s| !what.exclude_tags.iter().any(|t| s.has_tag(t)))
        .filter(|s| what.include_unavailable || s.entry.capabilities.missing().is_empty())
        .map(|s| s.name().to_string())
        .collect();
    listed.sort();
    listed
}

/// The backend of a name, made if this is the first look-up.
///
/// # Errors
/// In this order: the name is unknown ([`Error::InvalidBackend`]); a dependency is missing, the backend is written for a later
/// contract, or for an earlier or later tensorplay ([`Error::BackendUnavailable`]); it cannot be made.
pub fn lookup_backend(name: &str) -> Result<Arc<dyn Backend>> {
    slot(name)?.backend()
}

/// Makes a backend the one of functions that name none; `None` is `"stax"` again.
///
/// # Errors
/// See [`lookup_backend`].
pub fn set_default_backend<'a>(name: impl Into<Option<&'a str>>) -> Result<()> {
    let name = name.into().unwrap_or(STAX);
    let made = slot(name)?;
    made.backend()?;
    let names = lock(&NAMES);
    // the name may be nobody's by now, or another's
    let slot = names.slot(name)?;
    let default = match slot.id == made.id {
        true if slot.id == 0 => std::ptr::null_mut(),
        true => std::ptr::from_ref(slot).cast_mut(),
        false => {
            drop(names);
            return set_default_backend(name);
        }
    };
    DEFAULT.store(default, Release);
    Ok(())
}

/// The name of the backend of functions that name none.
pub fn get_default_backend() -> String {
    default_slot().map_or(STAX, Slot::name).to_string()
}

/// What a backend declares, available or not.
///
/// # Errors
/// The name is unknown.
pub fn get_backend_capabilities(name: &str) -> Result<BackendCapabilities> {
    Ok(slot(name)?.entry.capabilities)
}

/// Calls `reset` of every backend that was made.
pub(crate) fn reset() {
    let slots: Vec<&Slot> = {
        let names = lock(&NAMES);
        let hidden = names.submitted.values().copied();
        let mut all: Vec<&Slot> = names.all().chain(hidden).collect();
        all.sort_by_key(|s| s.id);
        all.dedup_by_key(|s| s.id);
        all
    };
    for slot in slots {
        let made = lock(&slot.made).as_ref().map(|m| m.0.clone());
        if let Some(backend) = made {
            let reset = guarded(|| {
                backend.reset();
                Ok(())
            });
            if let Err(e) = reset {
                log::warn!(target: "tensorplay", "backend `{}`: reset: {e}", slot.name());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_resemble() {
        let known = ["stax", "eager", "eager_debug", "cudagraphs"];
        assert_eq!(nearest("staxx", &known), ["stax"]);
        assert_eq!(nearest("stx", &known), ["stax"]);
        assert_eq!(nearest("eagre", &known), ["eager"]);
        assert_eq!(nearest("eggar", &known), [""; 0]);
        assert_eq!(nearest("onnx", &known), [""; 0]);
    }

    #[test]
    fn versions_are_numbers() {
        assert!(version("0.10.0") > version("0.9.12"));
        assert_eq!(version("1.2.3-beta.1"), Some([1, 2, 3]));
        assert_eq!(version("2"), Some([2, 0, 0]));
        assert_eq!(version("next"), None);
    }
}
