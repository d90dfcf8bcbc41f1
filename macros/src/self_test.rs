//! `self_test`: a test beside the function, which compares what is compiled with the operations one by one.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::{Attribute, ItemFn};
use tensorplay_capture::Options;

/// The test of a free function, whose record `reach` gives.
pub fn of_function(item: &ItemFn, options: &Options, reach: &TokenStream, p: &TokenStream) -> TokenStream {
    if !options.self_test {
        return TokenStream::new();
    }
    let at = options.span("self_test");
    let name = &item.sig.ident;
    let mut shown = name.clone();
    shown.set_span(name.span().located_at(at));
    let test = test(
        &format_ident!("__tp_self_test_{}", name),
        &item.attrs,
        at,
        reach,
        p,
    );
    let cfgs = item.attrs.iter().filter(|a| a.path().is_ident("cfg"));
    // no test runs inside of a body, from where `self` does not lead to the function
    quote_spanned! {Span::call_site().located_at(at)=>
        #(#cfgs)*
        #[allow(unused_imports)]
        use self::#shown as _;
        #test
    }
}

/// The test of a method of a type of a `#[model]` module, unless it was not captured.
pub fn of_method(
    owner: &str,
    item: &ItemFn,
    cfgs: &[Attribute],
    options: &Options,
    made: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    if !options.self_test || options.disable || fails(made) {
        return TokenStream::new();
    }
    let (name, ty) = (&item.sig.ident, format_ident!("{}", owner));
    let meta = format_ident!("__tp_meta_{}", name);
    let attrs: Vec<Attribute> = cfgs.iter().chain(&item.attrs).cloned().collect();
    let at = options.span("self_test");
    let test_name = format_ident!("__tp_self_test_{}_{}", ty, name);
    test(&test_name, &attrs, at, &quote!(#ty::#meta()), p)
}

fn test(name: &Ident, attrs: &[Attribute], at: Span, reach: &TokenStream, p: &TokenStream) -> TokenStream {
    let cfgs = attrs.iter().filter(|a| a.path().is_ident("cfg"));
    let test = quote_spanned!(Span::call_site().located_at(at)=> #[::core::prelude::v1::test]);
    quote! {
        #(#cfgs)*
        #[cfg(test)]
        #test
        #[allow(deprecated, non_snake_case)]
        fn #name() {
            #p::self_test(#reach)
        }
    }
}

/// Whether an expansion has an error in it.
fn fails(made: &TokenStream) -> bool {
    made.clone().into_iter().any(|t| match t {
        TokenTree::Ident(i) => i == "compile_error",
        TokenTree::Group(g) => fails(&g.stream()),
        _ => false,
    })
}
