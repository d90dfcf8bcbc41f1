//! What a marker may stand on, and beside.

use super::{Marker, MarkerKind};
use crate::diagnostic::{Diagnostic, Diagnostics, code};
use crate::model::key;
use crate::signature::is_method;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::visit::{self, Visit};
use syn::{
    Attribute, FnArg, GenericParam, ItemFn, Lifetime, ParenthesizedGenericArguments, Path, ReturnType,
    Safety, TypeFnPtr, TypeImplTrait, TypeReference,
};

/// The function that `substitute_in_graph` replaces: its first argument.
pub(super) fn original(pieces: &mut Vec<TokenStream>) -> Result<Ident, Diagnostic> {
    const HELP: &str = "write #[substitute_in_graph(original)] beside `fn original`, in one module";
    let missing = || {
        let message = "`substitute_in_graph` begins with the function that is replaced";
        Diagnostic::new(code::SUBSTITUTED, pieces.first(), message).help(HELP)
    };
    let path = match pieces.first().map(|p| syn::parse2::<Path>(p.clone())) {
        Some(Ok(path)) => path,
        _ => return Err(missing()),
    };
    let arguments = MarkerKind::SubstituteInGraph.arguments();
    if path
        .get_ident()
        .is_some_and(|i| arguments.iter().any(|a| i == a.name))
    {
        return Err(missing());
    }
    let piece = pieces.remove(0);
    let own = path.segments.len() == 2 && path.segments[0].ident == "self";
    match path.segments.last() {
        Some(last) if (path.get_ident().is_some() || own) && last.arguments.is_empty() => {
            Ok(last.ident.clone())
        }
        _ => {
            let shown = crate::location::text(piece.clone());
            let message = format!("`{shown}` is not the name of a function in this module");
            Err(Diagnostic::new(code::SUBSTITUTED, piece, message).help(HELP))
        }
    }
}

