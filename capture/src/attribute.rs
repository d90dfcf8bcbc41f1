//! `Options`: the arguments of `#[compile(..)]`, typed.
//!
//! Every argument of the public surface is parsed and checked. One whose effect does not exist yet is rejected
//! with `not available yet`; nothing is accepted and ignored.

use crate::diagnostic::{Diagnostic, Diagnostics, code};
use crate::nearest::nearest;
use crate::spec::Spec;
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{LitBool, LitInt, LitStr, Meta, Path, Token};
use tensorplay_graph::DType;

/// The arguments of `#[compile(..)]` that have an effect.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `fullgraph`: a graph break is an error.
    pub fullgraph: bool,
    /// `warn_breaks`: a graph break is a warning.
    pub warn_breaks: bool,
    /// `disable`: the item is left alone.
    pub disable: bool,
    /// `dtypes(f32, f16)`: the float kinds to emit; `None` is the default set.
    pub dtypes: Option<Vec<DType>>,
    /// `name = ".."`.
    pub name: Option<String>,
    /// `crate = path`: where the facade crate is.
    pub krate: Option<Path>,
    pub(crate) specs: Vec<NamedSpec>,
}

/// `x = f32[B, 784]` in `spec(..)`.
#[derive(Clone, Debug)]
pub(crate) struct NamedSpec {
    pub name: Ident,
    /// One spec, or those of a returned tuple.
    pub specs: Vec<Spec>,
}

/// What an argument takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Flag,
    Bool,
    Str,
    Int,
    DTypes,
    Specs,
    Paths,
    Metas,
    Names,
    Path,
}

impl Takes {
    fn example(self, name: &str) -> String {
        match self {
            Takes::Flag => name.to_string(),
            Takes::Bool => format!("{name} = true"),
            Takes::Str => format!("{name} = \"..\""),
            Takes::Int => format!("{name} = 8"),
            Takes::DTypes => format!("{name}(f32, f16)"),
            Takes::Specs => format!("{name}(x = f32[B, 784])"),
            Takes::Paths => format!("{name}(path::to::function)"),
            Takes::Metas => format!("{name}(fast_math)"),
            Takes::Names => format!("{name}, or {name}(w, b)"),
            Takes::Path => format!("{name} = path"),
        }
    }
}

/// Name, what it takes, whether it acts already.
const ARGUMENTS: &[(&str, Takes, bool)] = &[
    ("fullgraph", Takes::Flag, true),
    ("dynamic", Takes::Bool, false),
    ("backend", Takes::Str, false),
    ("mode", Takes::Str, false),
    ("options", Takes::Metas, false),
    ("name", Takes::Str, true),
    ("disable", Takes::Flag, true),
    ("recompile_limit", Takes::Int, false),
    ("isolate_recompiles", Takes::Flag, false),
    ("strict_native", Takes::Flag, false),
    ("dynamic_shapes", Takes::Bool, false),
    ("dtypes", Takes::DTypes, true),
    ("inline", Takes::Paths, false),
    ("grad", Takes::Names, false),
    ("spec", Takes::Specs, true),
    ("specialize", Takes::Specs, false),
    ("warn_breaks", Takes::Flag, true),
    ("self_test", Takes::Flag, false),
    ("crate", Takes::Path, true),
];

/// The value of an argument, as written.
enum Written {
    Nothing,
    Value(TokenStream),
    List(TokenStream),
}

impl Options {
    /// Parses `fullgraph, dtypes(f32), ..`; each bad argument is an error of its own.
    pub(crate) fn parse(tokens: TokenStream, errors: &Diagnostics) -> Options {
        let mut options = Options::default();
        let mut seen: Vec<String> = Vec::new();
        for argument in split(tokens) {
            let Some((name, written)) = head(argument.clone()) else {
                errors.push(
                    Diagnostic::new(
                        code::ARGUMENT_SYNTAX,
                        argument,
                        "this is not an argument of `compile`",
                    )
                    .help("arguments are `name`, `name = value` or `name(..)`, separated by commas"),
                );
                continue;
            };
            let text = name.to_string();
            let Some((_, takes, acts)) = ARGUMENTS.iter().find(|a| a.0 == text) else {
                let d = Diagnostic::new(
                    code::UNKNOWN_ARGUMENT,
                    &name,
                    format!("unknown argument `{text}`"),
                );
                errors.push(match nearest(&text, ARGUMENTS.iter().map(|a| a.0)) {
                    Some(n) => d.help(format!("did you mean `{n}`?")),
                    None => d.help(format!(
                        "the arguments are {}",
                        ARGUMENTS.iter().map(|a| a.0).collect::<Vec<_>>().join(", ")
                    )),
                });
                continue;
            };
            if seen.contains(&text) {
                errors.push(
                    Diagnostic::new(
                        code::DUPLICATE_ARGUMENT,
                        &argument,
                        format!("`{text}` is written twice"),
                    )
                    .help("keep one"),
                );
                continue;
            }
            seen.push(text.clone());
            match options.set(&text, *takes, written, &argument) {
                Err(problems) => problems.into_iter().for_each(|d| errors.push(d)),
                Ok(()) if !acts => errors.push(
                    Diagnostic::new(
                        code::NOT_AVAILABLE,
                        &argument,
                        format!("`{text}` is not available yet"),
                    )
                    .help("remove it; this version acts on fullgraph, warn_breaks, dtypes, spec, name, crate and disable"),
                ),
                Ok(()) => {}
            }
        }
        options
    }

