//! Host expressions in the text form: precedence climbing over the operators of [`HostBinary`].

use super::error::ParseErrorKind as Kind;
use super::lex::Token;
use super::parse::Parser;
use crate::{DType, Expr, Host, HostBinary, HostType, HostUnary, NodeId, ParseError, Value};

/// How deep expressions and lists may nest.
pub(super) const MAX_DEPTH: usize = 128;

const INFIX: &[HostBinary] = &[
    HostBinary::Or,
    HostBinary::And,
    HostBinary::Eq,
    HostBinary::Ne,
    HostBinary::Lt,
    HostBinary::Le,
    HostBinary::Gt,
    HostBinary::Ge,
    HostBinary::Add,
    HostBinary::Sub,
    HostBinary::Mul,
    HostBinary::Div,
    HostBinary::Rem,
];

type Deep = (Expr, usize);

/// The type of that name, as [`HostType::name`] gives it.
pub(super) fn host_type(name: &str) -> Option<HostType> {
    match name {
        "int" => Some(HostType::IntLiteral),
        "float" => Some(HostType::FloatLiteral),
        "number" => Some(HostType::Number),
        _ => HostType::from_name(name),
    }
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Result<Expr, ParseError> {
        Ok(self.infix(0)?.0)
    }

    /// An expression whose operators bind at least as tightly as `min`, and its depth.
    fn infix(&mut self, min: u8) -> Result<Deep, ParseError> {
        let (mut a, mut depth) = self.primary()?;
        while let Token::Punct(p) = *self.peek() {
            let found = INFIX.iter().find_map(|op| match op.symbol() {
                (s, Some(level)) if s == p && level >= min => Some((*op, level)),
                _ => None,
            });
            let Some((op, level)) = found else { break };
            self.next();
            let (b, d) = self.infix(level + 1)?;
            depth = self.deeper(depth.max(d))?;
            a = Expr::binary(op, a, b);
        }
        Ok((a, depth))
    }

    fn deeper(&self, depth: usize) -> Result<usize, ParseError> {
        if depth >= MAX_DEPTH {
            return Err(self.error(Kind::TooDeep));
        }
        Ok(depth + 1)
    }

    fn primary(&mut self) -> Result<Deep, ParseError> {
        let expr = match self.peek().clone() {
            Token::Int(_) => Expr::int(self.int(false)?),
            Token::Float(v) => {
                self.next();
                Expr::float(v)
            }
            Token::Punct("-") => {
                self.next();
                match *self.peek() {
                    Token::Int(_) => Expr::int(self.int(true)?),
                    Token::Float(v) => {
                        self.next();
                        Expr::float(-v)
                    }
                    Token::Ident("inf") => {
                        self.next();
                        Expr::float(f64::NEG_INFINITY)
                    }
                    _ => return Err(self.expected("a number after `-`; write neg(..) for expressions")),
                }
            }
            Token::Param(i) => {
                let Some(ty) = self.scalar_type(i) else {
                    return Err(self.error(Kind::UnknownParam(i)));
                };
                self.next();
                Expr::Param(i, ty)
            }
            Token::Punct("(") => {
                return self.nested(|p| {
                    p.next();
                    let inner = p.infix(0)?;
                    p.punct(")")?;
                    Ok(inner)
                });
            }
            Token::Ident(name) => {
                if self.peek_after() == &Token::Punct("(") {
                    return self.nested(|p| p.function(name));
                }
                let literal = match name {
                    "inf" => Host::Float(f64::INFINITY),
                    "nan" => Host::Float(f64::NAN),
                    "true" => Host::Bool(true),
                    "false" => Host::Bool(false),
                    _ => match name.parse::<DType>() {
                        Ok(d) => Host::DType(d),
                        Err(_) => return Err(self.expected("an argument")),
                    },
                };
                self.next();
                Expr::Literal(literal)
            }
            _ => return Err(self.expected("an argument")),
        };
        Ok((expr, 0))
    }

    fn function(&mut self, name: &str) -> Result<Deep, ParseError> {
        let unary = match name {
            "neg" => Some(HostUnary::Neg),
            "not" => Some(HostUnary::Not),
            "sqrt" => Some(HostUnary::Sqrt),
            "ln" => Some(HostUnary::Ln),
            "exp" => Some(HostUnary::Exp),
            "probability" => Some(HostUnary::Probability),
            _ => None,
        };
        let binary = match name {
            "min" => Some(HostBinary::Min),
            "max" => Some(HostBinary::Max),
            "pow" => Some(HostBinary::Pow),
            "powi" => Some(HostBinary::Powi),
            _ => None,
        };
        let known = unary.is_some()
            || binary.is_some()
            || matches!(name, "dim" | "rank" | "elem_count" | "dtype" | "same_shape")
            || host_type(name).is_some();
        if !known {
            return Err(self.expected("a host function or cast"));
        }
        self.next();
        self.punct("(")?;
        let (expr, depth) = if let Some(op) = unary {
            let (a, d) = self.infix(0)?;
            (Expr::Unary(op, Box::new(a)), d)
        } else if let Some(op) = binary {
            let (a, d) = self.infix(0)?;
            self.punct(",")?;
            let (b, e) = self.infix(0)?;
            (Expr::binary(op, a, b), d.max(e))
        } else if name == "dim" {
            let v = self.value()?;
            self.punct(",")?;
            let (i, d) = self.infix(0)?;
            (Expr::Dim(v, Box::new(i)), d)
        } else if name == "same_shape" {
            let a = self.value()?;
            self.punct(",")?;
            (Expr::SameShape(a, self.value()?), 0)
        } else if let Some(ty) = host_type(name) {
            let (a, d) = self.infix(0)?;
            (Expr::Cast(ty, Box::new(a)), d)
        } else {
            let v = self.value()?;
            let read = match name {
                "rank" => Expr::Rank(v),
                "elem_count" => Expr::ElemCount(v),
                _ => Expr::DTypeOf(v),
            };
            (read, 0)
        };
        self.punct(")")?;
        Ok((expr, self.deeper(depth)?))
    }

    /// An integer token as i64.
    pub(super) fn int(&mut self, negative: bool) -> Result<i64, ParseError> {
        let Token::Int(v) = *self.peek() else {
            return Err(self.expected("an integer"));
        };
        let signed = if negative {
            0i64.checked_sub_unsigned(v)
        } else {
            i64::try_from(v).ok()
        };
        let Some(signed) = signed else {
            let sign = if negative { "-" } else { "" };
            return Err(self.error(Kind::Number(format!("{sign}{v}"))));
        };
        self.next();
        Ok(signed)
    }

    /// A value token.
    pub(super) fn value(&mut self) -> Result<Value, ParseError> {
        let Token::Value(node, index) = *self.peek() else {
            return Err(self.expected("a value such as `%0`"));
        };
        self.next();
        Ok(Value {
            node: NodeId(node),
            index,
        })
    }
}
