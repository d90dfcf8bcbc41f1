//! The name of an artefact: a hash of everything that it depends on.
//!
//! Problem: two inputs with one name would run the wrong code; one input with two names would compile twice. Method:
//! SHA-256 over a list of fields, each behind its length, lists behind their counts; options are ordered by name.
//! Invariants: different inputs are different byte strings under the hash; the order in which options are named does
//! not matter, that of sources and of several values of one option does; another version of this crate, or of the
//! format, has other names.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Of the fields under the hash and of the files' layout.
pub(super) const FORMAT: u32 = 1;

/// What an artefact depends on; prints as 64 hex digits.
///
/// ```
/// # extern crate tensorplay_runtime as tensorplay;
/// use tensorplay::compiler::CacheKey;
///
/// let key = CacheKey::new("cuda", "gelu").source("void gelu() {}").option("arch", "sm_90").option("fast", true);
/// let same = CacheKey::new("cuda", "gelu").option("fast", true).option("arch", "sm_90").source("void gelu() {}");
/// assert_eq!(key, same);
/// assert_ne!(key, same.clone().option("arch", "sm_80"));
/// assert_ne!(key, same.tag("nightly"));
/// assert_eq!(key.to_string().len(), 64);
/// ```
#[derive(Clone)]
pub struct CacheKey {
    backend: String,
    entry: String,
    tag: String,
    options: BTreeMap<String, Vec<String>>,
    sources: Sha256,
    count: u64,
}

fn field(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

impl CacheKey {
    /// The key of the function `entry`, compiled by `backend`.
    ///
    /// ```
    /// # extern crate tensorplay_runtime as tensorplay;
    /// use tensorplay::compiler::CacheKey;
    ///
    /// assert_ne!(CacheKey::new("cuda", "gelu"), CacheKey::new("tvm", "gelu"));
    /// ```
    pub fn new(backend: &str, entry: &str) -> CacheKey {
        CacheKey {
            backend: backend.into(),
            entry: entry.into(),
            tag: crate::config::config().cache_key_tag,
            options: BTreeMap::new(),
            sources: Sha256::new(),
            count: 0,
        }
    }

    /// Another source: text, a serialised graph, a header that it includes.
    ///
    /// ```
    /// # extern crate tensorplay_runtime as tensorplay;
    /// use tensorplay::compiler::CacheKey;
    ///
    /// let key = CacheKey::new("cuda", "f");
    /// assert_ne!(key.clone().source("a").source("b"), key.source("ab"));
    /// ```
    #[must_use]
    pub fn source(mut self, source: impl AsRef<[u8]>) -> CacheKey {
        field(&mut self.sources, source.as_ref());
        self.count += 1;
        self
    }

    /// A setting of the compiler: a flag, the device's architecture, a library's version. A name that is given again has
    /// both values, in this order.
    ///
    /// ```
    /// # extern crate tensorplay_runtime as tensorplay;
    /// use tensorplay::compiler::CacheKey;
    ///
    /// let key = CacheKey::new("cuda", "f").option("opt-level", 3);
    /// assert_ne!(key, CacheKey::new("cuda", "f").option("opt-level", 2));
    /// ```
    #[must_use]
    pub fn option(mut self, name: &str, value: impl fmt::Display) -> CacheKey {
        self.options
            .entry(name.into())
            .or_default()
            .push(value.to_string());
        self
    }

    /// Sets artefacts apart that are otherwise the same, such as those of two releases of an application.
    ///
    /// ```
    /// # extern crate tensorplay_runtime as tensorplay;
    /// use tensorplay::compiler::CacheKey;
    ///
    /// assert_ne!(CacheKey::new("cuda", "f").tag("v2"), CacheKey::new("cuda", "f"));
    /// ```
    #[must_use]
    pub fn tag(mut self, tag: &str) -> CacheKey {
        self.tag = tag.into();
        self
    }

    fn digest(&self) -> [u8; 32] {
        self.digest_of(FORMAT, env!("CARGO_PKG_VERSION"))
    }

    fn digest_of(&self, format: u32, version: &str) -> [u8; 32] {
        let mut hash = Sha256::new();
        field(&mut hash, b"tensorplay code cache");
        hash.update(format.to_le_bytes());
        for text in [version, &self.backend, &self.entry, &self.tag] {
            field(&mut hash, text.as_bytes());
        }
        hash.update((self.options.len() as u64).to_le_bytes());
        for (name, values) in &self.options {
            field(&mut hash, name.as_bytes());
            hash.update((values.len() as u64).to_le_bytes());
            values.iter().for_each(|v| field(&mut hash, v.as_bytes()));
        }
        hash.update(self.count.to_le_bytes());
        hash.update(self.sources.clone().finalize());
        hash.finalize().into()
    }
}

impl fmt::Display for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digit = |d: u8| char::from(b"0123456789abcdef"[usize::from(d)]);
        let hex: String = self
            .digest()
            .iter()
            .flat_map(|b| [digit(b >> 4), digit(b & 15)])
            .collect();
        f.write_str(&hex)
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CacheKey({}/{} {self})", self.backend, self.entry)
    }
}

