//! `compile`: one function's tokens become a [`Captured`], or a [`Failure`] with everything that is wrong.

use crate::attribute::Options;
use crate::diagnostic::{Diagnostic, Diagnostics, code};
use crate::parameter::{Param, ParamKind, Read};
use crate::paths::trace;
use crate::returns::{ReturnTree, Returns};
use crate::segment::{self, Entry, Scene, Segmented, is_break};
use crate::spec::Spec;
use crate::walk::Walk;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use std::rc::Rc;
use syn::{
    Attribute, FnArg, GenericParam, Item, ItemFn, Meta, Pat, PatType, Receiver, ReceiverKind, ReturnType,
    Safety, Signature, parse_quote,
};
use tensorplay_graph::{DType, GraphModule};

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
    /// What the function is without `fullgraph`, if what is wrong are graph breaks.
    pub segmented: Option<Box<Segmented>>,
}

/// Captures the function `item` under `#[compile(attr)]`.
///
/// # Errors
/// A function that cannot be captured, with all its errors; or one with `disable`, with none.
pub fn compile(attr: TokenStream, item: TokenStream) -> Result<Captured, Failure> {
    let mut function = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(f) => f,
        Err(_) => return Err(not_a_function(item)),
    };
    let errors = Rc::new(Diagnostics::default());
    let own_specs = strip_specs(&mut function.sig, &errors);
    let options = Options::parse(attr, &errors);
    let result = if options.disable {
        Err(None)
    } else {
        name_wildcards(&mut function.sig);
        capture(&function, &options, own_specs, &errors)
    };
    let mut diagnostics = errors.take();
    match result {
        Ok(c) if diagnostics.is_empty() => {
            let Parts {
                paths,
                params,
                reads,
                returns,
                spans,
            } = c;
            let method = is_method(&function);
            Ok(Captured {
                item: function,
                paths,
                params,
                reads,
                returns: returns.tree,
                fallible: returns.fallible,
                method,
                options,
                spans,
            })
        }
        result => {
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
                segmented: result.err().flatten(),
            })
        }
    }
}

struct Parts {
    paths: Vec<GraphModule>,
    params: Vec<Param>,
    reads: Vec<Read>,
    returns: Returns,
    spans: Vec<Vec<TokenStream>>,
}

/// What a walk binds before the body, in the order of the signature.
enum Bound<'a> {
    Receiver,
    /// A parameter whose type was reported.
    Unknown(&'a Pat),
    Param(Param, &'a PatType, Option<Spec>),
}

fn not_a_function(item: TokenStream) -> Failure {
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
        diagnostics.push(
            Diagnostic::new(
                code::NOT_A_FUNCTION,
                at,
                "`#[compile]` goes on a function with a body",
            )
            .help("put it on a free function or an inherent method"),
        );
    }
    Failure {
        item,
        diagnostics,
        segmented: None,
    }
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

/// Gives a parameter `_` a name, by which dispatch reads it.
fn name_wildcards(sig: &mut Signature) {
    for (i, input) in sig.inputs.iter_mut().enumerate() {
        if let FnArg::Typed(t) = input
            && let Pat::Wild(w) = &*t.pat
            && w.attrs.is_empty()
        {
            let at = Span::mixed_site().located_at(w.underscore_token.span);
            let ident = format_ident!("__tp_unnamed_{i}", span = at);
            *t.pat = parse_quote!(#ident);
        }
    }
}

/// A receiver, or the word `Self`, shows that the function stands in an `impl`.
fn is_method(f: &ItemFn) -> bool {
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
            GenericParam::Lifetime(_) => continue,
            GenericParam::Type(_) => ("a type parameter", "write the types out"),
            GenericParam::Const(_) => ("a const parameter", "take it as a parameter, as in `n: usize`"),
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
) -> Result<Parts, Option<Box<Segmented>>> {
    check_kind(f, errors);
    let sig = &f.sig;
    // a type that names a type parameter is reported at the parameter
    let generic = |ty: &syn::Type| {
        let tokens = ty.to_token_stream();
        sig.generics
            .type_params()
            .any(|p| mentions(tokens.clone(), &p.ident))
    };
    let returns = match Returns::parse(&sig.output, sig) {
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
        let named = name_of(typed).and_then(|n| options.specs.iter().position(|s| s.name == n));
        if let Some(i) = named {
            used[i] = true;
        }
        let param = match Param::parse(typed) {
            Ok(p) => p,
            Err(d) => {
                if !generic(&typed.ty) {
                    errors.push(d);
                }
                bound.push(Bound::Unknown(&typed.pat));
                continue;
            }
        };
        let from_list = named.map(|i| &options.specs[i]);
        let spec = match (&own, from_list) {
            (Some(_), Some(named)) => {
                errors.push(
                    Diagnostic::new(
                        code::DUPLICATE_ARGUMENT,
                        named.tokens(),
                        format!("`{}` has two specs", param.name),
                    )
                    .help("keep the one beside the parameter"),
                );
                own
            }
            (Some(_), None) => own,
            (None, Some(named)) => named.specs.first().cloned(),
            (None, None) => None,
        };
        if let (Some(spec), ParamKind::Host(_)) = (&spec, param.kind) {
            let message = format!("`{}` is not a tensor", param.name);
            errors.push(Diagnostic::new(code::SPEC_NAME, &spec.tokens, message).help("remove the spec"));
        }
        if let Some(spec) = &spec {
            check_dtype(spec, options.dtypes.as_deref(), errors);
        }
        bound.push(Bound::Param(param, typed, spec));
    }
    let mut return_specs = Vec::new();
    for (i, named) in options.specs.iter().enumerate() {
        if named.name == "return" {
            return_specs = named.specs.clone();
            for spec in &return_specs {
                check_dtype(spec, options.dtypes.as_deref(), errors);
            }
            if let Some(r) = &returns
                && r.tree.len() != return_specs.len()
            {
                let (n, m) = (return_specs.len(), r.tree.len());
                errors.push(
                    Diagnostic::new(
                        code::SPEC_NAME,
                        named.tokens(),
                        format!("{n} specs for {m} returned tensors"),
                    )
                    .help("write one spec a tensor, as in return = (f32[B, 10], i64[B])"),
                );
                return_specs.clear();
            }
        } else if !used[i] {
            let names: Vec<String> = sig.inputs.iter().filter_map(arg_name).collect();
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
                Bound::Param(param, written, spec) => walk.bind_param(param, written, spec.as_ref()),
            }
        }
        walk.bind_reads();
        walk.function(&f.block, returns.as_ref(), &return_specs)
    });
    let (Some(traced), Some(returns)) = (traced, &returns) else {
        let scene = Scene {
            function: f,
            name,
            returns,
            return_specs,
            fallible: Returns::fallible(&sig.output),
            method: is_method(f),
            options,
        };
        return Err(segmented(&scene, &bound, errors));
    };
    let params = bound.into_iter().filter_map(|b| match b {
        Bound::Param(param, ..) => Some(param),
        _ => None,
    });
    Ok(Parts {
        paths: traced.modules,
        params: params.collect(),
        reads: traced.reads.into_list(),
        returns: returns.clone(),
        spans: traced.spans,
    })
}

