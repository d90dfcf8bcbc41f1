//! Names and places of the files below a root.
//!
//! Problem: backends and extensions are any text, paths are not. Method: bytes outside of a small alphabet are written
//! `%2f`. Layout:
//!
//! ```text
//! <root>/kernels/<backend>/<2 hex>/<key>.<ext>   entries
//! <root>/kernels/<backend>/<2 hex>/.tmp-*        entries while they are written
//! <root>/locks/<key>.<ext>                       a lock for each artefact
//! <root>/locks/active, <root>/locks/evict        locks of the root, never deleted
//! ```
//!
//! Invariants: nothing lies outside of the root; different extensions are different files; only files that have the
//! form of these names are ever deleted.

use super::key::CacheKey;
use std::path::{Path, PathBuf};

pub(super) const TEMP: &str = ".tmp-";

/// The folder of all backends.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
}

/// The file of an artefact.
#[derive(Debug)]
pub(super) struct Name {
    backend: String,
    /// `<key>.<ext>`
    pub(super) file: String,
}

impl Name {
    pub(super) fn new(backend: &str, key: &CacheKey, ext: &str) -> Name {
        Name {
            backend: backend.into(),
            file: format!("{key}.{}", component(ext)),
        }
    }
}

/// `text` as one component of a path.
pub(super) fn component(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if text.is_empty() {
        return "%".into();
    }
    let mut component = String::new();
    for b in text.bytes() {
        if plain(b) {
            component.push(b.into());
        } else {
            component += &format!("%{b:02x}");
        }
    }
    component
}

/// Whether `file` has the form `<key>.<ext>`.
pub(super) fn is_artefact(file: &str) -> bool {
    let key = file.split_once('.').map_or("", |(key, _)| key);
    key.len() == 64 && key.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

impl Folder {
    pub(super) fn new(root: PathBuf) -> Folder {
        Folder { root }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn kernels(&self) -> PathBuf {
        self.root.join("kernels")
    }

    pub(super) fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    pub(super) fn shard(&self, name: &Name) -> PathBuf {
        self.kernels().join(&name.backend).join(&name.file[..2])
    }

    pub(super) fn entry(&self, name: &Name) -> PathBuf {
        self.shard(name).join(&name.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Component;

    #[test]
    fn every_text_is_one_component() {
        for text in [
            "", ".", "..", "../x", "a/b", "a\\b", "C:", "é", "a\0b", "%", "con.txt", "tvm-0_1",
        ] {
            let c = component(text);
            assert!(
                c.is_ascii() && Path::new(&c).components().eq([Component::Normal(c.as_ref())]),
                "{c}"
            );
            assert!(!c.contains(['.', '\\', ':', '\0']), "{c}");
        }
        assert_eq!(component("tvm-0_1"), "tvm-0_1");
        assert_ne!(component("%2f"), component("/"));
        assert_ne!(component("%"), component(""));
    }

    #[test]
    fn artefacts_are_told_from_other_files() {
        let key = CacheKey::new("b", "e");
        assert!(is_artefact(&Name::new("b", &key, "so").file));
        assert!(is_artefact(&Name::new("b", &key, "").file));
        for other in [
            "active",
            "evict",
            ".tmp-1",
            "readme.md",
            &key.to_string(),
            &format!("{key}0.so"),
            "",
        ] {
            assert!(!is_artefact(other), "{other}");
        }
    }
}
