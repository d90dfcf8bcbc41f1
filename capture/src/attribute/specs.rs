//! `spec(..)` and `specialize(..)`: specs by the name of their parameter.

use super::parse::{Written, head, split};
use crate::diagnostic::{Diagnostic, code};
use crate::spec::Spec;
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens;

/// `x = f32[B, 784]` in `spec(..)` or `specialize(..)`.
#[derive(Clone, Debug)]
pub struct NamedSpec {
    /// The parameter, or `return`.
    pub name: Ident,
    /// One spec, or those of a tuple.
    pub specs: Vec<Spec>,
}

impl NamedSpec {
    /// As written, for messages.
    pub(crate) fn tokens(&self) -> TokenStream {
        self.name.to_token_stream()
    }
}

/// The good entries; what is wrong with the others goes to `problems`. A parameter keeps its entry without the spec, so
/// that the body is read as if it had none.
pub(crate) fn named_specs(
    list: TokenStream,
    at: &TokenStream,
    problems: &mut Vec<Diagnostic>,
) -> Vec<NamedSpec> {
    let mut out: Vec<NamedSpec> = Vec::new();
    let items = split(list);
    if items.is_empty() {
        problems.push(
            Diagnostic::new(code::SPEC_SYNTAX, at, "the list of specs is empty")
                .help("write x = f32[B, 784]"),
        );
    }
    for item in items {
        let Some((name, Written::Value(value))) = head(item.clone()) else {
            problems.push(
                Diagnostic::new(code::SPEC_SYNTAX, item, "a spec names its parameter")
                    .help("write x = f32[B, 784], or return = f32[B, 10]"),
            );
            continue;
        };
        if out.iter().any(|s| s.name == name) {
            problems.push(
                Diagnostic::new(code::DUPLICATE_ARGUMENT, item, format!("`{name}` has two specs"))
                    .help("keep one"),
            );
            continue;
        }
        let mut specs = Vec::new();
        let parts = leaves(value);
        let wanted = parts.len();
        for part in parts {
            match Spec::parse(part) {
                Ok(s) => specs.push(s),
                Err(e) => problems.push(e),
            }
        }
        // the number of specs is not to be checked without those that are wrong
        let whole = specs.len() == wanted;
        if !whole {
            specs.clear();
        }
        if name != "return" || whole {
            out.push(NamedSpec { name, specs });
        }
    }
    out
}

/// The specs of a tuple, in order.
fn leaves(value: TokenStream) -> Vec<TokenStream> {
    let trees: Vec<TokenTree> = value.clone().into_iter().collect();
    match trees.as_slice() {
        [TokenTree::Group(g)] if g.delimiter() == Delimiter::Parenthesis => {
            split(g.stream()).into_iter().flat_map(leaves).collect()
        }
        _ => vec![value],
    }
}
