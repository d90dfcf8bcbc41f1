//! What a path returns, and what it leaves in the places that the caller lends.

use super::Walk;
use super::lent::{Cell, Own};
use crate::diagnostic::{Diagnostic, code};
use crate::kind::Kind;
use crate::location::text;
use crate::model::Ty;
use crate::returns::{ReturnTree, Returns};
use crate::spec::Spec;
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Block, Expr as Syntax};
use tensorplay_graph::{Code, NodeKind, OPEN_LIST, TensorType, Value, Write};

/// What a path returns.
#[derive(Default)]
pub(super) struct Results {
    /// The tensors, with the tokens of each.
    outputs: Vec<(Value, TokenStream)>,
    /// How many there are where the return type does not say: [`crate::returns`].
    pub codes: Vec<u32>,
}

impl Walk {
    /// Makes the results of the graph out of the body's value.
    pub(super) fn finish(
        &mut self,
        tail: Kind,
        body: &Block,
        returns: Option<&Returns>,
        specs: &[Spec],
    ) -> Option<Vec<u32>> {
        let (kind, at) = match self.returned.take() {
            Some((kind, expr)) => (kind, Returned::of(&expr)),
            None => (self.load(tail), Returned::tail(body)),
        };
        let returns = returns?;
        let kind = match (kind, returns.fallible) {
            (Kind::Unknown, _) => {
                self.silent(&at.whole);
                return None;
            }
            (Kind::Try(inner), true) => *inner,
            (Kind::Try(_), false) => {
                let message = "the function returns a Result, which its return type does not say";
                self.fail(Diagnostic::new(code::RETURNED, at.whole, message).help("return Result<Tensor>"));
                return None;
            }
            (_, true) => {
                let message = "the function returns a value where its return type says `Result`";
                self.fail(Diagnostic::new(code::RETURNED, at.whole, message).help("write Ok(..)"));
                return None;
            }
            (kind, false) => kind,
        };
        let mut results = Results::default();
        let mut fits = self.outputs(kind, &returns.tree, &at, &mut results);
        if fits {
            self.check_return_specs(&results.outputs, specs);
        }
        if self.cells.iter().any(Cell::is_unknown) {
            self.silent(&at.whole);
            fits = false;
        }
        if !fits || !self.errors.is_empty() {
            return None;
        }
        let specs = specs
            .iter()
            .map(|s| Some(s.lower(&mut self.builder.module)))
            .collect::<Vec<_>>();
        let module = &mut self.builder.module;
        module.output_specs = specs;
        module.graph.outputs = results.outputs.into_iter().map(|(v, _)| v).collect();
        self.finish_updates();
        Some(results.codes)
    }

    /// The new values of inputs follow the results: those of variables, then those of what is lent.
    pub(super) fn finish_updates(&mut self) {
        let module = &mut self.builder.module;
        for (input, value) in std::mem::take(&mut self.updates) {
            if let NodeKind::Input(i) = module.graph.node(input).kind {
                module.updates.push(i);
                module.graph.outputs.push(value);
            }
        }
        let changed = |cell: &Cell| match (&cell.own, &cell.value) {
            (Own::Input(input, own), Kind::Tensor(v)) if v != own => Some((Write::Input(*input), *v)),
            _ => None,
        };
        let whole = self.rewritten.drain(..);
        let whole = whole.map(|r| (Write::Elements(r.list, r.part), r.values));
        let mut writes: Vec<(Write, Value)> = self.cells.iter().filter_map(changed).chain(whole).collect();
        writes.sort_by(|a, b| a.0.cmp(&b.0));
        for (write, value) in writes {
            module.writes.push(write);
            module.graph.outputs.push(value);
        }
    }

    /// An unknown result without any error would be a function that silently stays uncompiled.
    pub(super) fn silent(&self, at: &TokenStream) {
        if self.errors.is_empty() {
            self.fail(
                Diagnostic::new(code::RETURNED, at, "this value could not be captured")
                    .help("end the function with an operation on tensors"),
            );
        }
    }

