//! `Options`: the arguments of `#[compile(..)]`, typed.
//!
//! Every argument of the public surface is parsed and checked. One whose effect does not exist yet is rejected
//! with `not available yet`; nothing is accepted and ignored.

pub(crate) mod parse;
mod setting;
mod specs;
pub(crate) mod table;
#[cfg(test)]
mod tests;

pub use setting::{Mode, Setting, SettingValue};
pub use specs::NamedSpec;

use crate::diagnostic::{Diagnostic, Diagnostics, code};
use crate::nearest::nearest;
use crate::spec::DimSpec;
use parse::{Value, Written};
use proc_macro2::{Ident, TokenStream};
use syn::{FnArg, LitStr, Pat, Path, Signature};
use tensorplay_graph::DType;

/// The arguments of `#[compile(..)]`.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `fullgraph`: a graph break is an error. So it is beside `specialize`.
    pub fullgraph: bool,
    /// `dynamic = ..`, or `dynamic_shapes = ..`: whether sizes that no spec fixes are symbolic.
    pub dynamic: Option<bool>,
    /// `backend = ".."`.
    pub backend: Option<String>,
    /// `mode = ".."`.
    pub mode: Option<Mode>,
    /// `options(..)`, each once.
    pub settings: Vec<Setting>,
    /// `disable`: the item is left alone.
    pub disable: bool,
    /// `recompile_limit = ..`: the number of entries that a table holds.
    pub recompile_limit: Option<u32>,
    /// `isolate_recompiles`: a table for each instance.
    pub isolate_recompiles: bool,
    /// `strict_native`: a group without a kernel is an error.
    pub strict_native: bool,
    /// `dtypes(f32, f16)`: the float kinds to emit; `None` is the default set.
    pub dtypes: Option<Vec<DType>>,
    /// `inline(path, ..)`: the functions whose graphs join that of the caller.
    pub inline: Vec<Path>,
    /// `grad`: a backward is compiled too, for these parameters, or for all if the list is empty.
    pub grad: Option<Vec<Ident>>,
    /// `specialize(x = f32[1, 784])`, each: the sizes of kernels beside the general ones.
    pub specialize: Vec<Vec<NamedSpec>>,
    /// `warn_breaks`: each graph break is a warning.
    pub warn_breaks: bool,
    /// `self_test`: compiled results are compared with the plain body's.
    pub self_test: bool,
    /// `name = ".."`.
    pub name: Option<String>,
    /// `crate = path`: where the facade crate is.
    pub krate: Option<Path>,
    pub(crate) specs: Vec<NamedSpec>,
}

impl Options {
    /// Whether a graph break is an error: paths of special sizes go through the whole function.
    pub fn is_whole(&self) -> bool {
        self.fullgraph || !self.specialize.is_empty()
    }

    /// The same where capture reports the errors.
    pub fn of(attr: TokenStream) -> Options {
        Options::parse(attr, &Diagnostics::default())
    }

    /// Parses `fullgraph, dtypes(f32), ..`; each bad argument is an error of its own.
    pub(crate) fn parse(tokens: TokenStream, errors: &Diagnostics) -> Options {
        let mut options = Options::default();
        let pieces = parse::split(tokens);
        // what `options(..)` may hold depends on the backend, which may follow
        let backend = pieces.iter().find_map(backend);
        parse::arguments(
            "compile",
            pieces,
            table::COMPILE,
            errors,
            |argument, value, _, problems| match value {
                Value::Settings(s) => {
                    options.settings = setting::settings(backend.as_deref(), s, problems);
                }
                value => options.store(argument.name, value, problems),
            },
        );
        options
    }

    fn store(&mut self, name: &str, value: Value, problems: &mut Vec<Diagnostic>) {
        match (name, value) {
            ("fullgraph", Value::Bool(on)) => self.fullgraph = on,
            ("dynamic" | "dynamic_shapes", Value::Bool(on)) => self.dynamic = Some(on),
            ("disable", Value::Bool(on)) => self.disable = on,
            ("isolate_recompiles", Value::Bool(on)) => self.isolate_recompiles = on,
            ("strict_native", Value::Bool(on)) => self.strict_native = on,
            ("warn_breaks", Value::Bool(on)) => self.warn_breaks = on,
            ("self_test", Value::Bool(on)) => self.self_test = on,
            ("backend", Value::Str(s)) => self.backend = Some(s.value()),
            ("name", Value::Str(s)) => self.name = Some(s.value()),
            ("mode", Value::Str(s)) => match Mode::parse(&s) {
                Ok(mode) => self.mode = Some(mode),
                Err(d) => problems.push(d),
            },
            ("recompile_limit", Value::Int(n)) => self.recompile_limit = Some(n),
            ("dtypes", Value::DTypes(d)) => self.dtypes = Some(d),
            ("spec", Value::Specs(s)) => self.specs = s,
            ("specialize", Value::Specs(s)) => self.specialize.push(s),
            ("inline", Value::Paths(p)) => self.inline = p,
            ("grad", Value::Names(n)) => self.grad = Some(n),
            ("crate", Value::Path(p)) => self.krate = Some(p),
            _ => {}
        }
    }

    /// Checks the arguments that name parameters, apart from `spec(..)`, against the function.
    pub(crate) fn check(&self, sig: &Signature, errors: &Diagnostics) {
        let names: Vec<&Ident> = sig.inputs.iter().filter_map(parameter).collect();
        let known = |name: &Ident| {
            if !names.contains(&name) {
                let message = format!("there is no parameter `{name}`");
                let d = Diagnostic::new(code::SPEC_NAME, name, message);
                let all: Vec<String> = names.iter().map(ToString::to_string).collect();
                errors.push(match nearest(&name.to_string(), all.iter().map(String::as_str)) {
                    Some(n) => d.help(format!("did you mean `{n}`?")),
                    None if all.is_empty() => d.help("remove it; the function has no parameters"),
                    None => d.help(format!("the parameters are {}", all.join(", "))),
                });
            }
        };
        self.grad.iter().flatten().for_each(known);
        for special in &self.specialize {
            let (results, inputs): (Vec<&NamedSpec>, Vec<&NamedSpec>) =
                special.iter().partition(|s| s.name == "return");
            for s in results {
                let message = "`specialize` names parameters; what a function returns follows from them";
                errors.push(Diagnostic::new(code::SPEC_NAME, &s.name, message).help("remove it"));
            }
            inputs.iter().for_each(|s| known(&s.name));
            let mut dims = special
                .iter()
                .flat_map(|s| &s.specs)
                .flat_map(|s| s.dims.iter().flatten());
            if let Some(first) = special.first()
                && special.iter().all(|s| !s.specs.is_empty())
                && !dims.any(|d| matches!(d, DimSpec::Size(_)))
            {
                errors.push(
                    Diagnostic::new(
                        code::ARGUMENT_TYPE,
                        &first.name,
                        "`specialize` has no constant size",
                    )
                    .help("write one, as in specialize(x = f32[1, 784])"),
                );
            }
        }
    }
}

/// `backend = ".."`.
fn backend(piece: &TokenStream) -> Option<String> {
    match parse::head(piece.clone()) {
        Some((name, Written::Value(v))) if name == "backend" => Some(syn::parse2::<LitStr>(v).ok()?.value()),
        _ => None,
    }
}

/// The name of a parameter.
fn parameter(input: &FnArg) -> Option<&Ident> {
    match input {
        FnArg::Typed(t) => match &*t.pat {
            Pat::Ident(i) => Some(&i.ident),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    }
}
