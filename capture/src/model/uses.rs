//! What a captured function may need from elsewhere, by its tokens.

use super::{Model, ModelFn, Ty, key};
use crate::diagnostic::{Diagnostic, Diagnostics, code};
use crate::location::text;
use crate::nearest::nearest;
use crate::walk::names_variant;
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprCall, ExprMethodCall, ItemFn, Lit, Member, Path};

/// The types from elsewhere that are read by functions of a module: a field of the type has a method called, is matched
/// or is looped over. In the order of their paths' texts, each once.
pub(crate) fn foreign(model: &Model) -> Vec<&Path> {
    let mut members = Members(Vec::new());
    captured(model).iter().for_each(|f| members.visit_block(&f.block));
    let fields = model.structs.values().flat_map(|s| &s.fields);
    let mut paths: Vec<&Path> = fields
        .filter(|(name, _)| members.0.contains(name))
        .filter_map(|(_, ty)| match ty.core() {
            Ty::Foreign(path) => Some(path),
            _ => None,
        })
        .collect();
    paths.sort_by_key(|p| key(p));
    paths.dedup_by_key(|p| key(p));
    paths
}

/// The functions of a module that are captured, or may be from elsewhere, and those that they may call, by name.
fn captured(model: &Model) -> Vec<&ModelFn> {
    struct Names(Vec<String>);
    impl<'ast> Visit<'ast> for Names {
        fn visit_expr_method_call(&mut self, m: &'ast ExprMethodCall) {
            self.0.push(m.method.to_string());
            visit::visit_expr_method_call(self, m);
        }
        fn visit_expr_call(&mut self, c: &'ast ExprCall) {
            if let Expr::Path(p) = &*c.func
                && let Some(last) = p.path.segments.last()
            {
                self.0.push(last.ident.to_string());
            }
            visit::visit_expr_call(self, c);
        }
    }
    let shared = |owner: &str| model.structs.get(owner).is_some_and(|s| s.shared);
    let starts = |f: &ModelFn, shared: bool| f.captured().is_some() || shared && f.is_layer();
    let methods = model.methods.iter();
    let methods = methods.map(|((owner, name), f)| (name.as_str(), &**f, starts(f, shared(owner))));
    let functions = model.functions.iter();
    let functions = functions.map(|(name, f)| (name.as_str(), &**f, starts(f, false)));
    let (first, left): (Vec<_>, Vec<_>) = methods.chain(functions).partition(|(.., starts)| *starts);
    let mut found: Vec<&ModelFn> = first.into_iter().map(|(_, f, _)| f).collect();
    let mut left: Vec<(&str, &ModelFn)> = left.into_iter().map(|(name, f, _)| (name, f)).collect();
    let mut next = 0;
    while let Some(f) = found.get(next) {
        next += 1;
        let mut names = Names(Vec::new());
        names.visit_block(&f.block);
        left.retain(|(name, f)| {
            let called = names.0.iter().any(|n| n == name);
            if called {
                found.push(f);
            }
            !called
        });
    }
    found
}

/// The fields that a graph may read as layers.
struct Members(Vec<String>);

impl Members {
    fn note(&mut self, e: &Expr) {
        match e {
            Expr::Field(f) => {
                if let Member::Named(name) = &f.member {
                    self.0.push(name.to_string());
                }
            }
            Expr::Reference(r) => self.note(&r.expr),
            Expr::Paren(p) => self.note(&p.expr),
            Expr::Index(i) => self.note(&i.expr),
            Expr::MethodCall(m) => self.note(&m.receiver),
            _ => {}
        }
    }
}

impl<'ast> Visit<'ast> for Members {
    fn visit_expr_method_call(&mut self, m: &'ast ExprMethodCall) {
        self.note(&m.receiver);
        visit::visit_expr_method_call(self, m);
    }
    fn visit_expr_match(&mut self, m: &'ast syn::ExprMatch) {
        // what is matched with the variants of an enum is no layer
        if !m.arms.iter().any(|arm| names_variant(&arm.pat)) {
            self.note(&m.expr);
        }
        visit::visit_expr_match(self, m);
    }
    fn visit_expr_let(&mut self, l: &'ast syn::ExprLet) {
        if !names_variant(&l.pat) {
            self.note(&l.expr);
        }
        visit::visit_expr_let(self, l);
    }
    fn visit_expr_for_loop(&mut self, f: &'ast syn::ExprForLoop) {
        self.note(&f.expr);
        visit::visit_expr_for_loop(self, f);
    }
    fn visit_expr_reference(&mut self, r: &'ast syn::ExprReference) {
        self.note(&r.expr);
        visit::visit_expr_reference(self, r);
    }
}

/// The paths that a function calls and that may be captured functions from elsewhere: their last segment begins in lower
/// case, and the one before it, if there is one, too; they are not of the standard library, and are given more than text.
/// The name of a `free` function itself is no such path. Without `fullgraph`, only those of `inline` are.
pub(crate) fn called(
    model: Option<&Model>,
    f: &ItemFn,
    free: bool,
    fullgraph: bool,
    inline: &[Path],
) -> Vec<Path> {
    let mut paths = all_called(model, f, free);
    let listed = |p: &Path| inline.iter().any(|q| key(q) == key(p));
    paths.retain(|p| fullgraph || listed(p));
    paths
}

