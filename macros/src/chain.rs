//! Look-up in the macro namespace: what a function needs from elsewhere is asked of macros of the same names.
//!
//! Problem: a macro sees its own tokens; the graphs of other functions and layers are in other expansions.
//!
//! Method: continuation passing. `path!{ @export [::tensorplay::__step] { state } }` is answered by
//! `::tensorplay::__step!{ b".." { state } }`, which asks the next path, and at the end expands to what was wanted.
//! The chain stands inside the function, so the item is there whatever comes of it; a path without such a macro is one
//! error at that path. Without `fullgraph` it stands in place of the function, whose body is not known before.
//!
//! Invariants: the state is tokens of this crate alone; nothing is kept between two expansions.

use crate::expand::{self, private};
use crate::twin;
use proc_macro2::{Delimiter, Group, Ident, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};
use std::collections::BTreeMap;
use std::rc::Rc;
use syn::parse::{Parse, ParseStream};
use syn::{File, ItemFn, LitByteStr, Path};
use tensorplay_capture::{Env, Exported, Model, Under, key};

/// What the last step expands to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// The record of a function.
    Function,
    /// The macro that tells its callers its graph.
    Twin,
    /// The function itself, for its body is another one where it has graph breaks.
    Item,
}

/// A look-up on its way.
pub struct Chain {
    pub goal: Goal,
    pub under: Under,
    pub attr: TokenStream,
    pub item: TokenStream,
    pub receiver: Option<String>,
    /// The items of the `#[model]` module.
    pub items: TokenStream,
    pub krate: Option<Path>,
    pub pending: Vec<Path>,
    pub done: Vec<(Path, Vec<u8>)>,
}

