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
use crate::{model, twin};
use proc_macro2::{Delimiter, Group, Ident, Literal, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use std::collections::BTreeMap;
use std::rc::Rc;
use syn::parse::{Parse, ParseStream};
use syn::{File, ItemFn, ItemStruct, LitByteStr, Path};
use tensorplay_capture::{Diagnostic, Env, Exported, Model, Under, code, key};

/// What the last step expands to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// The record of a function.
    Function,
    /// The macro of a function's name, which tells its callers its graph.
    Twin,
    /// The macro of a struct's name, which tells models elsewhere its parts and methods.
    Type,
    /// The function itself, for its body is another one where it has graph breaks.
    Item,
}

/// A look-up on its way.
pub struct Chain {
    pub goal: Goal,
    pub under: Under,
    pub attr: TokenStream,
    /// The function, or the struct without its fields.
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
            Goal::Type => quote!(ty),
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
                None => return another_version(path),
            };
        }
        let model = syn::parse2::<File>(self.items.clone()).map(|f| Model::of(&f.items));
        let model = model.ok().filter(|_| !self.items.is_empty());
        let env = Rc::new(Env::looked_up(model, self.receiver.clone(), externs));
        match self.goal {
            Goal::Function => expand::record(&env, self.under, self.attr, self.item),
            Goal::Item => expand::compile_in(&env, self.under, self.attr, self.item),
            Goal::Twin => self.twin(&env),
            Goal::Type => match syn::parse2::<ItemStruct>(self.item) {
                Ok(s) => model::type_twin(&env, &s),
                Err(_) => TokenStream::new(),
            },
        }
    }

    /// A function that cannot be captured has a macro too: its own expansion reports what is wrong with it.
    fn twin(self, env: &Rc<Env>) -> TokenStream {
        let Ok(f) = syn::parse2::<ItemFn>(self.item.clone()) else {
            return TokenStream::new();
        };
        let p = private(self.krate.as_ref());
        match tensorplay_capture::compile_in(env, self.under, self.attr, self.item) {
            Ok(c) => twin::twin(&c.item, &p, &export_arm(&Exported::Function(c.export()))),
            Err(_) => twin::twin(&f, &p, &TokenStream::new()),
        }
    }
}

fn another_version(path: &Path) -> TokenStream {
    let shown = key(path).replace(' ', "");
    Diagnostic::new(
        code::ANOTHER_VERSION,
        path,
        format!("`{shown}` was captured by another version of tensorplay than this crate uses"),
    )
    .help("let all crates use one version; `cargo tree -d` lists crates that are there twice")
    .to_compile_error()
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
                    "ty" => Goal::Type,
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
            return Diagnostic::new(
                code::ANOTHER_VERSION,
                TokenStream::new(),
                format!("a macro of another version of tensorplay answered a look-up ({e})"),
            )
            .help("let all crates use one version; `cargo tree -d` lists crates that are there twice")
            .to_compile_error();
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

/// The item that a step is for: the second group of its state.
pub fn item(step: TokenStream) -> TokenStream {
    let group = |t: TokenTree| match t {
        TokenTree::Group(g) => Some(g.stream()),
        _ => None,
    };
    let state = step.into_iter().filter_map(group).next().unwrap_or_default();
    state.into_iter().filter_map(group).nth(1).unwrap_or_default()
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
