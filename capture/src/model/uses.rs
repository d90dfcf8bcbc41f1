//! What a captured function may need from elsewhere, by its tokens.

use super::{Model, ModelFn, Ty, key};
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprCall, ExprMethodCall, Member, Path};

/// The types from elsewhere that are read by functions of a module: a field of the type has a method called, is matched
/// or is looped over. In the order of their paths' texts, each once.
pub(crate) fn foreign<'m>(model: &'m Model) -> Vec<&'m Path> {
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

/// The functions of a module that are compiled, and those that they may call, by name.
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
    let methods = model.methods.iter().map(|((_, name), f)| (name.as_str(), &**f));
    let functions = model.functions.iter().map(|(name, f)| (name.as_str(), &**f));
    let mut left: Vec<(&str, &ModelFn)> = methods.chain(functions).collect();
    let starts = |f: &ModelFn| {
        f.attribute("compile")
            .or(f.attribute("nested_compile_region"))
            .is_some()
    };
    let mut found: Vec<&ModelFn> = left.iter().map(|(_, f)| *f).filter(|f| starts(f)).collect();
    left.retain(|(_, f)| !starts(f));
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
        self.note(&m.expr);
        visit::visit_expr_match(self, m);
    }
    fn visit_expr_let(&mut self, l: &'ast syn::ExprLet) {
        self.note(&l.expr);
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

/// The paths that a body calls as functions and that may be captured functions: their last segment begins in lower case,
/// and the one before it, if there is one, too.
pub(crate) fn called_paths(block: &Block) -> Vec<Path> {
    struct Calls(Vec<Path>);
    impl<'ast> Visit<'ast> for Calls {
        fn visit_expr_call(&mut self, c: &'ast ExprCall) {
            if let Expr::Path(p) = &*c.func
                && p.qself.is_none()
                && may_be_captured(&p.path)
            {
                let mut path = p.path.clone();
                path.segments
                    .iter_mut()
                    .for_each(|s| s.arguments = Default::default());
                let text = path.to_token_stream().to_string();
                if !self.0.iter().any(|q| q.to_token_stream().to_string() == text) {
                    self.0.push(path);
                }
            }
            visit::visit_expr_call(self, c);
        }
    }
    let mut calls = Calls(Vec::new());
    calls.visit_block(block);
    calls.0
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
    let n = path.segments.len();
    let lower = |i: usize| {
        path.segments[i]
            .ident
            .to_string()
            .starts_with(|c: char| c.is_lowercase() || c == '_')
    };
    let name = path.segments[n - 1].ident.to_string();
    let owner = n.checked_sub(2).map(|i| path.segments[i].ident.to_string());
    lower(n - 1)
        && (n == 1 || lower(n - 2))
        && !KNOWN.contains(&name.as_str())
        && !owner.is_some_and(|o| NUMBERS.contains(&o.as_str()))
}
