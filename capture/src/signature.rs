//! What a signature tells before anything is captured: its specs, whether it is a method, and what no dispatch can stand in.

use crate::diagnostic::{Diagnostic, Diagnostics, code};
use crate::spec::Spec;
use crate::words::word;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, FnArg, GenericParam, ItemFn, Meta, Receiver, ReceiverKind, Safety, Signature, Type};

/// Takes the `#[spec(..)]` attributes off the parameters; one slot a parameter.
pub fn strip_specs(sig: &mut Signature, errors: &Diagnostics) -> Vec<Option<Spec>> {
    let mut out = Vec::new();
    for input in &mut sig.inputs {
        let attrs = match input {
            FnArg::Receiver(r) => &mut r.attrs,
            FnArg::Typed(t) => &mut t.attrs,
        };
        let mut found: Vec<Attribute> = Vec::new();
        attrs.retain(|a| {
            let ours = a.path().segments.last().is_some_and(|s| s.ident == "spec");
            if ours {
                found.push(a.clone());
            }
            !ours
        });
        let mut spec = None;
        for (i, attribute) in found.iter().enumerate() {
            if matches!(input, FnArg::Receiver(_)) {
                errors.push(
                    Diagnostic::new(code::SPEC_NAME, attribute, "`self` is not a tensor")
                        .help("remove the spec"),
                );
            } else if i > 0 {
                errors.push(
                    Diagnostic::new(
                        code::DUPLICATE_ARGUMENT,
                        attribute,
                        "this parameter has two specs",
                    )
                    .help("keep one"),
                );
            } else if let Meta::List(list) = &attribute.meta {
                match Spec::parse(list.tokens.clone()) {
                    Ok(s) => spec = Some(s),
                    Err(d) if d.tokens.is_empty() => {
                        errors.push(Diagnostic {
                            tokens: attribute.to_token_stream(),
                            ..d
                        });
                    }
                    Err(d) => errors.push(d),
                }
            } else {
                errors.push(
                    Diagnostic::new(code::SPEC_SYNTAX, attribute, "a spec is written in parentheses")
                        .help("write #[spec(f32[B, 784])]"),
                );
            }
        }
        out.push(spec);
    }
    out
}

/// A receiver, or the word `Self`, shows that the function stands in an `impl`.
pub fn is_method(f: &ItemFn) -> bool {
    let says_self = |tokens| word(tokens, "Self").is_some();
    matches!(f.sig.inputs.first(), Some(FnArg::Receiver(_)))
        || says_self(f.sig.to_token_stream())
        || says_self(f.block.to_token_stream())
}

/// The function's own `self`.
pub fn this(sig: &Signature) -> Option<TokenStream> {
    match sig.inputs.first() {
        Some(FnArg::Receiver(r)) => Some(r.self_token.to_token_stream()),
        _ => None,
    }
}

/// What a method is called on, by reference.
pub fn instance(sig: &Signature) -> Option<TokenStream> {
    let Some(FnArg::Receiver(r)) = sig.inputs.first() else {
        return None;
    };
    let this = &r.self_token;
    Some(match &r.kind {
        ReceiverKind::Reference(_, _, None) => quote!(#this),
        ReceiverKind::Reference(..) => quote!(&*#this),
        ReceiverKind::Typed(_, ty) if !matches!(&**ty, Type::Path(p) if p.path.is_ident("Self")) => {
            quote!(&*#this)
        }
        _ => quote!(&#this),
    })
}

/// Functions that no dispatch can stand in.
pub fn check_kind(f: &ItemFn, errors: &Diagnostics) {
    let sig = &f.sig;
    let refuse = |tokens: TokenStream, what: &str, why: &str| {
        errors.push(
            Diagnostic::new(
                code::FUNCTION_KIND,
                tokens,
                format!("{what} cannot be compiled: {why}"),
            )
            .help("write a plain fn, and call it from this one"),
        );
    };
    if let Some(t) = &sig.constness {
        refuse(quote!(#t), "a `const fn`", "a const evaluation cannot dispatch");
    }
    if let Some(t) = &sig.asyncness {
        refuse(quote!(#t), "an `async fn`", "a graph does not wait");
    }
    if let Safety::Unsafe(t) = &sig.safety {
        refuse(quote!(#t), "an `unsafe fn`", "a graph cannot keep its contract");
    }
    if let Some(t) = &sig.abi {
        refuse(quote!(#t), "an `extern` function", "its callers are not Rust");
    }
    if let Some(t) = &sig.variadic {
        refuse(quote!(#t), "a variadic function", "its callers are not Rust");
    }
    if let Some(t) = &f.modifiers.defaultness {
        refuse(
            quote!(#t),
            "a specialised trait method",
            "it has no function of its own",
        );
    }
    for p in &sig.generics.params {
        let (what, help) = match p {
            // a const parameter is a number that is read when the call starts
            GenericParam::Lifetime(_) | GenericParam::Const(_) => continue,
            GenericParam::Type(_) => ("a type parameter", "write the types out"),
        };
        errors.push(Diagnostic::new(code::GENERICS, p, format!("{what} cannot be captured yet")).help(help));
    }
}

pub fn check_receiver(r: &Receiver, errors: &Diagnostics) {
    let plain = matches!(&r.kind, ReceiverKind::Reference(_, _, None)) && r.mutability.is_none();
    if !plain {
        let shown = crate::location::text(r.to_token_stream());
        errors.push(
            Diagnostic::new(
                code::RECEIVER,
                r,
                format!("the receiver `{shown}` cannot be captured yet"),
            )
            .help("take `&self`"),
        );
    }
}