/// A function with graph breaks as segments. The errors that remain are those that are no breaks.
fn segmented(scene: &Scene<'_>, bound: &[Bound<'_>], errors: &Diagnostics) -> Option<Box<Segmented>> {
    if scene.options.fullgraph || errors.is_empty() {
        return None;
    }
    let reported = errors.take();
    if !reported.iter().all(is_break) {
        reported
            .into_iter()
            .filter(|d| !is_break(d))
            .for_each(|d| errors.push(d));
        return None;
    }
    let entries: Vec<Entry<'_>> = bound
        .iter()
        .map(|b| match b {
            Bound::Receiver => Entry::Receiver,
            Bound::Unknown(pat) => Entry::Unknown(pat),
            Bound::Param(p, _, spec) => Entry::Param(p, spec.as_ref()),
        })
        .collect();
    let parts = segment::segment(scene, &entries, &reported, errors);
    if !errors.is_empty() {
        return None;
    }
    reported.into_iter().for_each(|d| errors.push(d));
    parts
}

fn check_dtype(spec: &Spec, dtypes: Option<&[DType]>, errors: &Diagnostics) {
    if let (Some(d), Some(list)) = (spec.dtype, dtypes)
        && d.is_float()
        && !list.contains(&d)
    {
        let shown: Vec<String> = list.iter().map(DType::to_string).collect();
        errors.push(
            Diagnostic::new(
                code::SPEC_DTYPE,
                &spec.tokens,
                format!(
                    "this spec says {d}, and dtypes({}) does not have it",
                    shown.join(", ")
                ),
            )
            .help(format!(
                "add {d} to dtypes(..), or leave the spec's dtype open as in float[..]"
            )),
        );
    }
}

fn mentions(tokens: TokenStream, name: &proc_macro2::Ident) -> bool {
    use proc_macro2::TokenTree;
    tokens.into_iter().any(|t| match t {
        TokenTree::Ident(i) => i == *name,
        TokenTree::Group(g) => mentions(g.stream(), name),
        _ => false,
    })
}

fn name_of(t: &syn::PatType) -> Option<String> {
    match &*t.pat {
        syn::Pat::Ident(i) => Some(i.ident.to_string()),
        _ => None,
    }
}

fn arg_name(a: &FnArg) -> Option<String> {
    match a {
        FnArg::Typed(t) => name_of(t),
        FnArg::Receiver(_) => None,
    }
}
