//! `compile`: one function's tokens become a [`Captured`], or a [`Failure`] with everything that is wrong.

use crate::attribute::Options;
use crate::diagnostic::{Diagnostic, Diagnostics, code};
use crate::marker;
use crate::parameter::{Param, Read, name_wildcards, names};
use crate::paths::trace;
use crate::returns::{ReturnTree, Returns};
use crate::spec::{self, Spec};
use crate::walk::Walk;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use std::rc::Rc;
use syn::{
    Attribute, FnArg, GenericParam, Item, ItemFn, Meta, Pat, PatType, Receiver, ReceiverKind, ReturnType,
    Safety, Signature,
};
use tensorplay_graph::GraphModule;

/// A captured function.
#[derive(Debug)]
pub struct Captured {
    /// The function, without `#[spec]` attributes.
    pub item: ItemFn,
    /// Its graphs, one a path, in source order.
    pub paths: Vec<GraphModule>,
    /// Its parameters, without the receiver. Tensors and numbers are numbered apart, each in this order.
    pub params: Vec<Param>,
    /// Consts and fields that the graph reads; their numbers follow those of the parameters.
    pub reads: Vec<Read>,
    /// The tensors that it returns, numbered from left to right.
    pub returns: ReturnTree,
    /// For each path, how many there are where the return type does not say, in the order in which the result is
    /// made: for an `Option` 1 or 0, for a `Vec` its length.
    pub codes: Vec<Vec<u32>>,
    /// Whether it returns a `Result`.
    pub fallible: bool,
    /// Whether it belongs to an `impl`: it has a receiver, or says `Self`.
    pub method: bool,
    /// The attribute's arguments.
    pub options: Options,
    /// The tokens behind each path's locations.
    pub spans: Vec<Vec<TokenStream>>,
}

/// A function that was not captured. No diagnostics means that the item is to be emitted as it is
/// (`disable`, or a syntax error, which rustc reports itself).
#[derive(Debug)]
pub struct Failure {
    /// What to emit beside the errors.
    pub item: TokenStream,
    /// What is wrong: the attribute and the signature first, then the body in the order of evaluation.
    pub diagnostics: Vec<Diagnostic>,
}

/// Captures the function `item` under `#[compile(attr)]`.
///
/// # Errors
/// A function that cannot be captured, with all its errors; or one with `disable`, with none.
pub fn compile(attr: TokenStream, item: TokenStream) -> Result<Captured, Failure> {
    let mut function = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(f) => f,
        Err(_) => return Err(not_a_function("compile", item)),
    };
    let errors = Rc::new(Diagnostics::default());
    let own_specs = strip_specs(&mut function.sig, &errors);
    let mut options = Options::parse(attr, &errors);
    options.disable |= marker::disables(&function.attrs, "compile", &errors);
    options.check(&function.sig, &errors);
    let result = if options.disable {
        None
    } else {
        name_wildcards(&mut function.sig);
        capture(&function, &options, own_specs, &errors)
    };
    let mut diagnostics = errors.take();
    match result {
        Some(c) if diagnostics.is_empty() => {
            let Parts {
                paths,
                params,
                reads,
                returns,
                codes,
                spans,
            } = c;
            let method = is_method(&function);
            Ok(Captured {
                item: function,
                paths,
                params,
                reads,
                returns: returns.tree,
                codes,
                fallible: returns.fallible,
                method,
                options,
                spans,
            })
        }
        _ => {
            if diagnostics.is_empty() && !options.disable {
                let at = &function.sig.ident;
                let message = "this function could not be captured";
                diagnostics.push(
                    Diagnostic::new(code::STATEMENT, at, message)
                        .help("`#[compile(disable)]` leaves the function alone"),
                );
            }
            Err(Failure {
                item: function.into_token_stream(),
                diagnostics,
            })
        }
    }
}

struct Parts {
    paths: Vec<GraphModule>,
    params: Vec<Param>,
    reads: Vec<Read>,
    returns: Returns,
    codes: Vec<Vec<u32>>,
    spans: Vec<Vec<TokenStream>>,
}

