//! Backends that compile nothing: what a graph means, and what goes wrong on purpose.
//!
//! They answer which side is wrong when a compiled function gives something unexpected: the graph (then `eager` gives it
//! too) or what a compiler made of it.

mod eager;
mod eager_debug;
mod testing_only;

use tensorplay_runtime::compiler::CompileOptions;

const DEBUG: &[&str] = &["debug"];

/// Options mean nothing to these backends.
fn warn_of_options(backend: &str, options: &CompileOptions) {
    if options.mode.is_some() || !options.options.is_empty() {
        let names: Vec<&str> = options.options.keys().map(String::as_str).collect();
        let mode = options.mode.map_or("none", |m| m.name());
        log::warn!(
            "backend `{backend}` takes no options: mode {mode}, options [{}] are ignored",
            names.join(", ")
        );
    }
}
