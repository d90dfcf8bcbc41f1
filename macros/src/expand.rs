//! The expansion of `#[compile]`.
//!
//! The item keeps its shape; its body becomes `{ static; if let Some(r) = static.call(..) { return r } statements }`,
//! so rustc checks the user's own tokens, and the statements are the eager path. Locals have
//! `Span::mixed_site`, items begin with `__tp_`, paths are absolute.

use crate::arguments::{self, Arguments};
use crate::chain::{self, Chain, Goal};
use crate::{segment, self_test, settings, twin};
use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use std::rc::Rc;
use syn::{Expr, ItemFn, ItemImpl, Path, Stmt};
use tensorplay_capture::{
    CalleeRef, Captured, Diagnostic, Env, Exported, Failure, Options, Param, Read, ReturnTree, Setting,
    SettingValue, Under, code, line,
};
use tensorplay_stax::{CompileOptions, Compiled};

/// The module of the facade crate that expansions use.
pub fn private(krate: Option<&Path>) -> TokenStream {
    match krate {
        Some(path) => quote!(#path::__private),
        None => quote!(::tensorplay::__private),
    }
}

/// Expands `#[compile(attr)] item`, for a function or an `impl`, or the same of a region.
pub fn compile(under: Under, attr: TokenStream, item: TokenStream) -> TokenStream {
    if under == Under::Compile
        && let Ok(block) = syn::parse2::<ItemImpl>(item.clone())
    {
        return crate::block::block(attr, block);
    }
    compile_in(&Rc::new(Env::default()), under, attr, item)
}

/// Expands a function that is captured with what `env` knows; what it needs from elsewhere is looked up first.
pub fn compile_in(env: &Rc<Env>, under: Under, attr: TokenStream, item: TokenStream) -> TokenStream {
    let pending = tensorplay_capture::needs(env, under, &attr, &item);
    if pending.is_empty() {
        return match tensorplay_capture::compile_in(env, under, attr, item) {
            Ok(captured) => expand(captured),
            Err(Failure {
                segmented: Some(s), ..
            }) => segment::expand(*s),
            Err(f) => failure(f),
        };
    }
    let chain = |goal, krate: Option<&Path>| Chain {
        goal,
        under,
        attr: attr.clone(),
        item: item.clone(),
        receiver: env.receiver.clone(),
        items: env.items.clone(),
        krate: krate.cloned(),
        pending: pending.clone(),
        done: Vec::new(),
    };
    if under == Under::Compile {
        let options = Options::of(attr.clone());
        if !options.is_whole() {
            return chain(Goal::Item, options.krate.as_ref()).go();
        }
    }
    let c = match tensorplay_capture::sketch(env, under, attr.clone(), item.clone()) {
        Ok(c) => c,
        Err(f) => return failure(f),
    };
    let krate = c.options.krate.as_ref();
    let (fallback, record) = (chain::fallback(krate), chain(Goal::Function, krate).go());
    let twin = match c.method || is_opaque(&c) || twin::is_standard(&c.item.sig.ident) {
        true => Twin::Own(TokenStream::new()),
        false => Twin::Asked(chain(Goal::Twin, krate).go()),
    };
    put(c, quote!(#fallback #record), twin)
}

/// Where the macro of a free function's name comes from.
pub enum Twin {
    /// It is made here, with these arms.
    Own(TokenStream),
    /// These tokens make it.
    Asked(TokenStream),
}

/// Whether no value can be made of some parameter's type.
fn is_opaque(c: &Captured) -> bool {
    c.params.iter().any(|param| param.tree.is_opaque())
}

/// The record of a function that was looked up for: what stands for its `static`.
pub fn record(env: &Rc<Env>, under: Under, attr: TokenStream, item: TokenStream) -> TokenStream {
    let c = match tensorplay_capture::compile_in(env, under, attr, item) {
        Ok(c) => c,
        Err(f) => return f.diagnostics.iter().map(|d| d.to_compile_error()).collect(),
    };
    let p = private(c.options.krate.as_ref());
    match tensorplay_stax::compile(&c.paths, &options(&c.options)) {
        Ok(compiled) => function(&c, &compiled, &p),
        Err(e) => not_compiled(&c.item, &e),
    }
}

/// What stax is told.
pub fn options(o: &Options) -> CompileOptions {
    let on = |s: &Setting| s.name == "fast_math" && s.value == SettingValue::Bool(true);
    let mut options = CompileOptions {
        fast_math: o.settings.iter().any(on),
        ..CompileOptions::default()
    };
    if let Some(dtypes) = &o.dtypes {
        options.dtypes.clone_from(dtypes);
    }
    options
}

/// The item, and the errors beside it.
pub fn failure(f: Failure) -> TokenStream {
    let Failure {
        mut item,
        diagnostics,
        ..
    } = f;
    item.extend(diagnostics.iter().map(|d| d.to_compile_error()));
    item
}

fn expand(c: Captured) -> TokenStream {
    let compiled = match tensorplay_stax::compile(&c.paths, &options(&c.options)) {
        Ok(compiled) => compiled,
        Err(e) => return internal(&c.item, &e),
    };
    let p = private(c.options.krate.as_ref());
    let record = function(&c, &compiled, &p);
    let export = match c.method {
        true => TokenStream::new(),
        false => chain::export_arm(&Exported::Function(c.export())),
    };
    put(c, record, Twin::Own(export))
}

/// The item with its record and dispatch in front of its statements, and what reaches it beside.
fn put(c: Captured, function: TokenStream, twin: Twin) -> TokenStream {
    let p = private(c.options.krate.as_ref());
    let (method, opaque) = (c.method, is_opaque(&c));
    let reached = reached(&c.item, method, opaque, function, twin, &c.options);
    let dispatch = dispatch(&c, &reached.reach, &p);
    reached.item(c.item, dispatch)
}

/// How a function's record is reached.
pub struct Reached {
    /// From its body.
    pub reach: TokenStream,
    /// What stands before its statements.
    pub before: TokenStream,
    /// What stands beside it.
    beside: TokenStream,
}

impl Reached {
    /// The function, with what its body does first.
    pub fn item(self, mut item: ItemFn, first: TokenStream) -> TokenStream {
        let mut stmts = Vec::with_capacity(item.block.stmts.len() + 2);
        if !self.before.is_empty() {
            stmts.push(Stmt::Item(syn::Item::Verbatim(self.before)));
        }
        stmts.push(Stmt::Expr(Expr::Verbatim(first), None));
        stmts.append(&mut item.block.stmts);
        item.block.stmts = stmts;
        let beside = self.beside;
        quote!(#item #beside)
    }
}

/// Puts the record where the body and `explain!` find it.
pub fn reached(
    item: &ItemFn,
    method: bool,
    opaque: bool,
    function: TokenStream,
    twin: Twin,
    options: &Options,
) -> Reached {
    let name = &item.sig.ident;
    let p = &private(options.krate.as_ref());
    let (reach, before, beside) = if method {
        let (vis, meta) = (&item.vis, format_ident!("__tp_meta_{}", name));
        // of an `impl` or a module under one attribute, they are not taken out yet
        let cfg = item.attrs.iter().filter(|a| a.path().is_ident("cfg"));
        // a trait has no such function: rustc says so at the user's name
        let at = Span::call_site().located_at(name.span());
        let beside = quote_spanned! {at=>
            #(#cfg)*
            #[doc(hidden)]
            #[allow(dead_code, non_snake_case)]
            #vis fn #meta() -> &'static #p::Function {
                #function
                &__TP_FUNCTION
            }
        };
        (quote!(Self::#meta()), TokenStream::new(), beside)
    } else if opaque {
        let export = match twin {
            Twin::Own(export) => export,
            Twin::Asked(_) => TokenStream::new(),
        };
        let (reach, mut beside) = twin::of_type(item, &function, p, &export);
        beside.extend(self_test::of_function(item, options, &reach, p));
        (reach, TokenStream::new(), beside)
    } else {
        let mut beside = match twin {
            Twin::Own(export) => twin::twin(item, p, &export),
            Twin::Asked(twin) => twin,
        };
        let found = twin::probe(item, p);
        beside.extend(self_test::of_function(item, options, &found, p));
        (quote!(__TP_FUNCTION), function, beside)
    };
    Reached {
        reach,
        before,
        beside,
    }
}

/// Capture has checked the graph, so a failure from here on is ours.
pub fn internal(item: &ItemFn, e: &dyn std::fmt::Display) -> TokenStream {
    let error = not_compiled(item, e);
    quote!(#item #error)
}

fn not_compiled(item: &ItemFn, e: &dyn std::fmt::Display) -> TokenStream {
    Diagnostic::new(
        code::INTERNAL,
        &item.sig.ident,
        format!("this function could not be compiled: {e}"),
    )
    .help("please report it; `#[compile(disable)]` leaves the function alone")
    .to_compile_error()
}

/// The static that holds everything about the function.
fn function(c: &Captured, compiled: &Compiled, p: &TokenStream) -> TokenStream {
    let consts = if c.reads_consts() { &c.reads[..] } else { &[] };
    let mut more = about(&c.codes, &c.callees, consts, p);
    more.extend(settings::settings(&c.options, p));
    more.extend(c.region.as_ref().map(settings::of_region));
    let value = value(&c.item, c.owner.as_deref(), compiled, &more, p);
    quote!(static __TP_FUNCTION: #p::Function = #value;)
}

/// A record of graphs, with what else is to be said about it.
pub fn value(
    item: &ItemFn,
    owner: Option<&str>,
    compiled: &Compiled,
    more: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let place = place(item, owner);
    let blob = Literal::byte_string(&compiled.blob);
    let (items, table) = strips(compiled, p);
    quote!({ #items #p::Function::new(#place, #blob, #table)#more })
}

/// The path, file and line of a function.
pub fn place(item: &ItemFn, owner: Option<&str>) -> TokenStream {
    let name = &item.sig.ident;
    let path = match owner {
        Some(owner) => format!("::{owner}::{name}"),
        None => format!("::{name}"),
    };
    let line = Literal::u32_unsuffixed(line(name.span()));
    quote!(::core::concat!(::core::module_path!(), #path), ::core::file!(), #line)
}

/// What graphs call and read, and how many results they have.
pub fn about(codes: &[Vec<u32>], callees: &[CalleeRef], consts: &[Read], p: &TokenStream) -> TokenStream {
    let mut more = self::codes(codes);
    if !callees.is_empty() {
        let reach = callees.iter().map(|f| &f.reach);
        more.extend(quote!(.calling(&[#(|| #reach),*])));
    }
    if !consts.is_empty() {
        let consts = consts.iter().filter_map(|read| arguments::number(read, p));
        more.extend(quote!(.reading(|| ::std::vec![#(#consts),*])));
    }
    more
}

/// How many results each path has, where the return type does not say.
fn codes(paths: &[Vec<u32>]) -> TokenStream {
    if paths.iter().all(Vec::is_empty) {
        return TokenStream::new();
    }
    let paths = paths.iter().map(|codes| {
        let codes = codes.iter().map(|n| Literal::u32_unsuffixed(*n));
        quote!(&[#(#codes),*])
    });
    quote!(.with_codes(&[#(#paths),*]))
}

/// The items of the strips, and the table of them.
fn strips(compiled: &Compiled, p: &TokenStream) -> (TokenStream, TokenStream) {
    let n = compiled.names.len();
    if n == 0 {
        return (TokenStream::new(), quote!(&[]));
    }
    let items = match compiled.strips.parse::<TokenStream>() {
        Ok(items) => items,
        Err(e) => {
            let message = format!("tensorplay: the emitted kernels do not parse ({e}); please report this");
            return (quote!(::core::compile_error!(#message);), quote!(&[]));
        }
    };
    let names = compiled.names.iter().map(|n| Ident::new(n, Span::call_site()));
    let table = |vis: TokenStream, p: &TokenStream| {
        quote! {
            #[allow(unused_imports)]
            use #p::{bf16, f16, strip};
            #items
            #vis static STRIPS: [#p::Strip; #n] = [#(#p::strip::<#names>()),*];
        }
    };
    // a module of their own: a local named as a lower-case const of the user's would be a pattern that is that const
    match in_module(p) {
        Some(p) => {
            let table = table(quote!(pub(super)), &p);
            (quote!(mod __tp_kernels { #table }), quote!(&__tp_kernels::STRIPS))
        }
        None => (table(TokenStream::new(), p), quote!(&STRIPS)),
    }
}

/// A path as a module of the function names it; `None` if only the function's own module may know its first word.
fn in_module(p: &TokenStream) -> Option<TokenStream> {
    match p.clone().into_iter().next() {
        Some(TokenTree::Punct(_)) => Some(p.clone()),
        Some(TokenTree::Ident(i)) if i == "crate" => Some(p.clone()),
        Some(TokenTree::Ident(i)) if i == "super" => Some(quote!(super::#p)),
        Some(TokenTree::Ident(i)) if i == "self" => {
            let rest = p.clone().into_iter().skip(1);
            Some(quote!(super #(#rest)*))
        }
        _ => None,
    }
}

/// `if let Some(r) = f.call(..) { return .. }`.
fn dispatch(c: &Captured, reach: &TokenStream, p: &TokenStream) -> TokenStream {
    let reads = if c.reads_consts() { &[] } else { &c.reads[..] };
    let instance = arguments::instance(&c.item.sig, &c.options, p);
    let given = Arguments::of_params(&c.params, p).with(reads, p).of(instance);
    // the parts of structs and lists follow
    let lists = c.params.iter().filter_map(Param::list);
    let lists = lists.map(|(name, _)| quote!(&#name));
    let aggregates: Vec<TokenStream> = c.receiver.iter().cloned().chain(lists).collect();
    let call = |method: &str| given.call(reach, method, &aggregates, p);
    // a pattern `r` would be a const of that name where the user has one
    let local = |name: &str| Ident::new(name, Span::mixed_site());
    let (r, o, e) = (local("__tp_result"), local("__tp_outputs"), local("__tp_error"));
    let error = arguments::error(&c.item.sig.output, p);
    let leaves: Vec<_> = c.params.iter().flat_map(Param::leaves).collect();
    let own = c.params.iter().map(|param| param.tree.tensors()).sum();
    let mut writes = arguments::writes(leaves.into_iter(), &c.paths, &o);
    writes.extend(arguments::list_writes(c, own, &o, p));
    match (&c.returns, c.fallible) {
        (ReturnTree::Tensor, false) if writes.is_empty() => {
            let call = call("tensor");
            return quote! {
                if let ::core::option::Option::Some(#r) = #call {
                    return #r;
                }
            };
        }
        (ReturnTree::Tensor, true) if writes.is_empty() => {
            let call = call("try_tensor");
            return quote! {
                if let ::core::option::Option::Some(#r) = #call {
                    return ::core::result::Result::map_err(#r, |#e| #error(#e));
                }
            };
        }
        _ => {}
    }
    let value = arguments::returned(&c.returns, &o);
    let value = if writes.is_empty() {
        value
    } else {
        let v = local("__tp_value");
        quote!({ let #v = #value; #writes #v })
    };
    let (value, raised) = if c.fallible {
        (
            quote!(::core::result::Result::Ok(#value)),
            quote!(::core::result::Result::Err(#error(#e))),
        )
    } else {
        (value, quote!(#p::raise(#e)))
    };
    let call = call("call");
    quote! {
        if let ::core::option::Option::Some(#r) = #call {
            return match #r {
                ::core::result::Result::Ok(mut #o) => #value,
                ::core::result::Result::Err(#e) => #raised,
            };
        }
    }
}
