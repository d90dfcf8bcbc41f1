//! What is looked up for a function or a struct before it is captured: the paths, not what they stand for.

use crate::attribute::Options;
use crate::captured::Under;
use crate::diagnostic::Diagnostics;
use crate::env::Env;
use crate::model::{Model, called, foreign, key};
use crate::signature::is_method;
use proc_macro2::TokenStream;
use syn::ItemFn;

/// The paths that a function needs from elsewhere: types of fields, and functions that it calls.
pub fn needs(env: &Env, attribute: Under, attr: &TokenStream, item: &TokenStream) -> Vec<syn::Path> {
    let Ok(f) = syn::parse2::<ItemFn>(item.clone()) else {
        return Vec::new();
    };
    if env.complete {
        return Vec::new();
    }
    let free = env.receiver.is_none() && !is_method(&f);
    let Some(called) = calls(env.model.as_deref(), &f, free, attribute, attr) else {
        return Vec::new();
    };
    let mut paths: Vec<syn::Path> = match &env.model {
        Some(model) => foreign(model).into_iter().cloned().collect(),
        None => Vec::new(),
    };
    paths.extend(called);
    paths
}

/// The paths that a function calls and that are looked up; `None` if it is not captured.
fn calls(
    model: Option<&Model>,
    f: &ItemFn,
    free: bool,
    attribute: Under,
    attr: &TokenStream,
) -> Option<Vec<syn::Path>> {
    let errors = Diagnostics::default();
    let options = match attribute {
        Under::Compile => Options::parse(attr.clone(), &errors),
        Under::Region => Options {
            fullgraph: true,
            ..Options::default()
        },
    };
    // a bad attribute is reported by capture
    let captured = errors.take().is_empty() && !options.disable;
    captured.then(|| called(model, f, free, options.is_whole(), &options.inline))
}

/// The paths that the methods of a struct need from elsewhere.
pub fn needs_of_type(env: &Env, name: &str) -> Vec<syn::Path> {
    let Some(model) = env.model.as_deref().filter(|_| !env.complete) else {
        return Vec::new();
    };
    let mut paths: Vec<syn::Path> = foreign(model).into_iter().cloned().collect();
    for ((owner, _), f) in &model.methods {
        let Some((under, attr)) = f.captured().filter(|_| owner == name) else {
            continue;
        };
        for path in calls(Some(model), &f.item(), false, under, &attr).unwrap_or_default() {
            if !paths.iter().any(|p| key(p) == key(&path)) {
                paths.push(path);
            }
        }
    }
    paths
}
