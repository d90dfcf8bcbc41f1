//! `explain!(p)` and `graph!(p)`: from a path to the compiled function behind it, by the path's shape.

use crate::expand::private;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{ExprPath, PathArguments};
use tensorplay_capture::{Diagnostic, code};

/// `private::what(function)`. A free function's macro says where `private` is; a method's is under `::tensorplay`.
pub fn function(what: &str, tokens: TokenStream) -> TokenStream {
    let path: ExprPath = match syn::parse2(tokens.clone()) {
        Ok(p) => p,
        Err(_) => {
            let message = "expected the path of a compiled function";
            return Diagnostic::new(code::FUNCTION_PATH, tokens, message)
                .help("write explain!(module::function) or explain!(Type::method)")
                .to_compile_error();
        }
    };
    let what = format_ident!("{}", what);
    if through_type(&path) {
        let (p, function) = (private(None), of_type(path));
        quote!(#p::#what(#function))
    } else {
        of_macro(&what, path)
    }
}

/// Whether the last but one segment is a type: it begins in upper case.
fn through_type(path: &ExprPath) -> bool {
    let segments = &path.path.segments;
    match segments.len().checked_sub(2).and_then(|i| segments.get(i)) {
        Some(s) => s.ident.to_string().starts_with(char::is_uppercase),
        None => path.qself.is_some(),
    }
}

fn of_type(mut path: ExprPath) -> TokenStream {
    if let Some(last) = path.path.segments.last_mut() {
        last.ident = format_ident!("__tp_meta_{}", last.ident, span = last.ident.span());
        last.arguments = PathArguments::None;
    }
    quote!(#path())
}

fn of_macro(what: &Ident, path: ExprPath) -> TokenStream {
    let mut name = path.path.clone();
    for s in &mut name.segments {
        s.arguments = PathArguments::None;
    }
    let path = path.into_token_stream();
    quote!(#name!{ @#what #path })
}
