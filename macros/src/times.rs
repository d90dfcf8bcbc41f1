//! `TENSORPLAY_MACRO_TIMES=<file>`: each expansion appends a line `item ms` there.
//!
//! A look-up is several expansions, and as many lines of its item. What a macro expands to does not depend on it.

use proc_macro2::{TokenStream, TokenTree};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::time::Instant;

/// An expansion that is being timed, if times are wanted.
pub struct Timer(Option<(OsString, String, Instant)>);

impl Timer {
    /// Starts for an item, which `name` tells.
    pub fn start(name: impl FnOnce() -> String) -> Timer {
        let file = std::env::var_os("TENSORPLAY_MACRO_TIMES").filter(|f| !f.is_empty());
        Timer(file.map(|f| (f, name(), Instant::now())))
    }

    /// Writes the line. A file that cannot be written is no reason to fail a build.
    pub fn stop(self) {
        let Some((file, name, start)) = self.0 else {
            return;
        };
        let ms = start.elapsed().as_secs_f64() * 1e3;
        if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(file) {
            let _ = file.write_all(format!("{name} {ms:.3}\n").as_bytes());
        }
    }
}

/// The name of an item: what follows its keyword.
pub fn name(item: TokenStream) -> String {
    let mut trees = item.into_iter();
    let keyword =
        |t: &TokenTree| matches!(t, TokenTree::Ident(i) if i == "fn" || i == "mod" || i == "struct");
    match trees.by_ref().find(keyword).and_then(|_| trees.next()) {
        Some(TokenTree::Ident(i)) => i.to_string(),
        _ => "?".to_string(),
    }
}