    /// Takes the returned value apart as the return type says.
    fn outputs(&mut self, kind: Kind, tree: &ReturnTree, at: &Returned, out: &mut Results) -> bool {
        match (tree, kind) {
            (_, Kind::Unknown) => {
                self.silent(&at.whole);
                false
            }
            (ReturnTree::Tuple(trees), Kind::List(kinds)) if trees.len() == kinds.len() => {
                self.parts(kinds, trees.iter(), at, out)
            }
            (ReturnTree::Struct(name, fields), Kind::Record(r)) if *name == r.name => {
                let kinds = r.fields.into_iter().map(|(_, kind)| kind).collect();
                self.parts(kinds, fields.iter().map(|(_, t)| t), at, out)
            }
            (ReturnTree::Array(of, n), Kind::List(kinds)) if *n == kinds.len() => {
                self.parts(kinds, std::iter::repeat(&**of), at, out)
            }
            (ReturnTree::Vec(of), kind @ (Kind::List(_) | Kind::Pieces(_))) if !is_open(&kind) => {
                let Some(kinds) = self.elements(kind, &at.whole) else {
                    return false;
                };
                out.codes.push(kinds.len() as u32);
                self.parts(kinds, std::iter::repeat(&**of), at, out)
            }
            (ReturnTree::Option(of), kind @ (Kind::Maybe(..) | Kind::Some(_) | Kind::None)) => {
                let held = self.present(kind);
                out.codes.push(held.is_some().into());
                held.is_none_or(|held| self.outputs(held, of, at, out))
            }
            (ReturnTree::Tensor, kind @ (Kind::Tensor(_) | Kind::Place(_))) => {
                match self.as_tensor(kind, &at.whole) {
                    Some(v) => {
                        out.outputs.push((v, at.whole.clone()));
                        true
                    }
                    None => false,
                }
            }
            (ReturnTree::Vec(of), Kind::List(kinds)) if matches!(**of, ReturnTree::Tensor) => {
                out.codes.push(OPEN_LIST | out.outputs.len() as u32);
                out.codes.push(kinds.len() as u32);
                let mut fits = true;
                for kind in kinds {
                    match kind {
                        Kind::Many(many) => out.outputs.push((many.list, at.whole.clone())),
                        kind => fits &= self.outputs(kind, of, at, out),
                    }
                }
                fits
            }
            (ReturnTree::Vec(_), Kind::Part(p)) if matches!(p.ty, Ty::List(_)) => {
                let list = self.collected(p);
                self.outputs(list, tree, at, out)
            }
            (ReturnTree::Vec(_), Kind::Pieces(p)) => {
                let list = self.pieces(&p, &at.whole);
                self.outputs(list, tree, at, out)
            }
            (tree, kind) => {
                let message = format!(
                    "the return type says {}, this is {}",
                    tree.describe(),
                    kind.describe()
                );
                let help = match (&kind, tree) {
                    (Kind::Host(_), ReturnTree::Tensor) => {
                        "return a tensor, and compute the number outside of the function".to_string()
                    }
                    (Kind::List(l), _) if l.is_empty() => "end the function with its result".to_string(),
                    _ => format!("return {}, or change the return type", tree.describe()),
                };
                self.fail(Diagnostic::new(code::RETURNED, &at.whole, message).help(help));
                false
            }
        }
    }

    fn parts<'t>(
        &mut self,
        kinds: Vec<Kind>,
        trees: impl Iterator<Item = &'t ReturnTree>,
        at: &Returned,
        out: &mut Results,
    ) -> bool {
        let mut fits = true;
        for (i, (kind, tree)) in kinds.into_iter().zip(trees).enumerate() {
            fits &= self.outputs(kind, tree, &at.part(i), out);
        }
        fits
    }

    fn check_return_specs(&mut self, outputs: &[(Value, TokenStream)], specs: &[Spec]) {
        for ((v, at), spec) in outputs.iter().zip(specs) {
            let want = spec.lower(&mut self.builder.module);
            let got = self.builder.ty(*v).clone();
            if contradicts(&want, &got) {
                let symbols = &self.builder.module.symbols;
                let message = format!(
                    "`return`: expected {}, got {}",
                    want.display(symbols),
                    got.display(symbols)
                );
                self.fail(
                    Diagnostic::new(Code::SPEC, at, message)
                        .note(format!("the spec is `return = {}`", text(spec.tokens.clone())))
                        .help("change the spec or the body"),
                );
            }
        }
    }
}

/// Whether a spec and an inferred type surely differ.
fn contradicts(want: &TensorType, got: &TensorType) -> bool {
    let dtype = matches!((want.dtype, got.dtype), (Some(a), Some(b)) if a != b);
    let shape = match (&want.shape, &got.shape) {
        (Some(a), Some(b)) => a.len() != b.len() || a.iter().zip(b).any(|(a, b)| a.differs(*b)),
        _ => false,
    };
    dtype || shape
}

/// A returned expression, which diagnostics take apart as the value.
struct Returned {
    whole: TokenStream,
    parts: Vec<Syntax>,
}

impl Returned {
    fn of(e: &Syntax) -> Returned {
        let inner = match e {
            Syntax::Paren(p) => {
                return Returned {
                    whole: e.to_token_stream(),
                    ..Returned::of(&p.expr)
                };
            }
            Syntax::Group(p) => return Returned::of(&p.expr),
            Syntax::Call(c) if c.args.len() == 1 => match (&*c.func, c.args.first()) {
                (Syntax::Path(p), Some(arg)) if p.path.is_ident("Ok") || p.path.is_ident("Some") => {
                    return Returned::of(arg);
                }
                _ => e,
            },
            other => other,
        };
        let parts = match inner {
            Syntax::Tuple(t) => t.elems.iter().cloned().collect(),
            Syntax::Array(a) => a.elems.iter().cloned().collect(),
            _ => Vec::new(),
        };
        Returned {
            whole: e.to_token_stream(),
            parts,
        }
    }

    fn tail(body: &Block) -> Returned {
        match body.stmts.last() {
            Some(syn::Stmt::Expr(e, None)) => Returned::of(e),
            Some(other) => Returned {
                whole: other.to_token_stream(),
                parts: Vec::new(),
            },
            None => Returned {
                whole: body.to_token_stream(),
                parts: Vec::new(),
            },
        }
    }

    fn part(&self, i: usize) -> Returned {
        match self.parts.get(i) {
            Some(e) => Returned::of(e),
            None => Returned {
                whole: self.whole.clone(),
                parts: Vec::new(),
            },
        }
    }
}

/// Whether only a call knows the length of a list.
fn is_open(kind: &Kind) -> bool {
    match kind {
        Kind::List(kinds) => kinds.iter().any(|k| matches!(k, Kind::Many(_))),
        Kind::Pieces(p) => p.open,
        _ => false,
    }
}
