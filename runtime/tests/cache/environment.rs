//! What the environment decides.

use crate::child::{command, finish};
use crate::support::*;
use std::fs;
use std::path::Path;

/// A child's warnings, with these variables.
fn run(scratch: &Scratch, variables: &[(&str, &Path)]) -> String {
    let mut child = command(&[], "environment", scratch.path());
    child.envs(variables.iter().copied());
    finish(child.spawn().unwrap());
    fs::read_to_string(scratch.path().join("log")).unwrap()
}

#[test]
fn its_folder_is_used() {
    let scratch = Scratch::new("dir");
    let [own, xdg] = ["own", "xdg"].map(|f| scratch.path().join(f));
    let log = run(
        &scratch,
        &[("TENSORPLAY_CACHE_DIR", &own), ("XDG_CACHE_HOME", &xdg)],
    );
    assert_eq!(log, "");
    assert_eq!(entries(&own).len(), 1);
    let file = entries(&own).remove(0);
    let hex = key(1).to_string();
    assert_eq!(
        file,
        own.join("kernels/probe")
            .join(&hex[..2])
            .join(format!("{hex}.bin"))
    );
    assert!(!xdg.exists());
}

#[cfg(all(unix, not(target_vendor = "apple")))]
#[test]
fn the_default_is_in_the_users_caches() {
    let scratch = Scratch::new("home");
    let [home, xdg] = ["home", "xdg"].map(|f| scratch.path().join(f));
    run(&scratch, &[("HOME", &home), ("XDG_CACHE_HOME", &xdg)]);
    assert_eq!(entries(&xdg.join("tensorplay")).len(), 1);
    run(&scratch, &[("HOME", &home)]);
    assert_eq!(entries(&home.join(".cache/tensorplay")).len(), 1);
    let log = run(&scratch, &[("HOME", Path::new("relative"))]);
    assert!(
        log.contains("no home directory") && log.lines().count() == 2,
        "{log}"
    );
}

#[test]
fn its_size_is_used() {
    let scratch = Scratch::new("size-variable");
    let root = scratch.root();
    let with = |size| {
        run(
            &scratch,
            &[
                ("TENSORPLAY_CACHE_DIR", &root),
                ("TENSORPLAY_CACHE_SIZE", Path::new(size)),
            ],
        )
    };
    assert_eq!(with("0"), "");
    assert!(entries(&root).is_empty());
    let log = with("much");
    assert!(
        log.contains("TENSORPLAY_CACHE_SIZE=much: expected a number of MiB"),
        "{log}"
    );
    assert_eq!(entries(&root).len(), 1, "the default holds");
}
