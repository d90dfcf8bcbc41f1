//! Host expressions: numbers computed beside the tensors.

use super::Walk;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::Kind;
use crate::location::tokens;
use crate::parameter::{host_type, last_segment};
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{ExprCast, ExprMethodCall, Lit, Type};
use tensorplay_graph::{Code, Expr, Host, HostBinary, HostError, HostType, HostUnary, TypeEnv};

/// Methods of numbers that capture evaluates.
pub(super) const METHODS: &[&str] = &["min", "max", "pow", "powi", "powf", "sqrt", "ln", "exp"];

/// A number that the build knows is one literal if more steps lead to it.
const FOLDED: usize = 16;

/// No more steps lead to a number: doubling it in a loop doubles its expression.
const LONGEST: usize = 1000;

impl Walk {
    /// A host expression, unless it surely fails.
    pub(super) fn host(&mut self, e: Expr, at: &TokenStream) -> Kind {
        let value = e.eval(&TypeEnv(&self.builder.module.graph));
        if e.exceeds(FOLDED) {
            if let (Ok(value), true) = (&value, e.is_closed()) {
                return Kind::Host(Expr::Cast(e.host_type(), Box::new(Expr::Literal(*value))));
            }
            if e.exceeds(LONGEST) {
                let message = format!("this number is computed in more than {LONGEST} steps");
                return self.fail(
                    Diagnostic::new(code::HOST, at, message).help("compute it outside and pass it in"),
                );
            }
        }
        if let Err(HostError::Failed(message)) = value {
            let (code, help) = match &e {
                Expr::Dim(v, _) if message.starts_with("dim ") => {
                    let rank = self.builder.ty(*v).shape.as_ref().map_or(0, Vec::len);
                    let help = match rank {
                        0 => "a scalar has no dims".to_string(),
                        n => format!("valid dims are -{n}..={}", n - 1),
                    };
                    (Code::DIM_RANGE, help)
                }
                _ if message.ends_with("by zero") => {
                    (code::HOST_FAILS, "divide by another number".to_string())
                }
                _ => {
                    let help =
                        "change the operands so that the result fits, or pass the number as a parameter";
                    (code::HOST_FAILS, help.to_string())
                }
            };
            return self.fail(Diagnostic::new(code, at, message).help(help));
        }
        Kind::Host(e)
    }

    pub(super) fn literal(&mut self, lit: &Lit) -> Kind {
        match lit {
            Lit::Bool(b) => Kind::Host(Expr::Literal(Host::Bool(b.value))),
            Lit::Int(i) if matches!(i.suffix(), "f32" | "f64") => {
                self.float(i.base10_digits(), i.suffix(), lit)
            }
            Lit::Int(i) => match i.base10_parse::<i64>() {
                Ok(v) => Kind::Host(Expr::int(v)),
                Err(_) => self.fail(too_large(lit.to_token_stream())),
            },
            Lit::Float(f) => self.float(f.base10_digits(), f.suffix(), lit),
            // what returns text is refused by its return type
            Lit::Str(_) if self.errors.has(code::RETURN_TYPE) => Kind::Unknown,
            other => self.fail(
                Diagnostic::new(code::HOST, other, "this literal is not a number or a bool")
                    .help("write a number, `true` or `false`"),
            ),
        }
    }

    fn float(&mut self, digits: &str, suffix: &str, lit: &Lit) -> Kind {
        let Ok(v) = digits.parse::<f64>() else {
            return self.fail(
                Diagnostic::new(code::HOST, lit, "this is not a float").help("write one as 1.0 or 1e-5"),
            );
        };
        if suffix == "f32" {
            // the nearest f32 of the digits, not of their f64
            let v = digits.parse::<f32>().map_or(v, f64::from);
            return Kind::Host(Expr::Cast(HostType::F32, Box::new(Expr::float(v))));
        }
        Kind::Host(Expr::float(v))
    }

    pub(super) fn negate(&mut self, e: Expr, at: &TokenStream) -> Kind {
        match e {
            Expr::Literal(Host::Int(v)) => match v.checked_neg() {
                Some(v) => Kind::Host(Expr::int(v)),
                None => self.fail(too_large(at.clone())),
            },
            Expr::Literal(Host::Float(v)) => Kind::Host(Expr::float(-v)),
            e => self.host(Expr::Unary(HostUnary::Neg, Box::new(e)), at),
        }
    }

