//! What `#[model(crate = path)]` says of the attributes inside the module that do not say it themselves.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::quote;
use syn::{Attribute, ImplItem, Item, MacroDelimiter, Meta, MetaList, Path, token};
use tensorplay_capture::{MarkerKind, Under, key};

/// Adds the path to the attributes of functions and `impl`s.
pub fn within(krate: &Path, items: &mut [Item]) {
    for item in items {
        match item {
            Item::Fn(f) => f.attrs.iter_mut().for_each(|a| add(krate, a)),
            Item::Impl(i) => {
                i.attrs.iter_mut().for_each(|a| add(krate, a));
                for item in &mut i.items {
                    if let ImplItem::Fn(f) = item {
                        f.attrs.iter_mut().for_each(|a| add(krate, a));
                    }
                }
            }
            _ => {}
        }
    }
}

fn add(krate: &Path, attribute: &mut Attribute) {
    if !is_ours(krate, attribute.path()) {
        return;
    }
    let (path, given) = match &attribute.meta {
        Meta::Path(path) => (path, TokenStream::new()),
        Meta::List(list) => (&list.path, list.tokens.clone()),
        Meta::NameValue(_) => return,
    };
    if says(given.clone()) {
        return;
    }
    let last = given.clone().into_iter().last();
    let open = last.is_some_and(|t| !matches!(t, TokenTree::Punct(p) if p.as_char() == ','));
    let comma = open.then(|| quote!(,));
    attribute.meta = Meta::List(MetaList {
        path: path.clone(),
        delimiter: MacroDelimiter::Paren(token::Paren::default()),
        tokens: quote!(#given #comma crate = #krate),
    });
}

/// Whether `name`, `tensorplay::name` or `krate::name` is an attribute of ours.
fn is_ours(krate: &Path, path: &Path) -> bool {
    let Some(last) = path.segments.last() else {
        return false;
    };
    let mut names = MarkerKind::ALL.map(MarkerKind::name).into_iter();
    if [Under::Compile, Under::Region]
        .iter()
        .any(|u| last.ident == u.name())
    {
        return true;
    }
    let mut full = krate.clone();
    full.segments.push(last.clone());
    let n = path.segments.len();
    let ours = n == 1 || n == 2 && path.segments[0].ident == "tensorplay" || key(&full) == key(path);
    ours && names.any(|name| last.ident == name)
}

/// Whether arguments have a `crate = ..`.
fn says(arguments: TokenStream) -> bool {
    let mut first = true;
    let mut trees = arguments.into_iter().peekable();
    while let Some(t) = trees.next() {
        let equals = matches!(trees.peek(), Some(TokenTree::Punct(p)) if p.as_char() == '=');
        match &t {
            TokenTree::Ident(i) if first && equals && i == "crate" => return true,
            TokenTree::Group(g) if g.delimiter() == Delimiter::None && says(g.stream()) => return true,
            TokenTree::Punct(p) => first = p.as_char() == ',',
            _ => first = false,
        }
    }
    false
}
