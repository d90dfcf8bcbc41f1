//! The default folder.
//!
//! Problem: every platform has its own place for files that may be deleted. Method: `TENSORPLAY_CACHE_DIR`, else
//! `tensorplay` in `$XDG_CACHE_HOME` or `~/.cache`, in `~/Library/Caches` on Apple's systems, in `%LOCALAPPDATA%` on Windows.
//! Invariants: the path is absolute, so that a change of directory does not move the cache; without a home there is
//! none: a folder in a shared temporary directory could be filled by another user, and its files are run.

use std::ffi::OsString;
use std::path::PathBuf;

pub(super) fn root(var: impl Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    let folder = |name| var(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(own) = folder("TENSORPLAY_CACHE_DIR") {
        return std::path::absolute(own).ok();
    }
    let home = home.filter(|h| h.is_absolute());
    let caches = if cfg!(windows) {
        folder("LOCALAPPDATA").or(home.map(|h| h.join("AppData").join("Local")))
    } else if cfg!(target_vendor = "apple") {
        home.map(|h| h.join("Library").join("Caches"))
    } else {
        folder("XDG_CACHE_HOME")
            .filter(|f| f.is_absolute())
            .or(home.map(|h| h.join(".cache")))
    };
    Some(caches?.join("tensorplay"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(vars: &[(&str, &str)], home: Option<&str>) -> Option<PathBuf> {
        let var = |name: &str| vars.iter().find(|v| v.0 == name).map(|v| v.1.into());
        root(var, home.map(PathBuf::from))
    }

    #[test]
    fn own_variable_is_first_and_made_absolute() {
        let all = [("TENSORPLAY_CACHE_DIR", "here"), ("XDG_CACHE_HOME", "/xdg")];
        assert_eq!(
            of(&all, Some("/home/u")),
            Some(std::env::current_dir().unwrap().join("here"))
        );
        assert_eq!(of(&[("TENSORPLAY_CACHE_DIR", "")], None), None);
    }

    #[cfg(all(unix, not(target_vendor = "apple")))]
    #[test]
    fn xdg_rules_hold() {
        assert_eq!(
            of(&[("XDG_CACHE_HOME", "/xdg")], None),
            Some("/xdg/tensorplay".into())
        );
        for ignored in ["", "relative"] {
            let vars = [("XDG_CACHE_HOME", ignored)];
            assert_eq!(
                of(&vars, Some("/home/u")),
                Some("/home/u/.cache/tensorplay".into())
            );
            assert_eq!(of(&vars, Some("")), None);
        }
    }
}
