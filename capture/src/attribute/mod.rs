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

pub use setting::{BackendName, Setting, SettingValue};
pub use specs::NamedSpec;

use crate::diagnostic::{Diagnostic, Diagnostics, code};
use crate::env::Env;
use crate::nearest::nearest;
use crate::signature::is_method;
use crate::spec::DimSpec;
use parse::{Value, Written};
use proc_macro2::{Ident, Span, TokenStream};
use syn::spanned::Spanned;
use syn::{FnArg, ItemFn, Pat, Path};
use tensorplay_graph::{DType, Mode};

/// The arguments of `#[compile(..)]`.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `fullgraph`: a graph break is an error. So it is beside `specialize`.
    pub fullgraph: bool,
    /// `dynamic = ..`, or `dynamic_shapes = ..`: whether sizes that no spec fixes are symbolic.
    pub dynamic: Option<bool>,
    /// `backend = ".."`, or `backend = PATH`.
    pub backend: Option<BackendName>,
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
    /// `self_test`: a test compares compiled results with those of the operations one by one.
    pub self_test: bool,
    /// `name = ".."`.
    pub name: Option<String>,
    /// `crate = path`: where the facade crate is.
    pub krate: Option<Path>,
    pub(crate) specs: Vec<NamedSpec>,
    /// The arguments as written, by name.
    pub(crate) written: Vec<(&'static str, TokenStream)>,
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
            |argument, value, piece, problems| {
                options.written.push((argument.name, piece.clone()));
                match value {
                    Value::Settings(s) => {
                        options.settings = setting::settings(backend.as_ref(), s, problems);
                    }
                    value => options.store(argument.name, value, problems),
                }
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
            ("backend", Value::Backend(b)) => self.backend = Some(b),
            ("name", Value::Str(s)) => self.name = Some(s.value()),
            ("mode", Value::Str(s)) => match setting::mode(&s) {
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

    /// The tokens of an argument, if it is written.
    fn written(&self, name: &str) -> Option<&TokenStream> {
        self.written.iter().find(|w| w.0 == name).map(|w| &w.1)
    }

    /// Where an argument is written.
    pub fn span(&self, name: &str) -> Span {
        self.written(name).map_or_else(Span::call_site, Spanned::span)
    }

    /// Checks the arguments, apart from `spec(..)`, against the function.
    pub(crate) fn check(&self, f: &ItemFn, env: &Env, errors: &Diagnostics) {
        let sig = &f.sig;
        self.check_place(f, env, errors);
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

impl Options {
    /// Checks the arguments that are not for every function.
    fn check_place(&self, f: &ItemFn, env: &Env, errors: &Diagnostics) {
        let refuse = |name: &str, message: &str, help: &str| {
            if let Some(at) = self.written(name) {
                errors.push(Diagnostic::new(code::NOT_A_FUNCTION, at, message).help(help));
            }
        };
        if self.isolate_recompiles && !matches!(f.sig.inputs.first(), Some(FnArg::Receiver(_))) {
            refuse(
                "isolate_recompiles",
                "`isolate_recompiles` is for methods: a function without `self` has no instances",
                "remove it, or take `&self`",
            );
        }
        if !self.self_test {
            return;
        }
        let of_model = env.model.is_some() && env.receiver.is_some();
        if is_method(f) && !of_model {
            refuse(
                "self_test",
                "`self_test` puts a test beside the function, and an `impl` cannot hold one",
                "put it on a free function that has the body",
            );
        } else if matches!(f.sig.inputs.first(), Some(FnArg::Receiver(_))) {
            refuse(
                "self_test",
                "`self_test` makes inputs of specs, and the fields of `self` have none",
                "put it on a function that takes these tensors as parameters",
            );
        } else if f.sig.generics.const_params().next().is_some() {
            refuse(
                "self_test",
                "`self_test` does not know which const parameters to test with",
                "remove it, or put it on a function that calls this one with some",
            );
        }
    }
}

/// `backend = ..`.
fn backend(piece: &TokenStream) -> Option<BackendName> {
    match parse::head(piece.clone()) {
        Some((name, Written::Value(v))) if name == "backend" => BackendName::parse(&v),
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
