//! `compile`: one function's tokens become a [`Captured`], or a [`Failure`] with everything that is wrong.

use crate::attribute::Options;
use crate::diagnostic::{Diagnostic, Diagnostics, code};
use crate::env::Env;
use crate::export::{ExportParam, Exported, FnExport, TypeExport};
use crate::hygiene;
use crate::marker;
use crate::model::{ModelFn, Ty, check_inline};
use crate::parameter::{LeafKind, Param, name_wildcards, names};
use crate::paths::trace;
use crate::reads::{CalleeRef, Read};
use crate::region::RegionOptions;
use crate::returns::{ReturnTree, Returns};
use crate::segment::{self, Entry, Scene, Segmented, is_break};
use crate::signature::{check_kind, check_receiver, is_method, strip_specs, this};
use crate::spec::{self, Spec};
use crate::walk::Walk;
use crate::words::word;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use std::collections::BTreeMap;
use std::rc::Rc;
use syn::{FnArg, Item, ItemFn, Pat, PatType, ReturnType};
use tensorplay_graph::GraphModule;

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
    /// For each path, how many there are where the return type does not say, in the order in which the result is
    /// made: for an `Option` 1 or 0, for a `Vec` its length.
    pub codes: Vec<Vec<u32>>,
    /// Whether it returns a `Result`.
    pub fallible: bool,
    /// Whether it belongs to an `impl`: it has a receiver, or says `Self`.
    pub method: bool,
    /// The type whose `impl` that is, where capture sees it.
    pub owner: Option<String>,
    /// The receiver, if it is a struct of a `#[model]` module: its parts follow the parameters.
    pub receiver: Option<TokenStream>,
    /// Whether anything was looked up for it.
    pub linked: bool,
    /// Of a region, its arguments.
    pub region: Option<RegionOptions>,
    /// The functions that it calls.
    pub callees: Vec<CalleeRef>,
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

/// The attribute under which a function is captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Under {
    /// `#[compile]`.
    Compile,
    /// `#[nested_compile_region]`.
    Region,
}

impl Under {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Under::Compile => "compile",
            Under::Region => "nested_compile_region",
        }
    }
}

/// Captures the function `item` under `#[compile(attr)]`.
///
/// # Errors
/// A function that cannot be captured, with all its errors; or one with `disable`, with none.
pub fn compile(attr: TokenStream, item: TokenStream) -> Result<Captured, Failure> {
    compile_in(&Rc::new(Env::default()), Under::Compile, attr, item)
}

/// Captures the function `item` under an attribute, in a module or with what was looked up for it.
///
/// # Errors
/// A function that cannot be captured, with all its errors; or one with `disable`, with none.
pub fn compile_in(
    env: &Rc<Env>,
    attribute: Under,
    attr: TokenStream,
    item: TokenStream,
) -> Result<Captured, Failure> {
    captured(env, attribute, attr, item, true)
}

/// The same without graphs: what the signature and the attribute tell.
///
/// # Errors
/// What is wrong with the signature or the attribute.
pub fn sketch(
    env: &Rc<Env>,
    attribute: Under,
    attr: TokenStream,
    item: TokenStream,
) -> Result<Captured, Failure> {
    captured(env, attribute, attr, item, false)
}

