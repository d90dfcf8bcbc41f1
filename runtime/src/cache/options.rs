//! Where a cache is, and how large it may be.
//!
//! Problem: the user decides this from outside, the application from inside. Method: values from the environment, which
//! setters replace. Invariant: an invalid variable is a warning, and the default holds.

use super::{CodeCache, root};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

const SIZE: &str = "TENSORPLAY_CACHE_SIZE";
const MIB: u64 = 1 << 20;

/// Settings of a [`CodeCache`].
///
/// ```
/// # extern crate tensorplay_runtime as tensorplay;
/// use tensorplay::compiler::{CacheKey, CacheOptions};
///
/// # let root = std::env::temp_dir().join(format!("tensorplay-doc-options-{}", std::process::id()));
/// let cache = CacheOptions::new().root(&root).max_bytes(64 << 20).open("cuda");
/// cache.put(&CacheKey::new("cuda", "f"), "cubin", b"code");
/// assert!(root.join("kernels/cuda").is_dir());
/// # std::fs::remove_dir_all(&root)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    pub(super) root: Option<PathBuf>,
    pub(super) max_bytes: u64,
    pub(super) disabled: bool,
}

impl CacheOptions {
    /// What the environment says: the folder `TENSORPLAY_CACHE_DIR`, by default `tensorplay` in the user's cache
    /// folder, and `TENSORPLAY_CACHE_SIZE` in MiB, by default 1024; and whether the configuration disables caches.
    ///
    /// ```no_run
    /// # extern crate tensorplay_runtime as tensorplay;
    /// use tensorplay::compiler::CacheOptions;
    ///
    /// let cache = CacheOptions::new().open("cuda");
    /// ```
    pub fn new() -> CacheOptions {
        let size = std::env::var_os(SIZE).map(|v| v.to_string_lossy().into_owned());
        CacheOptions {
            root: root::root(|name| std::env::var_os(name), std::env::home_dir()),
            max_bytes: max_bytes(size.as_deref()).unwrap_or_else(|e| {
                crate::ladder::warn(e);
                1024 * MIB
            }),
            disabled: crate::config::config().force_disable_caches,
        }
    }

    /// The folder, in place of the environment's.
    ///
    /// ```
    /// # extern crate tensorplay_runtime as tensorplay;
    /// use tensorplay::compiler::{CacheKey, CacheOptions};
    ///
    /// let cache = CacheOptions::new().root("/cache").open("tvm");
    /// assert!(cache.path_of(&CacheKey::new("tvm", "f"), "so").unwrap().starts_with("/cache/kernels/tvm"));
    /// ```
    #[must_use]
    pub fn root(mut self, root: impl AsRef<Path>) -> CacheOptions {
        self.root = std::path::absolute(root).ok();
        self
    }

    /// The most that the files of all backends below the root may take; the least recently used ones go first. An artefact
    /// that is larger stays in memory. While several processes write, it may be exceeded by a sixteenth for each of
    /// them.
    ///
    /// ```
    /// # extern crate tensorplay_runtime as tensorplay;
    /// use tensorplay::compiler::{CacheKey, CacheOptions};
    ///
    /// # let root = std::env::temp_dir().join(format!("tensorplay-doc-max-{}", std::process::id()));
    /// let in_memory = CacheOptions::new().root(&root).max_bytes(0).open("cuda");
    /// let key = CacheKey::new("cuda", "f");
    /// in_memory.put(&key, "cubin", b"code");
    /// assert!(in_memory.get(&key, "cubin").is_some());
    /// assert!(!in_memory.path_of(&key, "cubin").unwrap().exists());
    /// # std::fs::remove_dir_all(&root)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn max_bytes(mut self, max_bytes: u64) -> CacheOptions {
        self.max_bytes = max_bytes;
        self
    }

    /// Whether nothing is kept, neither on disk nor in memory: every request compiles.
    ///
    /// ```
    /// # extern crate tensorplay_runtime as tensorplay;
    /// use tensorplay::compiler::{CacheKey, CacheOptions};
    ///
    /// let cache = CacheOptions::new().disabled(true).open("cuda");
    /// let key = CacheKey::new("cuda", "f");
    /// let mut compiled = 0;
    /// for _ in 0..2 {
    ///     cache.get_or_compile(&key, "cubin", || { compiled += 1; Ok(vec![1]) })?;
    /// }
    /// assert_eq!(compiled, 2);
    /// # Ok::<(), tensorplay::Error>(())
    /// ```
    #[must_use]
    pub fn disabled(mut self, disabled: bool) -> CacheOptions {
        self.disabled = disabled;
        self
    }

    /// The cache of `backend` with these settings. Touches no file.
    ///
    /// ```
    /// # extern crate tensorplay_runtime as tensorplay;
    /// use tensorplay::compiler::CacheOptions;
    ///
    /// CacheOptions::new().root("/no/such/folder").open("cuda");
    /// ```
    pub fn open(self, backend: &str) -> CodeCache {
        CodeCache::with(self, backend)
    }
}

impl Default for CacheOptions {
    fn default() -> CacheOptions {
        CacheOptions::new()
    }
}

fn max_bytes(value: Option<&str>) -> Result<u64> {
    let value = value.map_or("1024", |v| v.trim());
    match value.parse::<u64>() {
        Ok(mib) => Ok(mib.saturating_mul(MIB)),
        Err(_) => Err(Error::Environment {
            variable: SIZE,
            value: value.into(),
            expected: "a number of MiB",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_is_in_mib() {
        assert_eq!(max_bytes(None).unwrap(), 1 << 30);
        assert_eq!(max_bytes(Some(" 3 ")).unwrap(), 3 << 20);
        assert_eq!(max_bytes(Some("0")).unwrap(), 0);
        assert_eq!(max_bytes(Some("18446744073709551615")).unwrap(), u64::MAX);
        for wrong in ["", "-1", "1G", "1.5", "18446744073709551616"] {
            let e = max_bytes(Some(wrong)).unwrap_err();
            assert!(
                e.to_string().contains(&format!(
                    "TENSORPLAY_CACHE_SIZE={wrong}: expected a number of MiB"
                )),
                "{e}"
            );
        }
    }
}
