//! The text of host expressions: infix, with Rust's precedence.

use super::{Expr, Host, HostUnary};
use std::fmt;

/// Prints with infix operators and minimal parentheses: `dim(%1, -1) / 2`.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn go(e: &Expr, outer: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match e {
                Expr::Literal(Host::Int(v)) => write!(f, "{v}"),
                Expr::Literal(Host::Size(v)) => write!(f, "{v}"),
                Expr::Literal(Host::Float(v)) if v.is_nan() => f.write_str("nan"),
                Expr::Literal(Host::Float(v)) => write!(f, "{v:?}"),
                Expr::Literal(Host::Bool(v)) => write!(f, "{v}"),
                Expr::Literal(Host::DType(v)) => write!(f, "{v}"),
                Expr::Param(i, _) => write!(f, "${i}"),
                Expr::Dim(v, i) => write!(f, "dim({v}, {i})"),
                Expr::Rank(v) => write!(f, "rank({v})"),
                Expr::ElemCount(v) => write!(f, "elem_count({v})"),
                Expr::DTypeOf(v) => write!(f, "dtype({v})"),
                Expr::SameShape(a, b) => write!(f, "same_shape({a}, {b})"),
                Expr::Cast(t, a) => write!(f, "{}({a})", t.name()),
                Expr::Unary(op, a) => write!(
                    f,
                    "{}({a})",
                    match op {
                        HostUnary::Neg => "neg",
                        HostUnary::Not => "not",
                        HostUnary::Sqrt => "sqrt",
                        HostUnary::Ln => "ln",
                        HostUnary::Exp => "exp",
                        HostUnary::Probability => "probability",
                    }
                ),
                Expr::Binary(op, a, b) => match op.symbol() {
                    (name, None) => write!(f, "{name}({a}, {b})"),
                    (symbol, Some(level)) => {
                        let paren = level < outer;
                        if paren {
                            f.write_str("(")?;
                        }
                        go(a, level, f)?;
                        write!(f, " {symbol} ")?;
                        go(b, level + 1, f)?;
                        if paren {
                            f.write_str(")")?;
                        }
                        Ok(())
                    }
                },
            }
        }
        go(self, 0, f)
    }
}
