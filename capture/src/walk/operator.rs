//! Operators: `+ - * /` and `-` of tensors and numbers; the rest are of numbers only.

use super::host::same_float;
use super::{Walk, shape};
use crate::diagnostic::{Diagnostic, code};
use crate::kind::Kind;
use crate::location::{start, tokens};
use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{BinOp, ExprBinary, ExprUnary, UnOp};
use tensorplay_graph::{Arg, HostBinary, HostType, HostUnary, Op};

/// An operand with its tokens.
pub(super) struct Operand {
    pub kind: Kind,
    pub tokens: TokenStream,
}

impl Operand {
    /// Surely a tensor: a number is never borrowed.
    fn is_tensor(&self) -> bool {
        matches!(&self.kind, Kind::Tensor(_)) || matches!(&self.kind, Kind::Place(p) if p.field && p.borrowed)
    }
}

fn host_operator(op: &BinOp) -> Option<(HostBinary, bool)> {
    use BinOp::*;
    Some(match op {
        Add(_) => (HostBinary::Add, false),
        Sub(_) => (HostBinary::Sub, false),
        Mul(_) => (HostBinary::Mul, false),
        Div(_) => (HostBinary::Div, false),
        Rem(_) => (HostBinary::Rem, false),
        And(_) => (HostBinary::And, false),
        Or(_) => (HostBinary::Or, false),
        Eq(_) => (HostBinary::Eq, false),
        Ne(_) => (HostBinary::Ne, false),
        Lt(_) => (HostBinary::Lt, false),
        Le(_) => (HostBinary::Le, false),
        Gt(_) => (HostBinary::Gt, false),
        Ge(_) => (HostBinary::Ge, false),
        AddAssign(_) => (HostBinary::Add, true),
        SubAssign(_) => (HostBinary::Sub, true),
        MulAssign(_) => (HostBinary::Mul, true),
        DivAssign(_) => (HostBinary::Div, true),
        RemAssign(_) => (HostBinary::Rem, true),
        _ => return None,
    })
}

/// The operations of an operator: with the tensor on the left, and with a number on the left.
fn tensor_operator(op: HostBinary) -> Option<(Op, Op)> {
    Some(match op {
        HostBinary::Add => (Op::Add, Op::Add),
        HostBinary::Sub => (Op::Sub, Op::Rsub),
        HostBinary::Mul => (Op::Mul, Op::Mul),
        HostBinary::Div => (Op::Div, Op::Rdiv),
        _ => return None,
    })
}

impl Walk {
    pub(super) fn binary(&mut self, e: &ExprBinary) -> Kind {
        if let Some(answer) = self.asked(e) {
            return answer;
        }
        let left = Operand {
            kind: self.expr(&e.left),
            tokens: tokens(&*e.left),
        };
        let right = Operand {
            kind: self.expr(&e.right),
            tokens: tokens(&*e.right),
        };
        let variant = |o: &Operand| matches!(o.kind, Kind::Enum(..));
        if variant(&left) != variant(&right)
            && !matches!((&left.kind, &right.kind), (Kind::Unknown, _) | (_, Kind::Unknown))
        {
            let at = if variant(&left) { right.tokens } else { left.tokens };
            let message = "an enum beside this cannot be captured yet";
            return self
                .fail(Diagnostic::new(code::HOST, at, message).help("write the variant, as in `Act::Relu`"));
        }
        // rustc checks that both are of one enum
        let number = |o: Operand| match o.kind {
            Kind::Enum(_, number) => Operand {
                kind: Kind::Host(number),
                ..o
            },
            _ => o,
        };
        let (left, right) = (number(left), number(right));
        let is_shape = |o: &Operand| matches!(o.kind, Kind::Shape(_));
        if shape::compares(&e.op) && (is_shape(&left) || is_shape(&right)) {
            return self.compared_shapes(e, left, right);
        }
        let Some((op, assigns)) = host_operator(&e.op) else {
            return self.refuse_operator(&e.op, &left, &right);
        };
        let kind = self.combine(op, &e.op, left, right, tokens(e), start(e));
        if assigns {
            self.assign(&e.left, kind);
            return Kind::unit();
        }
        kind
    }

    fn refuse_operator(&mut self, op: &BinOp, left: &Operand, right: &Operand) -> Kind {
        if matches!(left.kind, Kind::Unknown) || matches!(right.kind, Kind::Unknown) {
            return Kind::Unknown;
        }
        let shown = op.to_token_stream().to_string();
        if !left.is_tensor() && !right.is_tensor() {
            let message = format!("the operator `{shown}` of numbers cannot be captured yet");
            return self
                .fail(Diagnostic::new(code::HOST, op, message).help("compute it outside and pass it in"));
        }
        let help = match shown.as_str() {
            "==" => "write a.eq(b)",
            "!=" => "write a.ne(b)",
            "<" => "write a.lt(b)",
            "<=" => "write a.le(b)",
            ">" => "write a.gt(b)",
            ">=" => "write a.ge(b)",
            "%" | "%=" => "write a.fmod(b), or a.remainder(b) for the sign of the divisor",
            "&&" => "write a.logical_and(b)",
            "||" => "write a.logical_or(b)",
            "&" => "write a.bitwise_and(b)",
            "|" => "write a.bitwise_or(b)",
            "^" => "write a.bitwise_xor(b)",
            _ => "the operators of tensors are + - * /",
        };
        let message = format!("tensors have no operator `{shown}`");
        self.fail(Diagnostic::new(code::OPERATOR, op, message).help(help))
    }

