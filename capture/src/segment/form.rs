//! What a value is by the form of the expression that makes it.
//!
//! Method: operations, constructors and operators of tensors own their result; `&` borrows; a name is what its local
//! is. Invariant: `Opaque` where the form alone does not tell.

use super::lets::of_let;
use super::locals::{Local, Locals, Number};
use super::names::bindings;
use super::uses;
use crate::parameter::{host_type, last_segment};
use syn::{
    BinOp, Block, Expr, ExprCall, ExprMethodCall, GenericArgument, Lit, Member, Pat, Stmt, Type, UnOp,
};
use tensorplay_graph::op::row::Results;
use tensorplay_graph::{HostType, Op};

pub const OWNED: Local = Local::Tensor { refs: 0 };

pub fn number(ty: HostType, stable: bool) -> Local {
    Local::Number(Number::of(ty, stable))
}

/// The local of a type, if it is one that capture knows.
pub fn of_type(ty: &Type) -> Option<Local> {
    match ty {
        Type::Reference(r) if r.mutability.is_none() => match of_type(&r.elem)? {
            Local::Tensor { refs } => Some(Local::Tensor { refs: refs + 1 }),
            _ => None,
        },
        Type::Paren(t) => of_type(&t.elem),
        Type::Group(t) => of_type(&t.elem),
        ty => match (host_type(ty), last_segment(ty)) {
            (Some(t), _) => Some(number(t, false)),
            (_, Some((s, _))) if s.ident == "Tensor" && s.arguments.is_none() => Some(OWNED),
            _ => None,
        },
    }
}

/// What an operation of that name gives: `Some(true)` a tensor, `Some(false)` something of tensors.
fn operation(name: &str) -> Option<bool> {
    match (Op::from_name(name), Op::from_try_name(name)) {
        (Some(op), _) => Some(op.row().results == Results::One),
        (_, Some(_)) => Some(false),
        _ => None,
    }
}

/// What an expression gives.
pub fn of(e: &Expr, locals: &Locals) -> Local {
    match e {
        Expr::Paren(p) => of(&p.expr, locals),
        Expr::Group(p) => of(&p.expr, locals),
        Expr::Lit(l) => match &l.lit {
            Lit::Bool(_) => number(HostType::Bool, true),
            Lit::Int(i) => number(suffix(i.suffix()), true),
            Lit::Float(f) => number(suffix(f.suffix()), true),
            _ => Local::Opaque,
        },
        Expr::Path(p) => match p.path.get_ident().and_then(|i| locals.get(&i.to_string())) {
            Some(k) => k.local.clone(),
            None => Local::Opaque,
        },
        Expr::Reference(r) if r.mutability.is_none() => match of(&r.expr, locals) {
            Local::Tensor { refs } => Local::Tensor { refs: refs + 1 },
            _ => Local::Opaque,
        },
        Expr::MethodCall(m) => of_method(m, locals),
        Expr::Call(c) => of_call(c, locals),
        Expr::Try(t) => match fallible(&t.expr) {
            true => OWNED,
            false => Local::Opaque,
        },
        Expr::Binary(b) => match (of(&b.left, locals), of(&b.right, locals)) {
            _ if compares(&b.op) => number(HostType::Bool, false),
            (Local::Tensor { .. }, _) | (_, Local::Tensor { .. }) => OWNED,
            (Local::Number(a), Local::Number(b)) => number(a.ty.meet(b.ty), a.stable && b.stable),
            _ => Local::Opaque,
        },
        Expr::Field(f) => match (&f.member, of(&f.base, locals).parts()) {
            (Member::Unnamed(i), Some(mut parts)) if (i.index as usize) < parts.len() => {
                parts.swap_remove(i.index as usize)
            }
            _ => Local::Opaque,
        },
        Expr::Unary(u) => match (&u.op, of(&u.expr, locals)) {
            (UnOp::Neg(_), Local::Tensor { .. }) => OWNED,
            (UnOp::Deref(_), Local::Tensor { refs }) if refs > 0 => Local::Tensor { refs: refs - 1 },
            (UnOp::Neg(_) | UnOp::Not(_), Local::Number(n)) => number(n.ty, n.stable),
            _ => Local::Opaque,
        },
        Expr::Cast(c) => match (of_type(&c.ty), of(&c.expr, locals)) {
            (Some(Local::Number(n)), Local::Number(from)) => number(n.ty, from.stable),
            (Some(Local::Number(n)), _) => number(n.ty, false),
            _ => Local::Opaque,
        },
        Expr::Block(b) => of_block(&b.block, locals),
        Expr::Unsafe(b) => of_block(&b.block, locals),
        Expr::If(i) => match &i.else_branch {
            Some((_, other)) => either(of_block(&i.then_branch, locals), || of(other, locals)),
            None => Local::Opaque,
        },
        Expr::Match(m) => {
            let mut arms = m.arms.iter().map(|a| match names_hide(&a.pat, locals) {
                true => Local::Opaque,
                false => of(&a.body, locals),
            });
            let first = arms.next().unwrap_or(Local::Opaque);
            arms.fold(first, |all, arm| either(all, || arm))
        }
        _ => Local::Opaque,
    }
}

