//! The expansion of `#[model] mod m { .. }`: its compiled functions, each in its place, and one accessor a struct.

use crate::chain::{self, Chain, Goal};
use crate::expand::{self, private};
use crate::within::within;
use crate::{self_test, twin};
use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use std::rc::Rc;
use syn::spanned::Spanned;
use syn::{
    Attribute, ImplItem, Item, ItemEnum, ItemFn, ItemImpl, ItemMod, ItemStruct, Meta, Path, Visibility,
};
use tensorplay_capture::{Diagnostic, Env, Model, Options, Ty, Under, code};

/// Expands the attribute.
pub fn model(attr: TokenStream, item: TokenStream) -> TokenStream {
    let krate = match crate_path(attr) {
        Ok(krate) => krate,
        Err(e) => {
            let error = e.to_compile_error();
            return quote!(#item #error);
        }
    };
    let mut module = match syn::parse2::<ItemMod>(item.clone()) {
        Ok(m) if m.content.is_some() => m,
        Ok(m) => {
            let d = Diagnostic::new(
                code::NOT_A_MODULE,
                &m.ident,
                "`#[model]` reads the items of an inline module",
            );
            let error = d.help("write mod name { .. }, with its items").to_compile_error();
            return quote!(#item #error);
        }
        Err(_) => {
            let shown: TokenStream = item.clone().into_iter().take(2).collect();
            let d = Diagnostic::new(code::NOT_A_MODULE, shown, "`#[model]` goes on an inline module");
            let error = d
                .help("put it on mod name { .. }, around structs and their methods")
                .to_compile_error();
            return quote!(#item #error);
        }
    };
    let Some((_, items)) = &mut module.content else {
        return item;
    };
    if let Some(krate) = &krate {
        within(krate, items);
    }
    let env = Env::of(Model::of(items), chain::items_of(items));
    let p = private(krate.as_ref());
    let env = Rc::new(env);
    let mut out = Vec::with_capacity(items.len() + 1);
    let (mut used, mut tests) = (Vec::new(), TokenStream::new());
    for item in items.drain(..) {
        let made = match item {
            Item::Fn(f) => function(&env, None, f, &mut used),
            Item::Struct(s) => {
                let exported = exported(&env, &s, krate.as_ref());
                let s = structure(&env, s, &p);
                quote!(#s #exported)
            }
            Item::Enum(e) => enumeration(&env, e, &p),
            Item::Impl(mut i) if i.trait_.is_none() => {
                let name = tensorplay_capture::self_name(&i.self_ty);
                let errors = distribute(&mut i);
                let cfgs = i.attrs.clone();
                i.items = i
                    .items
                    .into_iter()
                    .map(|item| match item {
                        ImplItem::Fn(f) => {
                            let tokens = f.into_token_stream();
                            match syn::parse2::<ItemFn>(tokens.clone()) {
                                Ok(f) => {
                                    let (options, item) = (compiled(&f), f.clone());
                                    let made = function(&env, name.as_deref(), f, &mut used);
                                    if let (Some(owner), Some(o)) = (&name, options) {
                                        let p = private(o.krate.as_ref());
                                        let test = self_test::of_method(owner, &item, &cfgs, &o, &made, &p);
                                        tests.extend(test);
                                    }
                                    ImplItem::Verbatim(made)
                                }
                                Err(_) => ImplItem::Verbatim(tokens),
                            }
                        }
                        other => other,
                    })
                    .collect();
                quote!(#i #errors)
            }
            other => other.into_token_stream(),
        };
        out.push(Item::Verbatim(made));
    }
    if !used.is_empty() {
        // the attributes are gone, their imports are not
        out.push(Item::Verbatim(
            quote!(#(#[allow(unused_imports)] use #used as _;)*),
        ));
    }
    if !tests.is_empty() {
        out.push(Item::Verbatim(tests));
    }
    *items = out;
    module.into_token_stream()
}

fn crate_path(attr: TokenStream) -> Result<Option<Path>, Diagnostic> {
    if attr.is_empty() {
        return Ok(None);
    }
    match syn::parse2::<Meta>(attr.clone()) {
        Ok(Meta::NameValue(m)) if m.path.is_ident("crate") => {
            if let Ok(path) = syn::parse2::<Path>(m.value.to_token_stream()) {
                return Ok(Some(path));
            }
        }
        _ => {}
    }
    let d = Diagnostic::new(code::ARGUMENT_SYNTAX, attr, "this is not an argument of `model`");
    Err(d.help("the only argument is `crate = path`"))
}

/// Puts the attribute of an `impl` on the methods that it is for.
fn distribute(i: &mut ItemImpl) -> TokenStream {
    let ours = |a: &Attribute| {
        a.path()
            .segments
            .last()
            .is_some_and(|s| s.ident == Under::Compile.name())
    };
    let Some(at) = i.attrs.iter().position(ours) else {
        return TokenStream::new();
    };
    let attribute = i.attrs.remove(at);
    match tensorplay_capture::methods(&arguments(&attribute), i) {
        Ok(chosen) => {
            for n in chosen {
                if let ImplItem::Fn(f) = &mut i.items[n] {
                    f.attrs.insert(0, attribute.clone());
                }
            }
            TokenStream::new()
        }
        Err(errors) => errors.iter().map(Diagnostic::to_compile_error).collect(),
    }
}

fn arguments(attribute: &Attribute) -> TokenStream {
    match &attribute.meta {
        Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    }
}

/// The arguments of the `#[compile]` of a function.
fn compiled(f: &ItemFn) -> Option<Options> {
    let of = |a: &&Attribute| {
        let last = a.path().segments.last();
        last.is_some_and(|s| s.ident == Under::Compile.name())
    };
    Some(Options::of(arguments(f.attrs.iter().find(of)?)))
}

/// A function of the module; one with an attribute of ours is captured with the module.
fn function(env: &Env, receiver: Option<&str>, mut f: ItemFn, used: &mut Vec<Path>) -> TokenStream {
    let under = |a: &Attribute| {
        let last = a.path().segments.last()?;
        [Under::Compile, Under::Region]
            .into_iter()
            .find(|u| last.ident == u.name())
    };
    let Some(at) = f.attrs.iter().position(|a| under(a).is_some()) else {
        return f.into_token_stream();
    };
    let attribute = f.attrs.remove(at);
    let Some(under) = under(&attribute) else {
        return f.into_token_stream();
    };
    if !used.contains(attribute.path()) {
        used.push(attribute.path().clone());
    }
    let arguments = arguments(&attribute);
    let env = Rc::new(env.within(receiver));
    expand::compile_in(&env, under, arguments, f.into_token_stream())
}

/// The macro of a struct that others see, once what its methods need was looked up.
fn exported(env: &Rc<Env>, s: &ItemStruct, krate: Option<&Path>) -> TokenStream {
    let name = s.ident.to_string();
    let known = env.model.as_ref().is_some_and(|m| m.structs.contains_key(&name));
    if !known || matches!(s.vis, Visibility::Inherited) {
        return TokenStream::new();
    }
    let pending = tensorplay_capture::needs_of_type(env, &name);
    if pending.is_empty() {
        return type_twin(env, s);
    }
    let (vis, ident) = (&s.vis, &s.ident);
    let chain = Chain {
        goal: Goal::Type,
        under: Under::Region,
        attr: TokenStream::new(),
        item: quote!(#vis struct #ident;),
        receiver: None,
        items: env.items.clone(),
        krate: krate.cloned(),
        pending,
        done: Vec::new(),
    };
    chain.go()
}

/// The macro of a struct's own name, by which models elsewhere look it up.
pub fn type_twin(env: &Rc<Env>, s: &ItemStruct) -> TokenStream {
    let name = &s.ident;
    let Some(exported) = tensorplay_capture::export_type(env, &name.to_string()) else {
        return TokenStream::new();
    };
    let unique = format_ident!("__tp_t_{}", twin::unique(name));
    twin::declare_as(&unique, name, &s.vis, &chain::export_arm(&exported))
}

/// An enum, and the number of its variant.
fn enumeration(env: &Env, e: ItemEnum, p: &TokenStream) -> TokenStream {
    let known = env.model.as_ref().and_then(|m| m.enums.get(&e.ident.to_string()));
    let Some(known) = known else {
        return e.into_token_stream();
    };
    let name = &e.ident;
    let variants = e.variants.iter().map(|v| &v.ident);
    let numbers = (0..known.len()).map(Literal::usize_suffixed);
    quote! {
        #e
        impl #p::Fields for #name {
            fn fields<'a>(&'a self, __tp_out: &mut #p::Arguments<'a>) {
                let __tp_number = match self {
                    #(Self::#variants => #numbers,)*
                };
                __tp_out.number(__tp_number);
            }
        }
    }
}

/// A struct, and how it is flattened.
fn structure(env: &Env, s: ItemStruct, p: &TokenStream) -> TokenStream {
    let known = env
        .model
        .as_ref()
        .and_then(|m| m.structs.get(&s.ident.to_string()));
    let Some(known) = known else {
        return s.into_token_stream();
    };
    let name = &s.ident;
    let parts = s.fields.members().zip(&s.fields).zip(&known.fields);
    let parts = parts
        .filter(|(_, (_, ty))| env.is_read(ty))
        .map(|((member, field), (_, ty))| {
            let at = field.ty.span();
            match ty.core() {
                Ty::Foreign(_) => quote_spanned! {at=> {
                    #[allow(unused_imports)]
                    use #p::{FieldsFound as _, FieldsMissing as _};
                    (&#p::LookedUp(&self.#member)).looked_up(__tp_out);
                }},
                _ => quote_spanned!(at=> #p::Fields::fields(&self.#member, __tp_out);),
            }
        });
    quote! {
        #s
        impl #p::Fields for #name {
            #[allow(unused_variables)]
            fn fields<'a>(&'a self, __tp_out: &mut #p::Arguments<'a>) {
                #(#parts)*
            }
        }
    }
}