/// What a walk binds before the body, in the order of the signature.
enum Bound<'a> {
    Receiver,
    /// A parameter whose type was reported.
    Unknown(&'a Pat),
    Param(Param, &'a PatType, Vec<Spec>),
}

/// An item under an attribute that goes on functions.
pub(crate) fn not_a_function(attribute: &str, item: TokenStream) -> Failure {
    let mut diagnostics = Vec::new();
    if let Ok(other) = syn::parse2::<Item>(item.clone()) {
        let at: TokenStream = other
            .to_token_stream()
            .into_iter()
            .skip_while(is_attribute)
            .take(2)
            .collect();
        let at = if at.is_empty() {
            other.to_token_stream()
        } else {
            at
        };
        let message = format!("`#[{attribute}]` goes on a function with a body");
        diagnostics.push(
            Diagnostic::new(code::NOT_A_FUNCTION, at, message).help(match attribute {
                "compile" => "put it on a free function or an inherent method",
                _ => "put it on a free function",
            }),
        );
    }
    Failure { item, diagnostics }
}

fn is_attribute(tree: &proc_macro2::TokenTree) -> bool {
    use proc_macro2::{Delimiter, TokenTree};
    match tree {
        TokenTree::Punct(p) => p.as_char() == '#',
        TokenTree::Group(g) => g.delimiter() == Delimiter::Bracket,
        _ => false,
    }
}

/// Takes the `#[spec(..)]` attributes off the parameters; one slot a parameter.
fn strip_specs(sig: &mut Signature, errors: &Diagnostics) -> Vec<Option<Spec>> {
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
pub(crate) fn is_method(f: &ItemFn) -> bool {
    fn says_self(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|t| match t {
            proc_macro2::TokenTree::Ident(i) => i == "Self",
            proc_macro2::TokenTree::Group(g) => says_self(g.stream()),
            _ => false,
        })
    }
    matches!(f.sig.inputs.first(), Some(FnArg::Receiver(_)))
        || says_self(f.sig.to_token_stream())
        || says_self(f.block.to_token_stream())
}

/// Functions that no dispatch can stand in.
fn check_kind(f: &ItemFn, errors: &Diagnostics) {
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

fn check_receiver(r: &Receiver, errors: &Diagnostics) {
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

fn capture(
    f: &ItemFn,
    options: &Options,
    own_specs: Vec<Option<Spec>>,
    errors: &Rc<Diagnostics>,
) -> Option<Parts> {
    check_kind(f, errors);
    let sig = &f.sig;
    // a type that names a type parameter is reported at the parameter
    let generic = |ty: &syn::Type| {
        let tokens = ty.to_token_stream();
        sig.generics
            .type_params()
            .any(|p| mentions(tokens.clone(), &p.ident))
    };
    let returns = match Returns::parse(&sig.output) {
        Ok(r) => Some(r),
        Err(d) => {
            if !matches!(&sig.output, ReturnType::Type(_, ty) if generic(ty)) {
                errors.push(d);
            }
            None
        }
    };
    let name = options.name.clone().unwrap_or_else(|| sig.ident.to_string());
    let mut bound = Vec::new();
    let mut used = vec![false; options.specs.len()];
    for (input, own) in sig.inputs.iter().zip(own_specs) {
        let typed = match input {
            FnArg::Receiver(r) => {
                check_receiver(r, errors);
                bound.push(Bound::Receiver);
                continue;
            }
            FnArg::Typed(t) => t,
        };
        let names = names(input);
        for (i, spec) in options.specs.iter().enumerate() {
            used[i] |= names.iter().any(|n| spec.name == n);
        }
        let params = match Param::parse(typed) {
            Ok(p) => p,
            Err(d) => {
                if !generic(&typed.ty) {
                    errors.push(d);
                }
                bound.push(Bound::Unknown(&typed.pat));
                continue;
            }
        };
        // a type that names a type parameter is reported there
        if generic(&typed.ty) {
            bound.push(Bound::Unknown(&typed.pat));
            continue;
        }
        let mut own = own;
        if let (Some(spec), true) = (&own, params.len() != 1) {
            let message = "a spec beside a pattern does not say which name it is for";
            errors.push(
                Diagnostic::new(code::SPEC_NAME, &spec.tokens, message)
                    .help("write the specs in the attribute, as in spec(a = f32[2], b = f32[2])"),
            );
            own = None;
        }
        for param in params {
            let named = options.specs.iter().find(|s| s.name == param.name);
            let specs = spec::of_param(&param, own.take(), named, errors);
            for spec in &specs {
                spec::check_dtype(spec, options.dtypes.as_deref(), errors);
            }
            bound.push(Bound::Param(param, typed, specs));
        }
    }
    let mut return_specs = Vec::new();
    for (i, named) in options.specs.iter().enumerate() {
        if named.name == "return" {
            return_specs = named.specs.clone();
            for spec in &return_specs {
                spec::check_dtype(spec, options.dtypes.as_deref(), errors);
            }
            if let Some(r) = &returns
                && r.tree.len() != Some(return_specs.len())
            {
                let n = return_specs.len();
                let message = match r.tree.len() {
                    Some(m) => format!("{n} specs for {m} returned tensors"),
                    None => "paths may return different numbers of tensors, which have no specs yet".into(),
                };
                let help = match r.tree.len() {
                    Some(_) => "write one spec a tensor, as in return = (f32[B, 10], i64[B])",
                    None => "remove the specs of `return`",
                };
                errors.push(Diagnostic::new(code::SPEC_NAME, named.tokens(), message).help(help));
                return_specs.clear();
            }
        } else if !used[i] {
            let names: Vec<String> = sig.inputs.iter().flat_map(crate::parameter::names).collect();
            let d = Diagnostic::new(
                code::SPEC_NAME,
                &named.name,
                format!("there is no parameter `{}`", named.name),
            );
            errors.push(
                match crate::nearest::nearest(&named.name.to_string(), names.iter().map(String::as_str)) {
                    Some(n) => d.help(format!("did you mean `{n}`?")),
                    None => d.help(format!("the parameters are {}", names.join(", "))),
                },
            );
        }
    }
    let (head, ident) = (sig.fn_token, &sig.ident);
    let traced = trace(ident, errors, |script, reads| {
        let mut walk = Walk::new(name.clone(), errors.clone(), script, reads);
        walk.place_function(ident.span(), quote!(#head #ident));
        for b in &bound {
            match b {
                Bound::Receiver => walk.bind_self(),
                Bound::Unknown(pat) => walk.unknown_pattern(pat),
                Bound::Param(param, written, specs) => walk.bind_param(param, written, specs),
            }
        }
        walk.bind_reads();
        walk.function(&f.block, returns.as_ref(), &return_specs)
    })?;
    let params = bound.into_iter().filter_map(|b| match b {
        Bound::Param(param, ..) => Some(param),
        _ => None,
    });
    Some(Parts {
        paths: traced.modules,
        params: params.collect(),
        reads: traced.reads.into_list(),
        returns: returns?,
        codes: traced.codes,
        spans: traced.spans,
    })
}

fn mentions(tokens: TokenStream, name: &proc_macro2::Ident) -> bool {
    use proc_macro2::TokenTree;
    tokens.into_iter().any(|t| match t {
        TokenTree::Ident(i) => i == *name,
        TokenTree::Group(g) => mentions(g.stream(), name),
        _ => false,
    })
}