    fn set(
        &mut self,
        name: &str,
        takes: Takes,
        written: Written,
        at: &TokenStream,
    ) -> Result<(), Vec<Diagnostic>> {
        let wrong = |tokens: &TokenStream, what: &str| {
            let message = format!("`{name}` takes {what}");
            vec![
                Diagnostic::new(code::ARGUMENT_TYPE, tokens, message)
                    .help(format!("write {}", takes.example(name))),
            ]
        };
        match (takes, written) {
            (Takes::Flag, Written::Nothing) => self.flag(name, true),
            (Takes::Flag, Written::Value(v)) => {
                let value =
                    syn::parse2::<LitBool>(v.clone()).map_err(|_| wrong(&v, "no value, or a bool"))?;
                self.flag(name, value.value);
            }
            (Takes::Flag, Written::List(_)) => return Err(wrong(at, "no value, or a bool")),
            (Takes::Bool, Written::Value(v)) => {
                syn::parse2::<LitBool>(v.clone()).map_err(|_| wrong(&v, "a bool"))?;
            }
            (Takes::Bool, _) => return Err(wrong(at, "a bool")),
            (Takes::Str, Written::Value(v)) => {
                let value = syn::parse2::<LitStr>(v.clone()).map_err(|_| wrong(&v, "a string"))?;
                if value.value().is_empty() {
                    return Err(wrong(&v, "a string that is not empty"));
                }
                if name == "name" {
                    self.name = Some(value.value());
                }
            }
            (Takes::Str, _) => return Err(wrong(at, "a string")),
            (Takes::Int, Written::Value(v)) => {
                let value = syn::parse2::<LitInt>(v.clone())
                    .ok()
                    .and_then(|l| l.base10_parse::<u32>().ok());
                if value.is_none_or(|n| n == 0) {
                    return Err(wrong(&v, "an integer above 0"));
                }
            }
            (Takes::Int, _) => return Err(wrong(at, "an integer above 0")),
            (Takes::DTypes, Written::List(l)) => self.dtypes = Some(dtypes(l, at)?),
            (Takes::DTypes, _) => return Err(wrong(at, "a list of float dtypes")),
            (Takes::Specs, Written::List(l)) => {
                let (specs, errors) = named_specs(l, at);
                if name == "spec" {
                    self.specs = specs;
                }
                if !errors.is_empty() {
                    return Err(errors);
                }
            }
            (Takes::Specs, _) => return Err(wrong(at, "a list of specs")),
            (Takes::Paths, Written::List(l)) => {
                Punctuated::<Path, Token![,]>::parse_terminated
                    .parse2(l.clone())
                    .map_err(|_| wrong(&l, "a list of paths"))?;
            }
            (Takes::Paths, _) => return Err(wrong(at, "a list of paths")),
            (Takes::Metas, Written::List(l)) => {
                Punctuated::<Meta, Token![,]>::parse_terminated
                    .parse2(l.clone())
                    .map_err(|_| wrong(&l, "a list of options"))?;
            }
            (Takes::Metas, _) => return Err(wrong(at, "a list of options")),
            (Takes::Names, Written::Nothing) => {}
            (Takes::Names, Written::List(l)) => {
                Punctuated::<Ident, Token![,]>::parse_terminated
                    .parse2(l.clone())
                    .map_err(|_| wrong(&l, "nothing, or a list of parameters"))?;
            }
            (Takes::Names, Written::Value(_)) => return Err(wrong(at, "nothing, or a list of parameters")),
            (Takes::Path, Written::Value(v)) => {
                let path =
                    Parser::parse2(Path::parse_mod_style, v.clone()).map_err(|_| wrong(&v, "a path"))?;
                self.krate = Some(path);
            }
            (Takes::Path, _) => return Err(wrong(at, "a path")),
        }
        Ok(())
    }

    fn flag(&mut self, name: &str, on: bool) {
        match name {
            "fullgraph" => self.fullgraph = on,
            "warn_breaks" => self.warn_breaks = on,
            "disable" => self.disable = on,
            _ => {}
        }
    }
}