fn names_hide(pat: &Pat, locals: &Locals) -> bool {
    bindings(pat)
        .iter()
        .any(|b| locals.get(&b.ident.to_string()).is_some())
}

/// Two values of one type: what either form tells.
fn either(a: Local, b: impl FnOnce() -> Local) -> Local {
    match a {
        Local::Opaque => b(),
        Local::Number(n) => number(n.ty, false),
        a => a,
    }
}

fn suffix(s: &str) -> HostType {
    HostType::from_name(s).unwrap_or(HostType::Number)
}

fn compares(op: &BinOp) -> bool {
    use BinOp::*;
    matches!(op, And(_) | Or(_) | Eq(_) | Ne(_) | Lt(_) | Le(_) | Gt(_) | Ge(_))
}

/// A `try_` operation with one result.
fn fallible(e: &Expr) -> bool {
    let name = match e {
        Expr::Paren(p) => return fallible(&p.expr),
        Expr::MethodCall(m) => m.method.to_string(),
        Expr::Call(c) => match tensor_function(c) {
            Some(name) => name,
            None => return false,
        },
        _ => return false,
    };
    Op::from_try_name(&name).is_some_and(|op| op.row().results == Results::One)
}

/// `name` of `Tensor::name(..)`.
fn tensor_function(c: &ExprCall) -> Option<String> {
    let Expr::Path(p) = &*c.func else { return None };
    let n = p.path.segments.len();
    let of_tensor = n >= 2 && p.path.segments[n - 2].ident == "Tensor";
    of_tensor.then(|| p.path.segments[n - 1].ident.to_string())
}

fn of_call(c: &ExprCall, locals: &Locals) -> Local {
    if let Some(name) = tensor_function(c) {
        return match name.as_str() {
            "from_slice" | "from_vec" | "clone" => OWNED,
            name if operation(name) == Some(true) => OWNED,
            _ => Local::Opaque,
        };
    }
    let Expr::Path(p) = &*c.func else {
        return Local::Opaque;
    };
    let name = p.path.segments.last().map(|s| s.ident.to_string());
    match (name.as_deref(), c.args.get(0), c.args.get(1)) {
        (Some("cond"), _, Some(Expr::Closure(yes))) => of(&yes.body, locals),
        (Some("while_loop"), Some(carry), _) => of(carry, locals),
        _ => Local::Opaque,
    }
}

fn of_method(m: &ExprMethodCall, locals: &Locals) -> Local {
    let name = m.method.to_string();
    let receiver = of(&m.receiver, locals);
    match (name.as_str(), &receiver) {
        ("clone" | "to_owned", Local::Tensor { refs }) if m.args.is_empty() => Local::Tensor {
            refs: refs.saturating_sub(1),
        },
        ("clone" | "to_owned", Local::Number(n)) => number(n.ty, n.stable),
        ("item", _) => match m.turbofish.as_ref().and_then(|t| t.args.first()) {
            Some(GenericArgument::Type(ty)) => of_type(ty).unwrap_or(Local::Opaque),
            _ => Local::Opaque,
        },
        ("dim" | "rank" | "elem_count", Local::Tensor { .. }) => number(HostType::Usize, true),
        ("dtype", Local::Tensor { .. }) => number(HostType::DType, true),
        ("unwrap", _) if fallible(&m.receiver) => OWNED,
        ("expect", _) if fallible(&m.receiver) => OWNED,
        (_, Local::Tensor { .. }) if operation(&name) == Some(true) => OWNED,
        ("min" | "max" | "sqrt" | "ln" | "exp" | "abs" | "powi" | "powf" | "pow", Local::Number(n)) => {
            number(n.ty, n.stable)
        }
        (_, Local::Opaque) if operation(&name) == Some(true) && uses::only_of_tensors(m) => OWNED,
        _ => Local::Opaque,
    }
}

/// The value of a block.
fn of_block(b: &Block, locals: &Locals) -> Local {
    let mut inner = locals.clone();
    for s in &b.stmts {
        if let Stmt::Local(l) = s {
            for (binding, local) in of_let(l, &inner) {
                inner.bind(binding.ident, local);
            }
        }
    }
    match b.stmts.last() {
        Some(Stmt::Expr(e, None)) => of(e, &inner),
        _ => Local::Opaque,
    }
}
