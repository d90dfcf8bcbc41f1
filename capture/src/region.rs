//! `RegionOptions`: the arguments of `#[nested_compile_region(..)]`.

use crate::attribute::parse::{Value, arguments, split};
use crate::attribute::table::REGION;
use crate::diagnostic::Diagnostics;
use proc_macro2::TokenStream;
use syn::Path;

/// The arguments of `#[nested_compile_region(..)]` that act.
#[derive(Clone, Debug)]
pub struct RegionOptions {
    /// For how many kinds of arguments one caller may hold the region.
    pub max_reuse_entries: usize,
    /// A `static` that says which backend compiles it.
    pub options: Option<Path>,
    /// The function that tells kinds of arguments apart, by their metadata; without it, all of that does.
    pub reuse_hash_fn: Option<Path>,
    /// `crate = path`: where the facade crate is.
    pub krate: Option<Path>,
}

impl RegionOptions {
    pub(crate) fn parse(tokens: TokenStream, errors: &Diagnostics) -> RegionOptions {
        let mut options = RegionOptions {
            max_reuse_entries: 8,
            options: None,
            reuse_hash_fn: None,
            krate: None,
        };
        arguments(
            "nested_compile_region",
            split(tokens),
            REGION,
            errors,
            |argument, value, _, _| match (argument.name, value) {
                ("max_reuse_entries", Value::Int(n)) => options.max_reuse_entries = n as usize,
                ("options", Value::Path(path)) => options.options = Some(path),
                ("reuse_hash_fn", Value::Path(path)) => options.reuse_hash_fn = Some(path),
                ("crate", Value::Path(path)) => options.krate = Some(path),
                _ => {}
            },
        );
        options
    }
}
