//! What a local is by its uses, where its value tells nothing: what a foreign call gives.
//!
//! Method: operations that only tensors have, and arguments of operations of tensors. rustc confirms it where the segment takes
//! the local: what derefs to a tensor is one. A local whose type is written is never guessed.

use super::form;
use super::locals::{Local, Locals};
use super::names::bindings;
use proc_macro2::Ident;
use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, Pat, Stmt, UnOp};
use tensorplay_graph::Op;
use tensorplay_graph::op::row::{ParamKind, ParamRow};

/// Methods that numbers have as well as tensors.
const OF_NUMBERS: &[&str] = &[
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "clamp",
    "clone",
    "cos",
    "cosh",
    "div",
    "eq",
    "erf",
    "exp",
    "exp2",
    "exp_m1",
    "expm1",
    "floor",
    "fract",
    "ge",
    "gt",
    "hypot",
    "le",
    "ln",
    "ln_1p",
    "log",
    "log10",
    "log1p",
    "log2",
    "lt",
    "max",
    "maximum",
    "min",
    "minimum",
    "mul",
    "ne",
    "neg",
    "not",
    "pow",
    "powf",
    "powi",
    "product",
    "recip",
    "rem",
    "rev",
    "round",
    "rsqrt",
    "sign",
    "signum",
    "sin",
    "sinh",
    "sort",
    "split",
    "sqrt",
    "square",
    "sub",
    "sum",
    "take",
    "tan",
    "tanh",
    "trunc",
    "zip",
    "repeat",
    "chunk",
    "flatten",
    "concat",
    "all",
    "any",
    "fill",
    "where_cond",
    "flip",
    "select",
    "index",
    "get",
    "map",
    "reverse",
    "contains",
    "count",
    "last",
    "first",
];

/// Whether a call looks like that of an operation which nothing but a tensor has: its arguments fit the operation's.
pub fn only_of_tensors(m: &ExprMethodCall) -> bool {
    let name = m.method.to_string();
    let Some(op) = Op::from_name(&name).filter(|_| !OF_NUMBERS.contains(&name.as_str())) else {
        return false;
    };
    let params = op.row().params.get(1..).unwrap_or_default();
    let takes_reference = |p: &ParamRow| {
        use ParamKind::*;
        !matches!(p.kind, Scalar | Float | Int | Dim | Flag | DType)
    };
    let mut pairs = params.iter().zip(&m.args);
    params.len() == m.args.len()
        && pairs.all(|(p, a)| match a {
            Expr::Reference(_) => takes_reference(p),
            Expr::Lit(_) => !matches!(p.kind, ParamKind::Tensor | ParamKind::Index | ParamKind::Tensors),
            _ => true,
        })
}

/// Whether a `let` binds one name to a value of which neither a type nor its form tells what it is.
pub fn plain(l: &syn::Local) -> bool {
    let told = |e: &Expr| {
        matches!(
            e,
            Expr::Struct(_)
                | Expr::Closure(_)
                | Expr::Array(_)
                | Expr::Tuple(_)
                | Expr::Range(_)
                | Expr::Lit(_)
        )
    };
    matches!(&l.pat, Pat::Ident(i) if i.subpat.is_none()) && l.init.as_ref().is_some_and(|i| !told(&i.expr))
}

/// Whether later statements use a local as only a tensor can be used: they call an operation on it that nothing else has,
/// or give it to an operation of a tensor.
pub fn used_as_tensor(name: &Ident, rest: &[Stmt], locals: &Locals) -> bool {
    struct Find<'a>(&'a Ident, &'a Locals, bool);
    impl Find<'_> {
        fn is(&self, e: &Expr) -> bool {
            match e {
                Expr::Path(p) => p.path.is_ident(self.0),
                Expr::Paren(p) => self.is(&p.expr),
                Expr::Reference(r) => self.is(&r.expr),
                Expr::Unary(u) => matches!(u.op, UnOp::Neg(_)) && self.is(&u.expr),
                Expr::Binary(b) => match (&*b.left, &*b.right) {
                    (e, Expr::Lit(_)) | (Expr::Lit(_), e) => self.is(e),
                    _ => false,
                },
                _ => false,
            }
        }
    }
    impl<'a> Visit<'a> for Find<'_> {
        fn visit_expr_method_call(&mut self, m: &'a ExprMethodCall) {
            let method = m.method.to_string();
            if let Some(op) = Op::from_name(&method) {
                self.2 |= self.is(&m.receiver) && only_of_tensors(m);
                if matches!(form::of(&m.receiver, self.1), Local::Tensor { .. }) {
                    let params = op.row().params.iter().skip(1).zip(&m.args);
                    let tensors =
                        params.filter(|(p, _)| matches!(p.kind, ParamKind::Tensor | ParamKind::Index));
                    self.2 |= tensors.into_iter().any(|(_, a)| self.is(a));
                }
            }
            visit::visit_expr_method_call(self, m);
        }
    }
    let mut find = Find(name, locals, false);
    for s in rest {
        find.visit_stmt(s);
        let shadows = matches!(s, Stmt::Local(l) if bindings(&l.pat).iter().any(|b| b.ident == *name));
        if find.2 || shadows {
            break;
        }
    }
    find.2
}

/// What a local that is declared without a value is, by the first assignment to it.
pub fn assigned(name: &Ident, rest: &[Stmt], locals: &Locals) -> Local {
    struct Find<'a>(&'a Ident, &'a Locals, Option<Local>);
    impl<'a> Visit<'a> for Find<'_> {
        fn visit_expr_assign(&mut self, a: &'a syn::ExprAssign) {
            let ours = matches!(&*a.left, Expr::Path(p) if p.path.is_ident(self.0));
            if ours && self.2.is_none() {
                self.2 = Some(form::of(&a.right, self.1));
            }
            visit::visit_expr_assign(self, a);
        }
    }
    let mut find = Find(name, locals, None);
    rest.iter().for_each(|s| find.visit_stmt(s));
    match find.2 {
        Some(Local::Number(n)) => Local::Number(super::locals::Number::of(n.ty, false)),
        Some(local) => local,
        None => Local::Opaque,
    }
}