/// Whether the marker can stand on the function.
pub(super) fn function(marker: &Marker, f: &ItemFn, errors: &Diagnostics) {
    let name = marker.kind.name();
    let sig = &f.sig;
    let refuse = |tokens: TokenStream, what: &str, why: &str, help: &str| {
        let message = format!("{what} cannot be marked `#[{name}]`: {why}");
        errors.push(Diagnostic::new(code::MARKED_FUNCTION, tokens, message).help(help));
    };
    const PLAIN: &str = "mark a plain fn, and call it from this one";
    if is_method(f) {
        let at = match sig.inputs.first() {
            Some(FnArg::Receiver(r)) => r.to_token_stream(),
            _ => sig.ident.to_token_stream(),
        };
        let help = "mark a free function, and call it from the method";
        refuse(
            at,
            "a method",
            "captured code finds a marker by the name of a free function",
            help,
        );
    }
    if let Some(t) = &sig.constness {
        refuse(
            quote!(#t),
            "a `const fn`",
            "a const evaluation is not captured",
            PLAIN,
        );
    }
    if let Some(t) = &sig.asyncness {
        refuse(quote!(#t), "an `async fn`", "a graph does not wait", PLAIN);
    }
    if let Safety::Unsafe(t) = &sig.safety {
        refuse(
            quote!(#t),
            "an `unsafe fn`",
            "a graph cannot keep its contract",
            PLAIN,
        );
    }
    if let Some(t) = &sig.abi {
        refuse(
            quote!(#t),
            "an `extern` function",
            "its callers are not Rust",
            PLAIN,
        );
    }
    match marker.kind {
        MarkerKind::AssumeConstantResult => assumed(f, errors),
        MarkerKind::SubstituteInGraph => substitute(marker, f, errors),
        _ => {}
    }
}

/// One value is kept for each call site, so the result has one type, and owns itself.
fn assumed(f: &ItemFn, errors: &Diagnostics) {
    let mut hidden = ImplTraits::default();
    f.sig.inputs.iter().for_each(|i| hidden.visit_fn_arg(i));
    let parameters = f.sig.generics.params.iter().filter_map(|p| match p {
        GenericParam::Lifetime(_) => None,
        p => Some(p.to_token_stream()),
    });
    for p in parameters.chain(hidden.0) {
        let message = "a function whose result is assumed to be constant has no type or const parameters";
        errors.push(
            Diagnostic::new(code::ASSUMED_RESULT, p, message)
                .help("write the types out, in one function for each"),
        );
    }
    let ReturnType::Type(_, ty) = &f.sig.output else {
        return;
    };
    let mut hidden = ImplTraits::default();
    hidden.visit_type(ty);
    if let Some(t) = hidden.0.into_iter().next() {
        let message = "a result that is assumed to be constant has a type of its own";
        errors.push(
            Diagnostic::new(code::ASSUMED_RESULT, t, message).help("write the type in place of `impl Trait`"),
        );
        return;
    }
    let mut borrows = Borrows::default();
    borrows.visit_type(ty);
    if borrows.0 {
        let message = "a result that is assumed to be constant cannot be borrowed from the arguments";
        errors.push(
            Diagnostic::new(code::ASSUMED_RESULT, ty, message)
                .help("return an owned value, such as a `Tensor`"),
        );
    }
}

fn substitute(marker: &Marker, f: &ItemFn, errors: &Diagnostics) {
    if let Some(original) = marker.original.as_ref().filter(|o| **o == f.sig.ident) {
        let message = format!("`{original}` cannot stand in for itself");
        errors.push(
            Diagnostic::new(code::SUBSTITUTED, original, message)
                .help("name the function that is replaced, and give this one another name"),
        );
    }
    if marker.skip_signature_check {
        return;
    }
    let mut hidden = ImplTraits::default();
    hidden.visit_signature(&f.sig);
    for t in hidden.0 {
        let message = "a signature with `impl Trait` cannot be compared with the original's";
        errors.push(
            Diagnostic::new(code::SUBSTITUTED, t, message)
                .help("write a type, or a type parameter; or add skip_signature_check = true"),
        );
    }
}

/// Other attributes of ours on a marked function.
pub(super) fn others(kind: MarkerKind, attrs: &[Attribute], errors: &Diagnostics) {
    for a in attrs {
        if let Some(other) = marker_of(a) {
            errors.push(both(kind.name(), other.name(), a));
        }
        for other in ["compile", "nested_compile_region"] {
            let disabled = kind == MarkerKind::Disable && other == "compile";
            if is_ours(a.path(), other) && !disabled {
                errors.push(both(kind.name(), other, a));
            }
        }
    }
}

pub(super) fn both(one: &str, other: &str, at: &Attribute) -> Diagnostic {
    let message = match one == other {
        true if ["compile", "nested_compile_region"].contains(&one) => {
            format!("`#[{one}]` stands here twice")
        }
        true => format!("this function is marked `{one}` twice"),
        false => format!("a function cannot be both `{one}` and `{other}`"),
    };
    Diagnostic::new(code::MARKERS, at, message).help("keep one of the two attributes")
}

/// The marker that an attribute is.
pub(super) fn marker_of(a: &Attribute) -> Option<MarkerKind> {
    MarkerKind::ALL.into_iter().find(|k| is_ours(a.path(), k.name()))
}

/// `name`, or `tensorplay::name`.
pub(super) fn is_ours(path: &Path, name: &str) -> bool {
    let mut back = path.segments.iter().rev();
    back.next().is_some_and(|s| s.ident == name) && back.next().is_none_or(|s| s.ident == "tensorplay")
}

/// `krate::name`.
pub(super) fn is_of(path: &Path, krate: Option<&Path>, name: &str) -> bool {
    let Some(krate) = krate else { return false };
    let mut full = krate.clone();
    full.segments.push(Ident::new(name, Span::call_site()).into());
    key(path) == key(&full)
}

/// Whether a type borrows from somewhere: it names a lifetime other than `'static`, or leaves one out after `&`.
#[derive(Default)]
struct Borrows(bool);

impl<'a> Visit<'a> for Borrows {
    fn visit_type_reference(&mut self, t: &'a TypeReference) {
        self.0 |= t.lifetime.is_none();
        visit::visit_type_reference(self, t);
    }
    fn visit_lifetime(&mut self, l: &'a Lifetime) {
        self.0 |= l.ident != "static";
    }
    // the lifetimes of a function's parameters are its own
    fn visit_type_fn_ptr(&mut self, _: &'a TypeFnPtr) {}
    fn visit_parenthesized_generic_arguments(&mut self, _: &'a ParenthesizedGenericArguments) {}
}

/// Every `impl Trait`.
#[derive(Default)]
struct ImplTraits(Vec<TokenStream>);

impl<'a> Visit<'a> for ImplTraits {
    fn visit_type_impl_trait(&mut self, t: &'a TypeImplTrait) {
        self.0.push(t.to_token_stream());
    }
}
