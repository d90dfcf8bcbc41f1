//! Markers: attributes that say how captured code treats a call of a function.
//!
//! A marker's arguments and function are checked here; what the function becomes is the business of the macro. Outside of
//! captured code the function keeps its meaning as plain Rust.

mod check;
mod kind;

pub use kind::MarkerKind;

use crate::attribute::parse::{self, Value};
use crate::captured::{Failure, Under, not_a_function};
use crate::diagnostic::{Diagnostic, Diagnostics, code};
use crate::walk::Mark;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Attribute, ItemFn, Meta, Path};

/// A marker with its arguments.
#[derive(Clone, Debug)]
pub struct Marker {
    /// Which one.
    pub kind: MarkerKind,
    /// `disable(recursive = ..)`: whether compiled functions inside run their plain bodies.
    pub recursive: bool,
    /// `disable(reason = "..")`.
    pub reason: Option<String>,
    /// `substitute_in_graph(original)`: the function that is replaced, in the same module.
    pub original: Option<Ident>,
    /// `substitute_in_graph(.., skip_signature_check = true)`.
    pub skip_signature_check: bool,
    /// `crate = path`: where the facade crate is.
    pub krate: Option<Path>,
}

/// A marked function.
#[derive(Clone, Debug)]
pub struct Marked {
    /// The function. A `#[compile]` on a disabled one is disabled too.
    pub item: ItemFn,
    /// Its marker.
    pub marker: Marker,
}

/// Reads the function `item` under the marker `kind` with the arguments `attr`.
///
/// # Errors
/// A function or arguments that the marker does not take, with all that is wrong.
pub fn mark(kind: MarkerKind, attr: TokenStream, item: TokenStream) -> Result<Marked, Failure> {
    let mut function = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(f) => f,
        Err(_) => return Err(not_a_function(kind.name(), item)),
    };
    let errors = Diagnostics::default();
    let refusal = match kind {
        MarkerKind::Export => Some(
            Diagnostic::new(code::NOT_AVAILABLE, &attr, "`#[export]` is not available yet")
                .help("remove it; `graph!` gives the graph of a compiled function as text"),
        ),
        MarkerKind::OverloadMethod => Some(
            Diagnostic::new(code::OVERLOAD, &attr, "functions of Rust have no overloads").help(
                "remove `#[overload_method]`; give each form a name of its own, or take a type parameter",
            ),
        ),
        _ => None,
    };
    let marker = match refusal {
        Some(d) => {
            errors.push(d);
            None
        }
        None => {
            let marker = Marker::parse(kind, attr, &errors);
            check::function(&marker, &function, &errors);
            check::others(kind, &function.attrs, &errors);
            Some(marker)
        }
    };
    let diagnostics = errors.take();
    match marker {
        Some(marker) if diagnostics.is_empty() => {
            if kind == MarkerKind::Disable {
                function.attrs.iter_mut().for_each(disable);
            }
            Ok(Marked {
                item: function,
                marker,
            })
        }
        _ => Err(Failure {
            item: function.into_token_stream(),
            diagnostics,
            segmented: None,
        }),
    }
}

/// Whether a marker among the attributes of a function disables `attribute`; any other marker is an error beside it.
pub(crate) fn disables(attrs: &[Attribute], attribute: &str, errors: &Diagnostics) -> bool {
    let mut disabled = false;
    for a in attrs {
        match check::marker_of(a) {
            Some(MarkerKind::Disable) => disabled = true,
            Some(kind) => errors.push(check::both(attribute, kind.name(), a)),
            None => {}
        }
    }
    disabled
}

/// Takes off what captures a function that an attribute captures already: that is an error beside it.
pub(crate) fn once(attrs: &mut Vec<Attribute>, attribute: &str, krate: Option<&Path>, errors: &Diagnostics) {
    attrs.retain(|a| {
        let others = [Under::Compile, Under::Region].map(Under::name);
        let other = others
            .into_iter()
            .find(|name| check::is_ours(a.path(), name) || check::is_of(a.path(), krate, name));
        if let Some(other) = other {
            errors.push(check::both(attribute, other, a));
        }
        other.is_none()
    });
}

/// The marker among the attributes of a function that says what a call of it is, with its reason.
pub(crate) fn of(attrs: &[Attribute]) -> Option<Mark> {
    let (a, kind) = attrs.iter().find_map(|a| Some((a, check::marker_of(a)?)))?;
    let tokens = match &a.meta {
        Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    };
    // the marker's own expansion reports what is wrong with it
    let errors = Diagnostics::default();
    let reason = Marker::parse(kind, tokens, &errors).reason;
    errors.take();
    Some(Mark { kind, reason })
}

/// The function that another one stands in for.
pub(crate) fn replaced(attrs: &[Attribute]) -> Option<String> {
    let substitute = |a: &&Attribute| check::marker_of(a) == Some(MarkerKind::SubstituteInGraph);
    let Meta::List(list) = &attrs.iter().find(substitute)?.meta else {
        return None;
    };
    check::original(&mut parse::split(list.tokens.clone()))
        .ok()
        .map(|i| i.to_string())
}

impl Marker {
    fn parse(kind: MarkerKind, attr: TokenStream, errors: &Diagnostics) -> Marker {
        let mut marker = Marker {
            kind,
            recursive: true,
            reason: None,
            original: None,
            skip_signature_check: false,
            krate: None,
        };
        let mut pieces = parse::split(attr);
        if kind == MarkerKind::SubstituteInGraph {
            match check::original(&mut pieces) {
                Ok(name) => marker.original = Some(name),
                Err(d) => errors.push(d),
            }
        }
        parse::arguments(
            kind.name(),
            pieces,
            kind.arguments(),
            errors,
            |argument, value, at, problems| match (argument.name, value) {
                ("recursive", Value::Bool(on)) => marker.recursive = on,
                ("reason", Value::Str(s)) => marker.reason = Some(s.value()),
                ("skip_signature_check", Value::Bool(on)) => marker.skip_signature_check = on,
                ("can_constant_fold_through", Value::Bool(true)) => {
                    let message = "`can_constant_fold_through = true` is not available yet";
                    problems.push(
                        Diagnostic::new(code::NOT_AVAILABLE, at, message)
                            .help("remove it; a substitute is not evaluated at build time"),
                    );
                }
                ("crate", Value::Path(p)) => marker.krate = Some(p),
                _ => {}
            },
        );
        marker
    }
}

/// `#[compile(..)]` becomes `#[compile(disable, ..)]`.
fn disable(attribute: &mut Attribute) {
    if !check::is_ours(attribute.path(), "compile") {
        return;
    }
    let path = attribute.path().clone();
    let arguments = match &attribute.meta {
        Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    };
    let others = parse::split(arguments).into_iter().filter(
        |piece| !matches!(piece.clone().into_iter().next(), Some(TokenTree::Ident(i)) if i == "disable"),
    );
    attribute.meta = Meta::List(syn::MetaList {
        path,
        delimiter: syn::MacroDelimiter::Paren(syn::token::Paren::default()),
        tokens: quote!(disable #(, #others)*),
    });
}
