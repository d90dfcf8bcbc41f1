//! `RegionOptions`: the arguments of `#[nested_compile_region(..)]`.

use crate::attribute::parse::{Value, arguments, split};
use crate::attribute::table::REGION;
use crate::diagnostic::Diagnostics;
use proc_macro2::TokenStream;
use syn::Path;

/// The arguments of `#[nested_compile_region(..)]` that act.
#[derive(Clone, Debug)]
pub(crate) struct RegionOptions {
    /// For how many kinds of arguments one caller may hold the region.
    pub max_reuse_entries: usize,
    /// `crate = path`: where the facade crate is.
    pub krate: Option<Path>,
}

impl RegionOptions {
    pub fn parse(tokens: TokenStream, errors: &Diagnostics) -> RegionOptions {
        let mut options = RegionOptions {
            max_reuse_entries: 8,
            krate: None,
        };
        arguments(
            "nested_compile_region",
            split(tokens),
            REGION,
            errors,
            |argument, value, _, _| match (argument.name, value) {
                ("max_reuse_entries", Value::Int(n)) => options.max_reuse_entries = n as usize,
                ("crate", Value::Path(path)) => options.krate = Some(path),
                _ => {}
            },
        );
        options
    }
}