fn captured(
    env: &Rc<Env>,
    attribute: Under,
    attr: TokenStream,
    item: TokenStream,
    whole: bool,
) -> Result<Captured, Failure> {
    let mut function = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(f) => f,
        Err(_) => return Err(not_a_function(attribute.name(), item)),
    };
    let errors = Rc::new(Diagnostics::default());
    let own_specs = strip_specs(&mut function.sig, &errors);
    let (mut options, region) = match attribute {
        Under::Compile => (Options::parse(attr, &errors), None),
        Under::Region => {
            let region = RegionOptions::parse(attr, &errors);
            let options = Options {
                fullgraph: true,
                krate: region.krate.clone(),
                ..Options::default()
            };
            (options, Some(region))
        }
    };
    marker::once(
        &mut function.attrs,
        attribute.name(),
        options.krate.as_ref(),
        &errors,
    );
    options.disable |= marker::disables(&function.attrs, attribute.name(), &errors);
    options.check(&function, env, &errors);
    check_inline(env.model.as_deref(), &function, &options.inline, &errors);
    let clashes = match options.disable {
        true => Vec::new(),
        false => hygiene::clashes(&function.sig, &function.block),
    };
    let apart = clashes.is_empty();
    clashes.into_iter().for_each(|d| errors.push(d));
    let result = if options.disable || !apart {
        Err(None)
    } else {
        name_wildcards(&mut function.sig);
        let extent = match (whole, region.is_some() || env.complete) {
            (false, _) => Extent::Signature,
            (true, false) => Extent::Call,
            (true, true) => Extent::Record,
        };
        capture(env, &function, &options, own_specs, &errors, extent)
    };
    let mut diagnostics = errors.take();
    match result {
        Ok(c) if diagnostics.is_empty() => {
            let Parts {
                paths,
                params,
                reads,
                callees,
                returns,
                codes,
                spans,
            } = c;
            let method = is_method(&function) || env.receiver.is_some();
            let model = env.model.is_some() && env.receiver.is_some();
            let receiver = if model { this(&function.sig) } else { None };
            let linked = env.complete || !whole;
            Ok(Captured {
                item: function,
                paths,
                params,
                reads,
                returns: returns.tree,
                codes,
                fallible: returns.fallible,
                method,
                owner: env.owner(),
                receiver,
                linked,
                region,
                callees,
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
    callees: Vec<CalleeRef>,
    returns: Returns,
    codes: Vec<Vec<u32>>,
    spans: Vec<Vec<TokenStream>>,
}

impl Captured {
    /// Whether consts are read once, with the function's record, rather than at each call: so callers need not know them.
    pub fn reads_consts(&self) -> bool {
        let aggregates = self.receiver.is_some() || self.params.iter().any(|p| p.list().is_some());
        self.kept() || aggregates && !self.reads.iter().any(Read::of_a_call)
    }

    /// Whether the record stands where no call is in reach.
    fn kept(&self) -> bool {
        self.region.is_some() || self.linked
    }

    /// What it tells its callers in other modules.
    pub fn export(&self) -> FnExport {
        FnExport {
            name: self.item.sig.ident.to_string(),
            params: self.params.iter().map(export_param).collect(),
            returns: self.returns.clone(),
            codes: self.codes.clone(),
            fallible: self.fallible,
            region: self.region.is_some(),
            consts: self.reads.len(),
            at_call: !self.reads_consts() && !self.reads.is_empty(),
            paths: self.paths.clone(),
        }
    }
}

fn export_param(p: &Param) -> ExportParam {
    let kinds: Vec<LeafKind> = p.leaves().iter().map(|l| l.kind).collect();
    let lent = p.leaves().iter().any(|l| l.place.is_some());
    match kinds.as_slice() {
        [LeafKind::Host(t)] if p.constant => ExportParam::Const(*t),
        [LeafKind::Tensor] if !lent => ExportParam::Tensor,
        [LeafKind::Host(t)] => ExportParam::Host(*t),
        [LeafKind::Present, LeafKind::Tensor] => ExportParam::OptTensor,
        _ => ExportParam::Other,
    }
}

/// Captures a function of a module for its callers; `None` if something is wrong with it, which its own attribute
/// reports.
pub(crate) fn of_module(env: &Rc<Env>, f: &ModelFn, receiver: Option<&str>) -> Option<FnExport> {
    let mut item = f.item();
    let errors = Rc::new(Diagnostics::default());
    let specs = strip_specs(&mut item.sig, &errors);
    name_wildcards(&mut item.sig);
    let inner = Rc::new(env.within(receiver));
    let region = f.attribute(Under::Region.name()).is_some();
    let options = Options {
        fullgraph: true,
        ..Options::default()
    };
    let parts = capture(&inner, &item, &options, specs, &errors, Extent::Record).ok();
    let parts = parts.filter(|_| errors.take().is_empty())?;
    Some(FnExport {
        name: f.sig.ident.to_string(),
        params: parts.params.iter().map(export_param).collect(),
        returns: parts.returns.tree,
        codes: parts.codes,
        fallible: parts.returns.fallible,
        region,
        consts: parts.reads.len(),
        at_call: false,
        paths: parts.paths,
    })
}

/// What a struct of a module tells about itself: its parts, and the methods that can be captured.
pub fn export_type(env: &Rc<Env>, name: &str) -> Option<Exported> {
    let model = env.model.clone()?;
    let mut methods = BTreeMap::new();
    for ((owner, method), f) in &model.methods {
        if owner == name
            && f.is_method()
            && let Some(export) = of_module(env, f, Some(name))
            // another method is not reached from elsewhere
            && (f.captured().is_some() || export.is_closed())
        {
            methods.insert(method.clone(), export);
        }
    }
    Some(Exported::Type(TypeExport {
        schema: env.schema(&Ty::Struct(name.to_string())),
        methods,
    }))
}

/// What a walk binds before the body, in the order of the signature.
enum Bound<'a> {
    Receiver,
    /// A parameter whose type was reported.
    Unknown(&'a Pat),
    Param(Param, &'a PatType, Vec<Spec>),
    /// A const parameter.
    Generic(Param),
}

/// An item under an attribute that goes on functions.
pub(crate) fn not_a_function(attribute: &str, item: TokenStream) -> Failure {
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
        let message = format!("`#[{attribute}]` goes on a function with a body");
        diagnostics.push(
            Diagnostic::new(code::NOT_A_FUNCTION, at, message).help(match attribute {
                "compile" => "put it on a free function or an inherent method",
                _ => "put it on a free function",
            }),
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

/// How much of a function is captured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// What the signature tells.
    Signature,
    /// The body too, for calls that read what it reads.
    Call,
    /// The body too, for a record that stands where no call is in reach.
    Record,
}

fn capture(
    env: &Rc<Env>,
    f: &ItemFn,
    options: &Options,
    own_specs: Vec<Option<Spec>>,
    errors: &Rc<Diagnostics>,
    extent: Extent,
) -> Result<Parts, Option<Box<Segmented>>> {
    check_kind(f, errors);
    let sig = &f.sig;
    // a type that names a type parameter is reported at the parameter
    let generic = |ty: &syn::Type| {
        let tokens = ty.to_token_stream();
        sig.generics
            .type_params()
            .any(|p| word(tokens.clone(), &p.ident.to_string()).is_some())
    };
    let returns = match Returns::parse(&sig.output, env.model.as_deref(), env.receiver.as_deref()) {
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
        let names = names(input);
        for (i, spec) in options.specs.iter().enumerate() {
            used[i] |= names.iter().any(|n| spec.name == n);
        }
        let params = match Param::parse(typed) {
            Ok(p) => p,
            Err(d) => {
                if !generic(&typed.ty) {
                    errors.push(d);
                }
                bound.push(Bound::Unknown(&typed.pat));
                continue;
            }
        };
        // a type that names a type parameter is reported there
        if generic(&typed.ty) {
            bound.push(Bound::Unknown(&typed.pat));
            continue;
        }
        let mut own = own;
        if let (Some(spec), true) = (&own, params.len() != 1) {
            let message = "a spec beside a pattern does not say which name it is for";
            errors.push(
                Diagnostic::new(code::SPEC_NAME, &spec.tokens, message)
                    .help("write the specs in the attribute, as in spec(a = f32[2], b = f32[2])"),
            );
            own = None;
        }
        for param in params {
            let named = options.specs.iter().find(|s| s.name == param.name);
            let specs = spec::of_param(&param, own.take(), named, errors);
            for spec in &specs {
                spec::check_dtype(spec, options.dtypes.as_deref(), errors);
            }
            bound.push(Bound::Param(param, typed, specs));
        }
    }
    let consts = sig.generics.const_params().filter_map(Param::constant);
    bound.extend(consts.map(Bound::Generic));
    let mut return_specs = Vec::new();
    for (i, named) in options.specs.iter().enumerate() {
        if named.name == "return" {
            return_specs = named.specs.clone();
            for spec in &return_specs {
                spec::check_dtype(spec, options.dtypes.as_deref(), errors);
            }
            if let Some(r) = &returns
                && r.tree.len() != Some(return_specs.len())
            {
                let n = return_specs.len();
                let message = match r.tree.len() {
                    Some(m) => format!("{n} specs for {m} returned tensors"),
                    None => "paths may return different numbers of tensors, which have no specs yet".into(),
                };
                let help = match r.tree.len() {
                    Some(_) => "write one spec a tensor, as in return = (f32[B, 10], i64[B])",
                    None => "remove the specs of `return`",
                };
                errors.push(Diagnostic::new(code::SPEC_NAME, named.tokens(), message).help(help));
                return_specs.clear();
            }
        } else if !used[i] {
            let names: Vec<String> = sig.inputs.iter().flat_map(crate::parameter::names).collect();
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
    let params = |bound: Vec<Bound<'_>>| {
        let params = bound.into_iter().filter_map(|b| match b {
            Bound::Param(param, ..) | Bound::Generic(param) => Some(param),
            _ => None,
        });
        params.collect()
    };
    if extent == Extent::Signature {
        return match returns {
            Some(returns) => Ok(Parts {
                paths: Vec::new(),
                params: params(bound),
                reads: Vec::new(),
                callees: Vec::new(),
                returns,
                codes: Vec::new(),
                spans: Vec::new(),
            }),
            None => Err(None),
        };
    }
    let (head, ident) = (sig.fn_token, &sig.ident);
    let traced = trace(
        ident,
        errors,
        options.specialize.len(),
        |special, script, reads| {
            let receiver = env.receiver.clone();
            let mut walk = Walk::new(name.clone(), env.clone(), receiver, errors.clone(), script, reads);
            walk.of_record = extent == Extent::Record;
            walk.place_function(ident, quote!(#head #ident));
            for b in &bound {
                match b {
                    Bound::Receiver => walk.bind_self(),
                    Bound::Unknown(pat) => walk.unknown_pattern(pat),
                    Bound::Param(param, written, specs) => {
                        walk.bind_param(param, &written.to_token_stream(), specs);
                    }
                    Bound::Generic(param) => walk.bind_generic(param),
                }
            }
            if let Some(sizes) = special.and_then(|k| options.specialize.get(k)) {
                walk.specialize(sizes);
            }
            walk.bind_reads();
            walk.function(&f.block, returns.as_ref(), &return_specs)
        },
    );
    let (Some(traced), Some(returns)) = (traced, &returns) else {
        let scene = Scene {
            function: f,
            env,
            name,
            returns,
            return_specs,
            fallible: Returns::fallible(&sig.output),
            method: is_method(f) || env.receiver.is_some(),
            options,
        };
        return Err(segmented(&scene, &bound, errors));
    };
    Ok(Parts {
        paths: traced.modules,
        params: params(bound),
        reads: traced.reads.written(),
        callees: traced.reads.callees,
        returns: returns.clone(),
        codes: traced.codes,
        spans: traced.spans,
    })
}

/// A function with graph breaks as segments. The errors that remain are those that are no breaks.
fn segmented(scene: &Scene<'_>, bound: &[Bound<'_>], errors: &Diagnostics) -> Option<Box<Segmented>> {
    if scene.options.is_whole() || errors.is_empty() {
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
            Bound::Param(p, written, specs) => Entry::Param(p, written.to_token_stream(), specs),
            Bound::Generic(p) => Entry::Param(p, p.name.to_token_stream(), &[]),
        })
        .collect();
    let parts = segment::segment(scene, &entries, &reported, errors);
    if !errors.is_empty() {
        return None;
    }
    reported.into_iter().for_each(|d| errors.push(d));
    parts
}
