//! Tokens of an attribute become typed arguments. What is wrong with one leaves the others alone.

use super::setting::BackendName;
use super::specs::{NamedSpec, named_specs};
use super::table::{Argument, EXCLUSIVE, Takes};
use crate::diagnostic::{Diagnostic, Diagnostics, code};
use crate::nearest::nearest;
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Lit, LitBool, LitInt, LitStr, Path, Token};
use tensorplay_graph::{DType, compile_option};

/// The value of an argument, as written.
pub(crate) enum Written {
    Nothing,
    Value(TokenStream),
    List(TokenStream),
}

/// The value of an argument, typed.
pub(crate) enum Value {
    Bool(bool),
    Str(LitStr),
    Backend(BackendName),
    Int(u32),
    DTypes(Vec<DType>),
    Specs(Vec<NamedSpec>),
    Paths(Vec<Path>),
    Settings(Vec<(Ident, Option<Lit>)>),
    Names(Vec<Ident>),
    Path(Path),
}

/// Hands each good argument to `take`, which may refuse its value; all that is wrong goes to `errors`.
pub(crate) fn arguments(
    attribute: &str,
    pieces: Vec<TokenStream>,
    table: &[Argument],
    errors: &Diagnostics,
    mut take: impl FnMut(&Argument, Value, &TokenStream, &mut Vec<Diagnostic>),
) {
    let mut seen: Vec<&str> = Vec::new();
    for piece in pieces {
        let Some((name, written)) = head(piece.clone()) else {
            let message = format!("this is not an argument of `{attribute}`");
            errors.push(
                Diagnostic::new(code::ARGUMENT_SYNTAX, piece, message)
                    .help("arguments are `name`, `name = value` or `name(..)`, separated by commas"),
            );
            continue;
        };
        let Some(argument) = table.iter().find(|a| name == a.name) else {
            let d = match compile_option(&name.to_string()) {
                Some(option) if table.iter().any(|a| matches!(a.takes, Takes::Settings)) => {
                    let message = format!("`{name}` is an option, not an argument");
                    Diagnostic::new(code::UNKNOWN_ARGUMENT, &name, message)
                        .help(format!("write options({})", option.name))
                }
                _ => unknown("argument", &name, table.iter().map(|a| a.name)),
            };
            errors.push(d);
            continue;
        };
        let name = argument.name;
        if seen.contains(&name) && !argument.repeats {
            let message = format!("`{name}` is written twice");
            errors.push(Diagnostic::new(code::DUPLICATE_ARGUMENT, &piece, message).help("keep one"));
            continue;
        }
        if let Some((other, why)) = excluded(name, &seen) {
            let message = format!("write either {other} or {name}, not both");
            errors.push(Diagnostic::new(code::EXCLUSIVE_ARGUMENTS, &piece, message).help(why));
            continue;
        }
        seen.push(name);
        let mut problems = Vec::new();
        if let Some(value) = value(argument, written, &piece, &mut problems) {
            take(argument, value, &piece, &mut problems);
        }
        if problems.is_empty() && !argument.acts {
            let message = format!("`{name}` is not available yet");
            let acting = table
                .iter()
                .filter(|a| a.acts)
                .map(|a| a.name)
                .collect::<Vec<_>>();
            let (last, others) = acting.split_last().unwrap_or((&"nothing", &[]));
            let acting = format!("{} and {last}", others.join(", "));
            problems.push(
                Diagnostic::new(code::NOT_AVAILABLE, &piece, message)
                    .help(format!("remove it; this version acts on {acting}")),
            );
        }
        problems.into_iter().for_each(|d| errors.push(d));
    }
}

/// A name that is none of `known`: the message has the nearest of them, or all.
pub(crate) fn unknown<'a>(
    what: &str,
    name: &Ident,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Diagnostic {
    let text = name.to_string();
    let d = Diagnostic::new(code::UNKNOWN_ARGUMENT, name, format!("unknown {what} `{text}`"));
    suggest(d, what, &text, known)
}

/// Adds the nearest of `known`, or all of them.
pub(crate) fn suggest<'a>(
    d: Diagnostic,
    what: &str,
    text: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Diagnostic {
    if let Some(n) = nearest(text, known.clone()) {
        return d.help(format!("did you mean `{n}`?"));
    }
    match known.collect::<Vec<_>>().as_slice() {
        [one] => d.help(format!("the only {what} is {one}")),
        all => d.help(format!("the {what}s are {}", all.join(", "))),
    }
}

fn excluded<'a>(name: &str, seen: &[&'a str]) -> Option<(&'a str, &'static str)> {
    let other = |name: &str| seen.iter().copied().find(|s| *s == name);
    EXCLUSIVE.iter().find_map(|&(a, b, why)| match name {
        _ if name == a => Some((other(b)?, why)),
        _ if name == b => Some((other(a)?, why)),
        _ => None,
    })
}

