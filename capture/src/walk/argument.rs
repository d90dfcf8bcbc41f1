//! Arguments of operations, by what the op table says a parameter takes.

use super::Walk;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::{Kind, Pieces};
use crate::loops::ELEMENT;
use proc_macro2::TokenStream;
use tensorplay_graph::op::row::{ParamKind, ParamRow};
use tensorplay_graph::{Arg, Env, Expr, HostType, NodeKind, Op, TypeEnv, Value};

impl Walk {
    /// Converts an argument; `None` if it is unknown or was reported.
    pub(super) fn argument(&mut self, op: Op, p: &ParamRow, kind: Kind, at: &TokenStream) -> Option<Arg> {
        match p.kind {
            ParamKind::Tensor | ParamKind::Index => self.as_tensor(kind, at).map(Arg::Value),
            ParamKind::OptTensor => match kind {
                Kind::Maybe(_, inner) if self.may_be_absent(op, &inner) => {
                    self.as_tensor(*inner, at).map(Arg::Value)
                }
                option @ Kind::Maybe(..) => match self.present(option) {
                    Some(inner) => self.as_tensor(inner, at).map(Arg::Value),
                    None => Some(Arg::None),
                },
                Kind::None => Some(Arg::None),
                Kind::Some(inner) => self.as_tensor(*inner, at).map(Arg::Value),
                Kind::Unknown => None,
                other => {
                    let message = format!("`{}` is an `Option`, this is {}", p.name, other.describe());
                    self.fail(
                        Diagnostic::new(code::ARGUMENT_KIND, at, message).help("write Some(&t) or None"),
                    );
                    None
                }
            },
            ParamKind::Tensors => self.tensors(kind, at),
            ParamKind::Operand => self.as_operand(kind, at),
            ParamKind::Scalar => self.as_host(kind, at, HostType::Number).map(Arg::Host),
            ParamKind::Float => self.as_host(kind, at, HostType::FloatLiteral).map(Arg::Host),
            ParamKind::Int | ParamKind::Region | ParamKind::Dim => {
                self.as_host(kind, at, HostType::IntLiteral).map(Arg::Host)
            }
            ParamKind::DType => self.as_host(kind, at, HostType::DType).map(Arg::Host),
            ParamKind::Flag => self.as_host(kind, at, HostType::Bool).map(Arg::Host),
            // callees are not operations that a user writes
            ParamKind::Arguments | ParamKind::Over => None,
            ParamKind::Options(options) => self.options_argument(options, kind, at),
            ParamKind::Dims | ParamKind::Ints | ParamKind::Shape => self.integers(kind, at, p),
        }
    }

    /// Whether an operation takes an optional field as it is: linking stands in for an absent one, and no path forks.
    fn may_be_absent(&self, op: Op, inner: &Kind) -> bool {
        let Kind::Tensor(v) = inner else { return false };
        let NodeKind::Input(i) = self.builder.module.graph.node(v.node).kind else {
            return false;
        };
        let part = i & ELEMENT != 0 || i as usize >= self.tensors;
        part && matches!(
            op,
            Op::Linear | Op::Conv1d | Op::Conv2d | Op::ConvTranspose2d | Op::LayerNorm
        )
    }

    /// A tensor or a number. A const or field is a number unless it is borrowed.
    pub(super) fn as_operand(&mut self, kind: Kind, at: &TokenStream) -> Option<Arg> {
        match kind {
            Kind::Tensor(v) => Some(Arg::Value(v)),
            // of a const nobody can tell more than that it is no number
            Kind::Place(p) if p.borrowed => self.as_tensor(Kind::Place(p), at).map(Arg::Value),
            Kind::Host(_) | Kind::Place(_) | Kind::Opaque(_) => {
                self.as_host(kind, at, HostType::Number).map(Arg::Host)
            }
            Kind::Unknown => None,
            other => {
                let message = format!("expected a tensor or a number, this is {}", other.describe());
                let help = other.instead("pass a tensor or a number");
                self.fail(Diagnostic::new(code::ARGUMENT_KIND, at, message).help(help));
                None
            }
        }
    }

    fn tensors(&mut self, kind: Kind, at: &TokenStream) -> Option<Arg> {
        match kind {
            Kind::List(kinds) => {
                // all are looked at, so that all errors are reported
                let one = |walk: &mut Walk, k| match k {
                    Kind::Many(many) => Some(many.list),
                    k => walk.as_tensor(k, at),
                };
                let values: Vec<Option<Value>> = kinds.into_iter().map(|k| one(self, k)).collect();
                values
                    .into_iter()
                    .map(|v| v.map(Arg::Value))
                    .collect::<Option<Vec<_>>>()
                    .map(Arg::List)
            }
            Kind::Pieces(p) => {
                let n = self.count(&p, at)?;
                Some(Arg::List(
                    (0..n)
                        .map(|index| Arg::Value(Value { node: p.node, index }))
                        .collect(),
                ))
            }
            Kind::Part(p) => match self.collected(p) {
                Kind::Part(_) => None,
                list => self.tensors(list, at),
            },
            Kind::Unknown => None,
            other => {
                let message = format!("expected a list of tensors, this is {}", other.describe());
                self.fail(Diagnostic::new(code::ARGUMENT_KIND, at, message).help("write &[a, b]"));
                None
            }
        }
    }

    /// How many pieces there are.
    pub(super) fn count(&mut self, p: &Pieces, at: &TokenStream) -> Option<u32> {
        if p.open {
            let message = "the number of pieces is not known at build time";
            self.fail(
                Diagnostic::new(code::INDEX, at, message)
                    .help("give the tensor a spec with that size, or index the pieces one by one"),
            );
            return None;
        }
        Some(self.builder.module.graph.node(p.node).types.len() as u32)
    }

    /// Sizes or axes: one integer, a tuple, an array, or a tensor's shape.
    fn integers(&mut self, kind: Kind, at: &TokenStream, p: &ParamRow) -> Option<Arg> {
        match kind {
            Kind::List(kinds) => {
                let ints: Vec<Option<Expr>> = kinds
                    .into_iter()
                    .map(|k| self.as_host(k, at, HostType::IntLiteral))
                    .collect();
                ints.into_iter()
                    .map(|e| e.map(Arg::Host))
                    .collect::<Option<Vec<_>>>()
                    .map(Arg::List)
            }
            Kind::Shape(v) => {
                let rank = TypeEnv(&self.builder.module.graph).rank(v);
                if rank.is_none() && p.kind == ParamKind::Shape {
                    return Some(Arg::Value(v));
                }
                let Some(rank) = rank else {
                    self.fail(
                        Diagnostic::new(
                            code::UNKNOWN_RANK,
                            at,
                            "the rank of this tensor is not known at build time",
                        )
                        .help("give it a spec, as in #[spec(f32[_, _])], or write its dims out"),
                    );
                    return None;
                };
                let dim = |i: usize| Arg::Host(Expr::Dim(v, Box::new(Expr::int(i as i64))));
                Some(Arg::List((0..rank).map(dim).collect()))
            }
            Kind::Host(_) | Kind::Place(_) => self
                .as_host(kind, at, HostType::IntLiteral)
                .map(|e| Arg::List(vec![Arg::Host(e)])),
            Kind::Unknown => None,
            other => {
                let message = format!("`{}` takes integers, this is {}", p.name, other.describe());
                self.fail(
                    Diagnostic::new(code::ARGUMENT_KIND, at, message)
                        .help("write an integer, or a tuple of them"),
                );
                None
            }
        }
    }
}
