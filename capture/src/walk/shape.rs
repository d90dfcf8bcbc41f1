//! Comparisons of shapes: with another shape, or with sizes written out.
//!
//! One condition, so that a branch is two paths: the rank, unless it is known, and then each size that is not.

use super::Walk;
use super::operator::Operand;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::Kind;
use proc_macro2::TokenStream;
use syn::{BinOp, ExprBinary};
use tensorplay_graph::{Dim, Env, Expr, Host, HostBinary, HostType, HostUnary, TypeEnv, Value};

/// Whether an operator may compare shapes.
pub(super) fn compares(op: &BinOp) -> bool {
    matches!(op, BinOp::Eq(_) | BinOp::Ne(_))
}

fn dim(v: Value, i: usize) -> Expr {
    Expr::Dim(v, Box::new(Expr::int(i as i64)))
}

impl Walk {
    /// `x.shape() == y.shape()`, `x.shape() != [2, 3]`.
    pub(super) fn compared_shapes(&mut self, e: &ExprBinary, left: Operand, right: Operand) -> Kind {
        let same = match (left.kind, right.kind) {
            (Kind::Unknown, _) | (_, Kind::Unknown) => None,
            (Kind::Shape(a), Kind::Shape(b)) => Some(self.same_shape(a, b)),
            (Kind::Shape(v), Kind::List(sizes)) => self.has_sizes(v, sizes, &right.tokens),
            (Kind::List(sizes), Kind::Shape(v)) => self.has_sizes(v, sizes, &left.tokens),
            (Kind::Shape(_), other) => self.no_shape(&other, right.tokens),
            (other, _) => self.no_shape(&other, left.tokens),
        };
        match (same, &e.op) {
            (Some(same), BinOp::Ne(_)) => Kind::Host(Expr::Unary(HostUnary::Not, Box::new(same))),
            (Some(same), _) => Kind::Host(same),
            (None, _) => Kind::Unknown,
        }
    }

    fn no_shape(&mut self, other: &Kind, at: TokenStream) -> Option<Expr> {
        let message = format!(
            "a comparison of a shape with {} cannot be captured yet",
            other.describe()
        );
        self.fail(
            Diagnostic::new(code::HOST, at, message)
                .help("compare with another shape, or with sizes written out, as in x.shape() == [2, 3]"),
        );
        None
    }

    fn same_shape(&self, a: Value, b: Value) -> Expr {
        if a == b {
            return Expr::Literal(Host::Bool(true));
        }
        let env = TypeEnv(&self.builder.module.graph);
        let (of_a, of_b) = (env.rank(a), env.rank(b));
        let Some(n) = of_a.or(of_b) else {
            return Expr::SameShape(a, b);
        };
        let named = |v: Value, i: usize| self.builder.ty(v).shape.as_ref().map(|s| s[i]);
        let mut all = Vec::with_capacity(n + 1);
        for (v, rank) in [(a, of_a), (b, of_b)] {
            match rank {
                None => all.push(Expr::binary(HostBinary::Eq, Expr::Rank(v), Expr::int(n as i64))),
                Some(m) if m != n => return Expr::Literal(Host::Bool(false)),
                Some(_) => {}
            }
        }
        for i in 0..n {
            let (x, y) = (named(a, i), named(b, i));
            if x != y || matches!(x, None | Some(Dim::Unknown)) {
                all.push(Expr::binary(HostBinary::Eq, dim(a, i), dim(b, i)));
            }
        }
        self.all(all)
    }

    fn has_sizes(&mut self, v: Value, sizes: Vec<Kind>, at: &TokenStream) -> Option<Expr> {
        let n = Expr::int(sizes.len() as i64);
        let mut all = vec![Expr::binary(HostBinary::Eq, self.rank_of(v), n)];
        for (i, size) in sizes.into_iter().enumerate() {
            let size = self.as_host(size, at, HostType::Usize)?;
            all.push(Expr::binary(HostBinary::Eq, dim(v, i), size));
        }
        Some(self.all(all))
    }

    /// Whether all of these hold, each asked where those before it do.
    fn all(&self, conditions: Vec<Expr>) -> Expr {
        let mut all: Option<Expr> = None;
        for c in conditions {
            match self.builder.known(&c) {
                Some(Host::Bool(true)) => {}
                Some(Host::Bool(false)) => return Expr::Literal(Host::Bool(false)),
                _ => {
                    all = Some(match all {
                        Some(before) => Expr::binary(HostBinary::And, before, c),
                        None => c,
                    });
                }
            }
        }
        all.unwrap_or(Expr::Literal(Host::Bool(true)))
    }
}