impl PartialEq for CacheKey {
    fn eq(&self, other: &CacheKey) -> bool {
        self.digest() == other.digest()
    }
}

impl Eq for CacheKey {}

impl Hash for CacheKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn key() -> CacheKey {
        CacheKey::new("cuda", "f")
    }

    #[test]
    fn inputs_that_concatenate_alike_differ() {
        let keys = [
            ("plain", key()),
            ("backend", CacheKey::new("tvm", "f")),
            ("backend takes a byte", CacheKey::new("cudaf", "")),
            ("entry takes a byte", CacheKey::new("cud", "af")),
            ("entry", CacheKey::new("cuda", "g")),
            ("tag", key().tag("t")),
            ("empty source", key().source("")),
            ("empty sources", key().source("").source("")),
            ("source", key().source("ab")),
            ("sources", key().source("a").source("b")),
            ("sources, other order", key().source("b").source("a")),
            ("source with an empty one", key().source("ab").source("")),
            ("bytes", key().source([0xff, 0])),
            ("option", key().option("a", "bc")),
            ("name takes a byte", key().option("ab", "c")),
            ("empty value", key().option("a", "")),
            ("empty name", key().option("", "a")),
            ("two values", key().option("a", "b").option("a", "c")),
            ("two values, other order", key().option("a", "c").option("a", "b")),
            ("two options", key().option("a", "").option("bc", "")),
            ("option and source", key().option("a", "b").source("c")),
            ("source and tag", key().source("a").tag("b")),
            (
                "looks like a length",
                key().source([1, 0, 0, 0, 0, 0, 0, 0, b'a']),
            ),
        ];
        let mut seen = HashMap::new();
        for (what, key) in &keys {
            if let Some(other) = seen.insert(key.to_string(), what) {
                panic!("{what} has the name of {other}");
            }
        }
    }

    #[test]
    fn order_of_options_does_not_matter() {
        let names = ["arch", "fast", "opt-level", "std"];
        let add = |k: CacheKey, i: usize| k.option(names[i], i);
        let sorted = (0..4).fold(key(), add).source("s");
        for code in 0..256 {
            let order = [code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6];
            if (0..4).all(|i| order.contains(&i)) {
                assert_eq!(
                    order.into_iter().fold(key().source("s"), add),
                    sorted,
                    "{order:?}"
                );
            }
        }
    }

    #[test]
    fn versions_have_names_of_their_own() {
        let k = key().source("s");
        assert_ne!(k.digest_of(1, "0.1.0"), k.digest_of(2, "0.1.0"));
        assert_ne!(k.digest_of(1, "0.1.0"), k.digest_of(1, "0.1.1"));
        assert_eq!(k.digest(), k.digest_of(FORMAT, env!("CARGO_PKG_VERSION")));
    }
}