/// Splits at the commas outside groups.
fn split(tokens: TokenStream) -> Vec<TokenStream> {
    let mut out = Vec::new();
    let mut current = TokenStream::new();
    for tree in tokens {
        if matches!(&tree, TokenTree::Punct(p) if p.as_char() == ',') {
            out.push(std::mem::take(&mut current));
        } else {
            current.extend([tree]);
        }
    }
    if !current.is_empty() {
        out.push(current);
    }
    out
}

/// `name`, `name = value`, `name(..)`.
fn head(tokens: TokenStream) -> Option<(Ident, Written)> {
    let mut trees = tokens.into_iter();
    let Some(TokenTree::Ident(name)) = trees.next() else {
        return None;
    };
    let written = match trees.next() {
        None => Written::Nothing,
        Some(TokenTree::Punct(p)) if p.as_char() == '=' => {
            let rest: TokenStream = trees.by_ref().collect();
            if rest.is_empty() {
                return None;
            }
            Written::Value(rest)
        }
        Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis => Written::List(g.stream()),
        Some(_) => return None,
    };
    trees.next().is_none().then_some((name, written))
}

fn dtypes(list: TokenStream, at: &TokenStream) -> Result<Vec<DType>, Vec<Diagnostic>> {
    const HELP: &str = "the float kinds are f32, f64, f16 and bf16";
    let mut out = Vec::new();
    let mut errors = Vec::new();
    for item in split(list) {
        let dtype = syn::parse2::<Ident>(item.clone())
            .ok()
            .and_then(|i| i.to_string().parse::<DType>().ok());
        match dtype {
            Some(d) if d.is_float() && !out.contains(&d) => out.push(d),
            Some(d) if d.is_float() => errors.push(
                Diagnostic::new(code::DUPLICATE_ARGUMENT, item, format!("{d} is written twice"))
                    .help("keep one"),
            ),
            Some(d) => errors.push(
                Diagnostic::new(code::ARGUMENT_TYPE, item, format!("{d} is not a float dtype")).help(HELP),
            ),
            None => errors.push(Diagnostic::new(code::ARGUMENT_TYPE, item, "this is not a dtype").help(HELP)),
        }
    }
    if out.is_empty() && errors.is_empty() {
        errors.push(Diagnostic::new(code::ARGUMENT_TYPE, at, "`dtypes` is empty").help(HELP));
    }
    if errors.is_empty() { Ok(out) } else { Err(errors) }
}

/// The good entries, and what is wrong with the others. A parameter keeps its entry without the spec, so that the
/// body is read as if it had none.
fn named_specs(list: TokenStream, at: &TokenStream) -> (Vec<NamedSpec>, Vec<Diagnostic>) {
    let mut out: Vec<NamedSpec> = Vec::new();
    let mut errors = Vec::new();
    let items = split(list);
    if items.is_empty() {
        errors.push(
            Diagnostic::new(code::SPEC_SYNTAX, at, "the list of specs is empty")
                .help("write x = f32[B, 784]"),
        );
    }
    for item in items {
        let Some((name, Written::Value(value))) = head(item.clone()) else {
            errors.push(
                Diagnostic::new(code::SPEC_SYNTAX, item, "a spec names its parameter")
                    .help("write x = f32[B, 784], or return = f32[B, 10]"),
            );
            continue;
        };
        if out.iter().any(|s| s.name == name) {
            errors.push(
                Diagnostic::new(code::DUPLICATE_ARGUMENT, item, format!("`{name}` has two specs"))
                    .help("keep one"),
            );
            continue;
        }
        let mut specs = Vec::new();
        let parts = leaves(value, name == "return");
        let wanted = parts.len();
        for part in parts {
            match Spec::parse(part) {
                Ok(s) => specs.push(s),
                Err(e) => errors.push(e),
            }
        }
        // the number of returned specs is not to be checked without those that are wrong
        if name != "return" || specs.len() == wanted {
            out.push(NamedSpec { name, specs });
        }
    }
    (out, errors)
}

/// The specs of a returned tuple, in order.
fn leaves(value: TokenStream, tuple: bool) -> Vec<TokenStream> {
    let trees: Vec<TokenTree> = value.clone().into_iter().collect();
    match trees.as_slice() {
        [TokenTree::Group(g)] if tuple && is_paren(g) => split(g.stream())
            .into_iter()
            .flat_map(|t| leaves(t, true))
            .collect(),
        _ => vec![value],
    }
}

fn is_paren(g: &Group) -> bool {
    g.delimiter() == Delimiter::Parenthesis
}

impl NamedSpec {
    /// As written, for messages.
    pub(crate) fn tokens(&self) -> TokenStream {
        self.name.to_token_stream()
    }
}