    pub(super) fn cast(&mut self, e: &ExprCast) -> Kind {
        let kind = self.expr(&e.expr);
        let at = tokens(&*e.expr);
        if matches!(kind, Kind::Unknown) {
            return Kind::Unknown;
        }
        let Some(ty) = host_type(&e.ty).filter(|t| *t != HostType::DType) else {
            let shown = crate::location::text(e.ty.to_token_stream());
            return self.fail(
                Diagnostic::new(
                    code::HOST,
                    &e.ty,
                    format!("a cast to `{shown}` cannot be captured yet"),
                )
                .help("cast to usize, i64, i32, u8, f32 or f64"),
            );
        };
        match self.as_host(kind, &at, HostType::IntLiteral) {
            Some(a) => self.host(Expr::Cast(ty, Box::new(a)), &e.to_token_stream()),
            None => Kind::Unknown,
        }
    }

    /// `let a: f32 = ..`: the literal takes the type, a const or field is a number or a tensor.
    pub(super) fn typed(&mut self, kind: Kind, ty: &Type, at: &TokenStream) -> Kind {
        let inner = match ty {
            Type::Reference(r) => &*r.elem,
            other => other,
        };
        match (kind, host_type(inner)) {
            (Kind::Place(p), Some(t)) => Kind::Host(self.read_host(&p, t)),
            (Kind::Place(p), None) if last_segment(inner).is_some_and(|(s, _)| s.ident == "Tensor") => {
                match self.as_tensor(Kind::Place(p), at) {
                    Some(v) => Kind::Tensor(v),
                    None => Kind::Unknown,
                }
            }
            (Kind::Host(e), Some(HostType::F32)) if e.host_type() == HostType::FloatLiteral => {
                Kind::Host(as_f32(e))
            }
            (Kind::Host(e), Some(t @ (HostType::Usize | HostType::I32 | HostType::U8)))
                if matches!(e.host_type(), HostType::IntLiteral | HostType::FloatLiteral) =>
            {
                Kind::Host(Expr::Cast(t, Box::new(e)))
            }
            (kind, _) => kind,
        }
    }

    /// A method of a number.
    pub(super) fn host_method(&mut self, receiver: Expr, m: &ExprMethodCall) -> Kind {
        let name = m.method.to_string();
        let whole = tokens(m);
        let args: Vec<(Kind, TokenStream)> = m.args.iter().map(|a| (self.expr(a), tokens(a))).collect();
        if args.iter().any(|(k, _)| matches!(k, Kind::Unknown)) {
            return Kind::Unknown;
        }
        let unary = match name.as_str() {
            "sqrt" => Some(HostUnary::Sqrt),
            "ln" => Some(HostUnary::Ln),
            "exp" => Some(HostUnary::Exp),
            _ => None,
        };
        let binary = match name.as_str() {
            "min" => Some(HostBinary::Min),
            "max" => Some(HostBinary::Max),
            "pow" | "powf" => Some(HostBinary::Pow),
            "powi" => Some(HostBinary::Powi),
            _ => None,
        };
        match (name.as_str(), unary, binary, args.len()) {
            ("clone" | "to_owned", _, _, 0) => Kind::Host(receiver),
            (_, Some(op), _, 0) => self.host(Expr::Unary(op, Box::new(receiver)), &whole),
            (_, _, Some(op), 1) => {
                let guess = if name == "pow" || name == "powi" {
                    HostType::I32
                } else {
                    receiver.host_type()
                };
                let mut b = None;
                for (kind, at) in args {
                    b = self.as_host(kind, &at, guess);
                }
                let Some(b) = b else { return Kind::Unknown };
                let (a, b) = same_float(receiver, b);
                self.host(Expr::binary(op, a, b), &whole)
            }
            _ => {
                let message = format!("the method `{name}` of a number cannot be captured yet");
                self.fail(Diagnostic::new(code::HOST, &m.method, message).help(format!(
                    "capture knows {}, arithmetic and casts",
                    METHODS.join(", ")
                )))
            }
        }
    }
}

fn too_large(at: TokenStream) -> Diagnostic {
    Diagnostic::new(code::HOST, at, "this integer does not fit i64").help("write a float, as in 1e20")
}

/// Float literals are `f32` where rustc infers it: beside an `f32`.
pub(super) fn same_float(a: Expr, b: Expr) -> (Expr, Expr) {
    match (a.host_type(), b.host_type()) {
        (HostType::F32, HostType::FloatLiteral) => (a, as_f32(b)),
        (HostType::FloatLiteral, HostType::F32) => (as_f32(a), b),
        _ => (a, b),
    }
}

/// An expression of float literals, computed in `f32`.
fn as_f32(e: Expr) -> Expr {
    match e {
        Expr::Literal(Host::Float(_)) => Expr::Cast(HostType::F32, Box::new(e)),
        Expr::Unary(op, a) => Expr::Unary(op, Box::new(as_f32(*a))),
        Expr::Binary(HostBinary::Powi, a, n) => Expr::Binary(HostBinary::Powi, Box::new(as_f32(*a)), n),
        Expr::Binary(op, a, b) => Expr::binary(op, as_f32(*a), as_f32(*b)),
        // a const has its own type already
        other => other,
    }
}
