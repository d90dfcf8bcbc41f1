//! The code cache: what is compiled at run time is compiled once, not once a process.
//!
//! Problem: device code takes up to seconds to compile, in every process anew, and processes that start together
//! compile the same code at the same time; a cache on disk meets killed writers, full disks, damage and folders that
//! nobody may write. Method: a file per artefact, named by the hash of all that it depends on ([`key`]), with a
//! checksum in front ([`entry`]), written beside its place and renamed ([`store`]), found first in memory ([`memo`]);
//! racers wait for the one that compiles ([`lock`]); the least recently used files go at a size cap ([`evict`]).
//! Invariants: what a caller gets is what `compile` returned for this key, whole, whatever the disk holds; this rests on
//! the rename and the checksum alone, locks only save work. The cache adds no errors: where the disk fails,
//! results stay in memory and one warning says so. Errors of `compile` are the caller's and are not kept; a panic
//! of it releases every lock.

mod disk;
mod entry;
mod evict;
mod folder;
mod key;
mod listing;
mod lock;
mod memo;
mod options;
mod root;
mod store;
mod tidy;

pub use key::CacheKey;
pub use options::CacheOptions;

use crate::error::Result;
use folder::{Folder, Name};
use memo::Memo;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tidy::Tidy;

/// Artefacts of one backend that were compiled at run time, on disk and in memory.
///
/// An artefact is found by its [`CacheKey`] and the extension of its file, in
/// `<root>/kernels/<backend>/<2 hex digits>/<key>.<extension>`. Threads and processes that ask for one artefact at the same
/// time compile it once. A cache that cannot use its folder works in memory; it warns once and never fails.
///
/// ```
/// # extern crate tensorplay_runtime as tensorplay;
/// use tensorplay::compiler::{CacheKey, CodeCache};
///
/// # let root = std::env::temp_dir().join(format!("tensorplay-doc-cache-{}", std::process::id()));
/// let source = "extern \"C\" __global__ void scale(float *x) { .. }";
/// let key = CacheKey::new("cuda", "scale").source(source).option("arch", "sm_90");
///
/// let cache = CodeCache::at(&root, "cuda");
/// let compiled = cache.get_or_compile(&key, "cubin", || Ok(b"\x7fELF".to_vec()))?;
/// assert_eq!(&compiled[..], b"\x7fELF");
///
/// // another process, later
/// let cache = CodeCache::at(&root, "cuda");
/// let again = cache.get_or_compile(&key, "cubin", || unreachable!("it is on disk"))?;
/// assert_eq!(again, compiled);
/// # std::fs::remove_dir_all(&root)?;
/// # Ok::<(), tensorplay::Error>(())
/// ```
#[derive(Debug)]
pub struct CodeCache {
    backend: String,
    folder: Option<Folder>,
    max_bytes: u64,
    disabled: bool,
    memo: Memo,
    tidy: Tidy,
    warned: AtomicBool,
}

impl CodeCache {
    /// The cache of `backend` where the environment says, with [`CacheOptions::new`].
    ///
    /// ```no_run
    /// # extern crate tensorplay_runtime as tensorplay;
    /// use tensorplay::compiler::CodeCache;
    ///
    /// let cache = CodeCache::open("cuda");
    /// ```
    pub fn open(backend: &str) -> CodeCache {
        CacheOptions::new().open(backend)
    }

    /// The cache of `backend` below `root`.
    ///
    /// ```
    /// # extern crate tensorplay_runtime as tensorplay;
    /// use tensorplay::compiler::{CacheKey, CodeCache};
    ///
    /// let cache = CodeCache::at("/var/cache/kernels", "cuda");
    /// assert!(cache.path_of(&CacheKey::new("cuda", "f"), "cubin").unwrap().starts_with("/var/cache/kernels"));
    /// ```
    pub fn at(root: impl AsRef<Path>, backend: &str) -> CodeCache {
        CacheOptions::new().root(root).open(backend)
    }

    fn with(options: CacheOptions, backend: &str) -> CodeCache {
        CodeCache {
            backend: folder::component(backend),
            folder: options.root.map(Folder::new),
            max_bytes: options.max_bytes,
            disabled: options.disabled,
            memo: Memo::default(),
            tidy: Tidy::default(),
            warned: AtomicBool::new(false),
        }
    }