/// The typed value. A list keeps its good parts beside the problems of the others.
fn value(
    argument: &Argument,
    written: Written,
    at: &TokenStream,
    problems: &mut Vec<Diagnostic>,
) -> Option<Value> {
    let (name, takes) = (argument.name, argument.takes);
    let parsed = match (takes, &written) {
        (Takes::Flag, Written::Nothing) => Some(Value::Bool(true)),
        (Takes::Flag | Takes::Bool, Written::Value(v)) => syn::parse2::<LitBool>(v.clone())
            .ok()
            .map(|b| Value::Bool(b.value)),
        (Takes::Str, Written::Value(v)) => syn::parse2::<LitStr>(v.clone()).ok().map(Value::Str),
        (Takes::Backend, Written::Value(v)) => BackendName::parse(v).map(Value::Backend),
        (Takes::Int, Written::Value(v)) => syn::parse2::<LitInt>(v.clone())
            .ok()
            .and_then(|l| l.base10_parse::<u32>().ok())
            .filter(|n| *n > 0)
            .map(Value::Int),
        (Takes::DTypes, Written::List(l)) => return dtypes(l.clone(), at, problems).map(Value::DTypes),
        (Takes::Specs, Written::List(l)) => {
            return Some(Value::Specs(named_specs(l.clone(), at, problems)));
        }
        (Takes::Paths, Written::List(l)) => list(Path::parse_mod_style, l)
            .filter(|p| !p.is_empty())
            .map(Value::Paths),
        (Takes::Settings, Written::List(l)) => {
            list(setting, l).filter(|s| !s.is_empty()).map(Value::Settings)
        }
        (Takes::Names, Written::Nothing) => Some(Value::Names(Vec::new())),
        (Takes::Names, Written::List(l)) => {
            list(|s| s.parse(), l).filter(|n| !n.is_empty()).map(Value::Names)
        }
        (Takes::Path, Written::Value(v)) => Parser::parse2(Path::parse_mod_style, v.clone())
            .ok()
            .map(Value::Path),
        _ => None,
    };
    let wrong = |what: &str| {
        let in_parentheses = matches!(takes, Takes::Paths | Takes::Settings | Takes::Names);
        let tokens = match &written {
            Written::Value(v) if !in_parentheses && !matches!(takes, Takes::DTypes | Takes::Specs) => v,
            Written::List(l) if in_parentheses && !l.is_empty() => l,
            _ => at,
        };
        Diagnostic::new(code::ARGUMENT_TYPE, tokens, format!("`{name}` takes {what}"))
            .help(format!("write {}", takes.example(name)))
    };
    match parsed {
        Some(Value::Str(s)) if s.value().is_empty() => {
            problems.push(wrong("a string that is not empty"));
            None
        }
        Some(Value::Backend(BackendName::Name(s))) if s.is_empty() => {
            problems.push(wrong("a string that is not empty"));
            None
        }
        None => {
            problems.push(wrong(takes.what()));
            None
        }
        parsed => parsed,
    }
}

fn list<T>(one: fn(syn::parse::ParseStream<'_>) -> syn::Result<T>, tokens: &TokenStream) -> Option<Vec<T>> {
    let parser = |s: syn::parse::ParseStream<'_>| Punctuated::<T, Token![,]>::parse_terminated_with(s, one);
    Some(parser.parse2(tokens.clone()).ok()?.into_iter().collect())
}

/// `max_autotune`, `fusion = false`.
fn setting(s: syn::parse::ParseStream<'_>) -> syn::Result<(Ident, Option<Lit>)> {
    let name = s.parse()?;
    let value = match s.parse::<Option<Token![=]>>()? {
        Some(_) => Some(s.parse()?),
        None => None,
    };
    Ok((name, value))
}

/// Splits at the commas outside groups.
pub(crate) fn split(tokens: TokenStream) -> Vec<TokenStream> {
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
pub(crate) fn head(tokens: TokenStream) -> Option<(Ident, Written)> {
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

fn dtypes(list: TokenStream, at: &TokenStream, problems: &mut Vec<Diagnostic>) -> Option<Vec<DType>> {
    const HELP: &str = "the float kinds are f32, f64, f16 and bf16";
    let mut out = Vec::new();
    let before = problems.len();
    for item in split(list) {
        let dtype = syn::parse2::<Ident>(item.clone())
            .ok()
            .and_then(|i| i.to_string().parse::<DType>().ok());
        let (code, message, help) = match dtype {
            Some(d) if d.is_float() && !out.contains(&d) => {
                out.push(d);
                continue;
            }
            Some(d) if d.is_float() => (
                code::DUPLICATE_ARGUMENT,
                format!("{d} is written twice"),
                "keep one",
            ),
            Some(d) => (code::ARGUMENT_TYPE, format!("{d} is not a float dtype"), HELP),
            None => (code::ARGUMENT_TYPE, "this is not a dtype".to_string(), HELP),
        };
        problems.push(Diagnostic::new(code, item, message).help(help));
    }
    if out.is_empty() && problems.len() == before {
        problems.push(Diagnostic::new(code::ARGUMENT_TYPE, at, "`dtypes` is empty").help(HELP));
    }
    (problems.len() == before).then_some(out)
}
