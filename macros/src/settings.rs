//! What the attribute says of calls, as the record of the function has it; nothing for what is not written.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use tensorplay_capture::{BackendName, Options, RegionOptions, SettingValue};

/// The settings of a function, or of a segment of one.
pub fn settings(o: &Options, p: &TokenStream) -> TokenStream {
    let mut out = TokenStream::new();
    if let Some(on) = o.dynamic {
        out.extend(quote!(.dynamic(#on)));
    }
    if let Some(name) = &o.name {
        out.extend(quote!(.named(#name)));
    }
    match &o.backend {
        Some(BackendName::Name(name)) => out.extend(quote!(.on(#name))),
        Some(BackendName::Entry(path)) => {
            let entry = quote_spanned!(path.span()=> &#path);
            out.extend(quote!(.on_entry(#entry)));
        }
        None => {}
    }
    if let Some(mode) = o.mode {
        let mode = format_ident!("{}", format!("{mode:?}"));
        out.extend(quote!(.in_mode(#p::Mode::#mode)));
    }
    if !o.settings.is_empty() {
        let each = o.settings.iter().map(|s| {
            let (name, value) = (&s.name, setting(&s.value, p));
            quote!((#name, #value))
        });
        out.extend(quote!(.with_options(&[#(#each),*])));
    }
    if let Some(limit) = o.recompile_limit {
        let (limit, fails) = (Literal::u32_unsuffixed(limit), o.fullgraph);
        out.extend(quote!(.recompile_limit(#limit, #fails)));
    }
    if o.isolate_recompiles {
        out.extend(quote!(.isolated()));
    }
    if o.strict_native {
        out.extend(quote!(.strict_native()));
    }
    out
}

fn setting(value: &SettingValue, p: &TokenStream) -> TokenStream {
    match value {
        SettingValue::Bool(on) => quote!(#p::Setting::Bool(#on)),
        SettingValue::Int(n) => {
            let n = Literal::i64_unsuffixed(*n);
            quote!(#p::Setting::Int(#n))
        }
        SettingValue::Str(s) => quote!(#p::Setting::Str(#s)),
    }
}

/// The settings of a region.
pub fn of_region(region: &RegionOptions) -> TokenStream {
    let n = Literal::usize_unsuffixed(region.max_reuse_entries);
    let hash = region.reuse_hash_fn.iter();
    let options = region.options.iter().map(|path| {
        let options = quote_spanned!(path.span()=> &#path);
        quote!(.compiled_with(#options))
    });
    quote!(.region(#n)#(.hashed_by(#hash))*#(#options)*)
}