/// Checks the paths of `inline(..)`: each stands there once, and is called.
pub(crate) fn check_inline(model: Option<&Model>, f: &ItemFn, inline: &[Path], errors: &Diagnostics) {
    if inline.is_empty() {
        return;
    }
    let called = all_called(model, f, false);
    for (i, path) in inline.iter().enumerate() {
        let is = |q: &Path| key(q) == key(path);
        let shown = text(path.to_token_stream());
        if inline[..i].iter().any(is) {
            let message = format!("`{shown}` stands twice in `inline(..)`");
            errors.push(Diagnostic::new(code::DUPLICATE_ARGUMENT, path, message).help("keep one"));
        } else if !called.iter().any(is) {
            let message = format!("the function has no call of `{shown}` that capture could look up");
            let names: Vec<String> = called.iter().map(|p| text(p.to_token_stream())).collect();
            let near = nearest(&shown, names.iter().map(String::as_str));
            errors.push(
                Diagnostic::new(code::UNKNOWN_ARGUMENT, path, message).help(match near {
                    Some(n) => format!("did you mean `{n}`?"),
                    None => "write the path as the call does, or remove it".into(),
                }),
            );
        }
    }
}

fn all_called(model: Option<&Model>, f: &ItemFn, free: bool) -> Vec<Path> {
    let mut calls = Calls::default();
    let mut next = 0;
    let mut bodies: Vec<&Block> = vec![&f.block];
    let mut seen: Vec<String> = Vec::new();
    while let Some(body) = bodies.get(next) {
        next += 1;
        let mut own = Calls::default();
        own.visit_block(body);
        if let Some(model) = model {
            for name in &own.names {
                if seen.contains(name) {
                    continue;
                }
                seen.push(name.clone());
                let methods = model.methods.iter().filter(|((_, n), _)| n == name);
                let function = model.substitutes.get(name).unwrap_or(name);
                let walked = methods.map(|(_, f)| f).chain(model.functions.get(function));
                let walked = walked.filter(|f| f.attribute("nested_compile_region").is_none());
                bodies.extend(walked.map(|f| &f.block));
            }
        }
        let local = |p: &Path| {
            p.get_ident().is_some_and(|i| {
                let name = i.to_string();
                free && f.sig.ident == name
                    || own.locals.contains(&name)
                    || model.is_some_and(|m| m.functions.contains_key(&name))
            })
        };
        for path in own.paths.iter().filter(|p| !local(p)) {
            calls.add(path.clone());
        }
    }
    calls.paths
}

/// What is called in a body.
#[derive(Default)]
struct Calls {
    paths: Vec<Path>,
    /// The names of functions and methods.
    names: Vec<String>,
    /// Names that the body binds itself.
    locals: Vec<String>,
}

impl Calls {
    fn add(&mut self, path: Path) {
        if !self.paths.iter().any(|q| key(q) == key(&path)) {
            self.paths.push(path);
        }
    }
}

impl<'ast> Visit<'ast> for Calls {
    fn visit_expr_call(&mut self, c: &'ast ExprCall) {
        if let Expr::Path(p) = &*c.func
            && p.qself.is_none()
        {
            if let Some(last) = p.path.segments.last() {
                self.names.push(last.ident.to_string());
            }
            let text = |a: &Expr| matches!(a, Expr::Lit(l) if matches!(l.lit, Lit::Str(_)));
            let told = !c.args.is_empty() && c.args.iter().all(text);
            if may_be_captured(&p.path) && !told {
                let mut path = p.path.clone();
                path.segments
                    .iter_mut()
                    .for_each(|s| s.arguments = Default::default());
                self.add(path);
            }
        }
        visit::visit_expr_call(self, c);
    }
    fn visit_expr_method_call(&mut self, m: &'ast ExprMethodCall) {
        self.names.push(m.method.to_string());
        visit::visit_expr_method_call(self, m);
    }
    fn visit_pat_ident(&mut self, i: &'ast syn::PatIdent) {
        self.locals.push(i.ident.to_string());
        visit::visit_pat_ident(self, i);
    }
    fn visit_item_fn(&mut self, f: &'ast ItemFn) {
        self.locals.push(f.sig.ident.to_string());
    }
}

fn may_be_captured(path: &Path) -> bool {
    const KNOWN: &[&str] = &[
        "cond",
        "while_loop",
        "drop",
        "mark_static",
        "is_compiling",
        "is_exporting",
        "disable_capture",
    ];
    const NUMBERS: &[&str] = &["usize", "isize", "i64", "i32", "u8", "f32", "f64", "u32", "u64"];
    const STANDARD: &[&str] = &["std", "core", "alloc"];
    let n = path.segments.len();
    let lower = |i: usize| {
        path.segments[i]
            .ident
            .to_string()
            .starts_with(|c: char| c.is_lowercase() || c == '_')
    };
    let name = path.segments[n - 1].ident.to_string();
    let owner = n.checked_sub(2).map(|i| path.segments[i].ident.to_string());
    let standard = n > 1 && STANDARD.contains(&path.segments[0].ident.to_string().as_str());
    lower(n - 1)
        && (n == 1 || lower(n - 2))
        && !standard
        && !KNOWN.contains(&name.as_str())
        && !owner.is_some_and(|o| NUMBERS.contains(&o.as_str()))
}