    /// The artefact of `key`, from memory, from disk, or from `compile`, whose result is kept.
    ///
    /// While `compile` runs, other requests of the same key and extension wait, in this process and in others; so it
    /// must not make that request itself. It may ask for other artefacts.
    ///
    /// ```
    /// # extern crate tensorplay_runtime as tensorplay;
    /// use tensorplay::{Error, compiler::{CacheKey, CodeCache}};
    ///
    /// # let root = std::env::temp_dir().join(format!("tensorplay-doc-goc-{}", std::process::id()));
    /// let cache = CodeCache::at(&root, "cuda");
    /// let key = CacheKey::new("cuda", "f").source("void f() {}");
    /// let failed = cache.get_or_compile(&key, "cubin", || Err(Error::msg("no compiler")));
    /// assert_eq!(failed.unwrap_err().to_string(), "no compiler");
    /// assert_eq!(&cache.get_or_compile(&key, "cubin", || Ok(vec![1, 2]))?[..], [1, 2]);
    /// # std::fs::remove_dir_all(&root)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn get_or_compile<F>(&self, key: &CacheKey, ext: &str, compile: F) -> Result<Arc<[u8]>>
    where
        F: FnOnce() -> Result<Vec<u8>>,
    {
        if self.disabled {
            return compile().map(Arc::from);
        }
        let name = Name::new(&self.backend, key, ext);
        let slot = self.memo.slot(&name);
        let mut value = slot.lock();
        if let Some(bytes) = &*value {
            return Ok(bytes.clone());
        }
        if let Some(bytes) = self.load(&name) {
            return Ok(value.insert(bytes).clone());
        }
        let held = self.hold(&name);
        if let Some(bytes) = self.load_held(&name) {
            return Ok(value.insert(bytes).clone());
        }
        let bytes: Arc<[u8]> = compile()?.into();
        self.save(&name, &bytes);
        *value = Some(bytes.clone());
        drop((held, value));
        self.tidy_up(&name);
        Ok(bytes)
    }

    /// The artefact of `key` if it is in memory or on disk; `None` too while somebody compiles it.
    ///
    /// ```
    /// # extern crate tensorplay_runtime as tensorplay;
    /// use tensorplay::compiler::{CacheKey, CodeCache};
    ///
    /// # let root = std::env::temp_dir().join(format!("tensorplay-doc-get-{}", std::process::id()));
    /// let cache = CodeCache::at(&root, "cuda");
    /// assert_eq!(cache.get(&CacheKey::new("cuda", "f"), "cubin"), None);
    /// ```
    pub fn get(&self, key: &CacheKey, ext: &str) -> Option<Arc<[u8]>> {
        if self.disabled {
            return None;
        }
        let name = Name::new(&self.backend, key, ext);
        let slot = self.memo.slot(&name);
        let mut value = slot.try_lock()?;
        if value.is_none() {
            *value = self.load(&name);
        }
        value.clone()
    }

    /// Keeps `bytes` as the artefact of `key`, in place of what was there.
    ///
    /// ```
    /// # extern crate tensorplay_runtime as tensorplay;
    /// use tensorplay::compiler::{CacheKey, CodeCache};
    ///
    /// # let root = std::env::temp_dir().join(format!("tensorplay-doc-put-{}", std::process::id()));
    /// let cache = CodeCache::at(&root, "cuda");
    /// let key = CacheKey::new("cuda", "f");
    /// cache.put(&key, "cubin", b"code");
    /// assert_eq!(cache.get(&key, "cubin").as_deref(), Some(&b"code"[..]));
    /// # std::fs::remove_dir_all(&root)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn put(&self, key: &CacheKey, ext: &str, bytes: &[u8]) {
        if self.disabled {
            return;
        }
        let name = Name::new(&self.backend, key, ext);
        let slot = self.memo.slot(&name);
        let mut value = slot.lock();
        let held = self.hold(&name);
        self.save(&name, bytes);
        *value = Some(bytes.into());
        drop((held, value));
        self.tidy_up(&name);
    }

    /// Where the artefact of `key` is on disk, or would be; `None` if there is no folder to use.
    ///
    /// ```
    /// # extern crate tensorplay_runtime as tensorplay;
    /// use tensorplay::compiler::{CacheKey, CodeCache};
    ///
    /// let key = CacheKey::new("cuda", "f");
    /// let path = CodeCache::at("/cache", "cuda").path_of(&key, "cubin").unwrap();
    /// assert!(path.ends_with(format!("cuda/{}/{key}.cubin", &key.to_string()[..2])));
    /// ```
    pub fn path_of(&self, key: &CacheKey, ext: &str) -> Option<PathBuf> {
        let name = Name::new(&self.backend, key, ext);
        self.folder.as_ref().map(|f| f.entry(&name))
    }
}