impl Chain {
    /// The next question, or what was wanted.
    pub fn go(self) -> TokenStream {
        let Some(path) = self.pending.first() else {
            return self.finish();
        };
        let root = match &self.krate {
            Some(path) => quote!(#path),
            None => quote!(::tensorplay),
        };
        let state = self.state();
        quote!(#path!{ @export [#root::__step] #state })
    }

    fn state(&self) -> TokenStream {
        let goal = match self.goal {
            Goal::Function => quote!(function),
            Goal::Twin => quote!(twin),
            Goal::Item => quote!(item),
        };
        let under = match self.under {
            Under::Compile => quote!(compile),
            Under::Region => quote!(region),
        };
        let (attr, item, items, pending) = (&self.attr, &self.item, &self.items, &self.pending);
        let receiver = self.receiver.as_ref().map(|r| format_ident!("{r}"));
        let krate = &self.krate;
        let done = self.done.iter().map(|(path, bytes)| {
            let bytes = Literal::byte_string(bytes);
            quote!(#path = #bytes,)
        });
        quote! { {
            #goal #under { #attr } { #item } { #receiver } { #items } { #krate } { #(#pending,)* } { #(#done)* }
        } }
    }

    fn finish(self) -> TokenStream {
        let mut externs = BTreeMap::new();
        for (path, bytes) in &self.done {
            match Exported::decode(bytes) {
                Some(e) => externs.insert(key(path), e),
                None => {
                    let message = format!(
                        "`{}` was captured by another version of tensorplay",
                        key(path).replace(' ', "")
                    );
                    return syn::Error::new_spanned(path, message).to_compile_error();
                }
            };
        }
        let model = syn::parse2::<File>(self.items.clone()).map(|f| Model::of(&f.items));
        let model = model.ok().filter(|_| !self.items.is_empty());
        let env = Rc::new(Env::looked_up(model, self.receiver.clone(), externs));
        match self.goal {
            Goal::Function => expand::record(&env, self.under, self.attr, self.item),
            Goal::Item => expand::compile_in(&env, self.under, self.attr, self.item),
            Goal::Twin => {
                let Ok(f) = syn::parse2::<ItemFn>(self.item.clone()) else {
                    return TokenStream::new();
                };
                // the function's own expansion reports what is wrong with it
                match tensorplay_capture::compile_in(&env, self.under, self.attr, self.item) {
                    Ok(c) => export_macro(&f, &Exported::Function(c.export())),
                    Err(_) => TokenStream::new(),
                }
            }
        }
    }
}

/// The name of the macro that holds a function's export.
pub fn export_name(f: &ItemFn) -> Ident {
    format_ident!("__tp_e_{}", twin::unique(&f.sig.ident))
}

/// `macro_rules! name { (@export [step] state) => { step!{ bytes state } } }`, seen where the function is.
fn export_macro(f: &ItemFn, exported: &Exported) -> TokenStream {
    let name = export_name(f);
    let arm = export_arm(exported);
    twin::declare_as(&name, &name, &f.vis, &arm)
}

/// The arm of a macro that answers a look-up.
pub fn export_arm(exported: &Exported) -> TokenStream {
    let bytes = Literal::byte_string(&exported.encode());
    quote!((@export [$($step:tt)*] $($state:tt)*) => { $($step)*!{ #bytes $($state)* } };)
}

/// A macro's answer, and the state that it hands on.
struct Answer {
    bytes: LitByteStr,
    chain: Chain,
}

fn group(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let g: Group = input.parse()?;
    match g.delimiter() {
        Delimiter::Brace => Ok(g.stream()),
        _ => Err(syn::Error::new(g.span(), "expected braces")),
    }
}

impl Parse for Answer {
    fn parse(input: ParseStream<'_>) -> syn::Result<Answer> {
        let bytes = input.parse()?;
        let state;
        syn::braced!(state in input);
        let goal: Ident = state.parse()?;
        let under: Ident = state.parse()?;
        let (attr, item, receiver) = (group(&state)?, group(&state)?, group(&state)?);
        let (items, krate, pending, done) = (group(&state)?, group(&state)?, group(&state)?, group(&state)?);
        let paths = |input: ParseStream<'_>| {
            let mut paths = Vec::new();
            while !input.is_empty() {
                paths.push(input.parse::<Path>()?);
                input.parse::<syn::Token![,]>()?;
            }
            Ok(paths)
        };
        let answers = |input: ParseStream<'_>| {
            let mut answers = Vec::new();
            while !input.is_empty() {
                let path: Path = input.parse()?;
                input.parse::<syn::Token![=]>()?;
                answers.push((path, input.parse::<LitByteStr>()?.value()));
                input.parse::<syn::Token![,]>()?;
            }
            Ok(answers)
        };
        Ok(Answer {
            bytes,
            chain: Chain {
                goal: match goal.to_string().as_str() {
                    "twin" => Goal::Twin,
                    "item" => Goal::Item,
                    _ => Goal::Function,
                },
                under: if under == "region" {
                    Under::Region
                } else {
                    Under::Compile
                },
                attr,
                item,
                receiver: receiver.into_iter().next().map(|t| t.to_string()),
                items,
                krate: if krate.is_empty() {
                    None
                } else {
                    Some(syn::parse2(krate)?)
                },
                pending: syn::parse::Parser::parse2(paths, pending)?,
                done: syn::parse::Parser::parse2(answers, done)?,
            },
        })
    }
}

/// `__step!{ b".." { state } }`.
pub fn step(input: TokenStream) -> TokenStream {
    let answer: Answer = match syn::parse2(input) {
        Ok(a) => a,
        Err(e) => {
            let message = format!("tensorplay: a macro of another version answered a look-up ({e})");
            return quote!(::core::compile_error!(#message););
        }
    };
    let mut chain = answer.chain;
    if chain.pending.is_empty() {
        return chain.finish();
    }
    let path = chain.pending.remove(0);
    chain.done.push((path, answer.bytes.value()));
    chain.go()
}

/// What a chain needs of the path to the private items.
pub fn fallback(krate: Option<&Path>) -> TokenStream {
    let p = private(krate);
    quote! {
        #[allow(unused_imports)]
        use #p::fallback::*;
    }
}

/// The tokens of items, for the state.
pub fn items_of(items: &[syn::Item]) -> TokenStream {
    items.iter().map(ToTokens::to_token_stream).collect()
}