    fn combine(
        &mut self,
        op: HostBinary,
        written: &BinOp,
        left: Operand,
        right: Operand,
        whole: TokenStream,
        at: Span,
    ) -> Kind {
        if matches!(left.kind, Kind::Unknown) || matches!(right.kind, Kind::Unknown) {
            return Kind::Unknown;
        }
        if !left.is_tensor() && !right.is_tensor() {
            return self.host_binary(op, left, right, whole);
        }
        let Some((plain, swapped)) = tensor_operator(op) else {
            return self.refuse_operator(written, &left, &right);
        };
        let swap = !left.is_tensor();
        let (op, first, second) = if swap {
            (swapped, right, left)
        } else {
            (plain, left, right)
        };
        let is_tensor = second.is_tensor();
        let Some(a) = self.as_tensor(first.kind, &first.tokens) else {
            return Kind::Unknown;
        };
        let b = if is_tensor {
            self.as_tensor(second.kind, &second.tokens).map(Arg::Value)
        } else {
            self.as_operand(second.kind, &second.tokens)
        };
        let Some(b) = b else { return Kind::Unknown };
        self.call(op, vec![a.into(), b], &[first.tokens, second.tokens], whole, at)
    }

    fn host_binary(&mut self, op: HostBinary, left: Operand, right: Operand, whole: TokenStream) -> Kind {
        let guess = |other: &Kind| match other {
            Kind::Host(e) => e.host_type(),
            _ => HostType::Number,
        };
        let (l, r) = (guess(&right.kind), guess(&left.kind));
        let a = self.as_host(left.kind, &left.tokens, l);
        let b = self.as_host(right.kind, &right.tokens, r);
        match (a, b) {
            (Some(a), Some(b)) => {
                let (a, b) = same_float(a, b);
                self.host(tensorplay_graph::Expr::binary(op, a, b), &whole)
            }
            _ => Kind::Unknown,
        }
    }

    pub(super) fn unary(&mut self, e: &ExprUnary) -> Kind {
        let raw = self.raw(&e.expr);
        if matches!(e.op, UnOp::Deref(_)) && Walk::is_lent(&raw) {
            return raw;
        }
        let kind = self.load(raw);
        let tokens = tokens(&*e.expr);
        match (&e.op, kind) {
            (_, Kind::Unknown) => Kind::Unknown,
            (UnOp::Deref(_), Kind::Place(mut p)) => {
                // `*` takes back the `&` of a borrowed place
                if !std::mem::take(&mut p.borrowed) {
                    let (star, inner) = (&e.op, p.tokens);
                    p.tokens = quote::quote!((#star #inner));
                }
                Kind::Place(p)
            }
            (UnOp::Deref(_), kind) => kind,
            (UnOp::Neg(_), Kind::Place(p)) if p.field && p.borrowed => {
                let v = self.read_tensor(&p);
                self.call(Op::Neg, vec![v.into()], &[tokens], e.to_token_stream(), e.span())
            }
            (UnOp::Neg(_), Kind::Tensor(v)) => {
                self.call(Op::Neg, vec![v.into()], &[tokens], e.to_token_stream(), e.span())
            }
            (UnOp::Neg(_), kind) => match self.as_host(kind, &tokens, HostType::Number) {
                Some(e2) => self.negate(e2, &e.to_token_stream()),
                None => Kind::Unknown,
            },
            (UnOp::Not(_), Kind::Tensor(_)) => self.fail(
                Diagnostic::new(code::OPERATOR, e, "tensors have no operator `!`")
                    .help("write x.logical_not() or x.bitwise_not()"),
            ),
            (UnOp::Not(_), kind) => match self.as_host(kind, &tokens, HostType::Bool) {
                Some(a) if a.host_type() == HostType::Bool => self.host(
                    tensorplay_graph::Expr::Unary(HostUnary::Not, Box::new(a)),
                    &e.to_token_stream(),
                ),
                Some(_) => self.fail(
                    Diagnostic::new(code::HOST, e, "`!` of an integer cannot be captured yet")
                        .help("compute it outside and pass it in"),
                ),
                None => Kind::Unknown,
            },
            (_, _) => self.fail(
                Diagnostic::new(code::STATEMENT, e, "this operator cannot be captured yet")
                    .help("put it outside of the compiled function"),
            ),
        }
    }
}
