//! Assignments: to locals and their parts, and through `&mut` parameters.

use super::Walk;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::Kind;
use crate::location::tokens;
use quote::ToTokens;
use syn::{Expr, Member, UnOp};
use tensorplay_graph::HostType;

/// A step into a local.
enum PartOfLocal {
    Index(usize),
    Field(String),
}

impl Walk {
    /// `place = value`.
    pub(super) fn assign(&mut self, place: &Expr, kind: Kind) {
        match place {
            Expr::Infer(_) => {}
            Expr::Paren(p) => self.assign(&p.expr, kind),
            Expr::Group(p) => self.assign(&p.expr, kind),
            Expr::Path(p) if p.path.get_ident().is_some() => {
                let name = p.path.get_ident().map(ToString::to_string).unwrap_or_default();
                self.name(&name, &kind);
                if !self.scope.assign(&name, kind) {
                    let message =
                        format!("`{name}` is not a local: an assignment to it cannot be captured yet");
                    self.fail(Diagnostic::new(code::STATEMENT, place, message).help("assign to a local"));
                }
            }
            Expr::Tuple(t) => match kind {
                Kind::List(kinds) if kinds.len() == t.elems.len() => {
                    for (e, k) in t.elems.iter().zip(kinds) {
                        self.assign(e, k);
                    }
                }
                Kind::Unknown => t.elems.iter().for_each(|e| self.assign(e, Kind::Unknown)),
                _ => {
                    self.fail(
                        Diagnostic::new(code::PATTERN, place, "this assignment cannot be captured yet")
                            .help("assign a tuple to a tuple of locals, one part each"),
                    );
                }
            },
            Expr::Unary(u) if matches!(u.op, UnOp::Deref(_)) => match self.raw(&u.expr) {
                lent if Walk::is_lent(&lent) => {
                    let kind = self.load(kind);
                    self.store(lent, kind, &tokens(place));
                }
                Kind::Unknown => {}
                _ => self.refuse_assignment(place),
            },
            Expr::Field(_) | Expr::Index(_) => match self.raw(place) {
                lent if Walk::is_lent(&lent) => {
                    let kind = self.load(kind);
                    self.store(lent, kind, &tokens(place));
                }
                Kind::Unknown => {}
                _ => self.assign_part(place, kind),
            },
            other => self.refuse_assignment(other),
        }
    }

    fn refuse_assignment(&mut self, place: &Expr) {
        self.fail(
            Diagnostic::new(
                code::STATEMENT,
                place,
                "an assignment through this cannot be captured yet",
            )
            .help("assign to a local, or to a tensor behind a `&mut` parameter"),
        );
    }

    /// `pair.0 = value`, `list[1] = value`, `output.hidden = value` of a local.
    fn assign_part(&mut self, place: &Expr, kind: Kind) {
        let mut path = Vec::new();
        let root = self.local_part(place, &mut path);
        let changed = root.and_then(|name| {
            let mut whole = self.scope.get(&name)?.clone();
            let mut at = &mut whole;
            for part in path {
                at = match (at, part) {
                    (Kind::List(kinds), PartOfLocal::Index(i)) => kinds.get_mut(i)?,
                    (Kind::Record(r), PartOfLocal::Field(name)) => {
                        let field = r.fields.iter_mut().find(|(n, _)| *n == name);
                        field.map(|(_, kind)| kind)?
                    }
                    (Kind::Record(r), PartOfLocal::Index(i)) => r.fields.get_mut(i).map(|(_, kind)| kind)?,
                    _ => return None,
                };
            }
            *at = kind;
            self.scope.assign(&name, whole).then_some(())
        });
        if changed.is_none() {
            self.refuse_assignment(place);
        }
    }

    /// The local that a place is a part of, and which part.
    fn local_part(&mut self, place: &Expr, path: &mut Vec<PartOfLocal>) -> Option<String> {
        match place {
            Expr::Paren(p) => self.local_part(&p.expr, path),
            Expr::Group(p) => self.local_part(&p.expr, path),
            Expr::Path(p) => p.path.get_ident().map(ToString::to_string),
            Expr::Field(f) => {
                let name = self.local_part(&f.base, path)?;
                path.push(match &f.member {
                    Member::Unnamed(i) => PartOfLocal::Index(i.index as usize),
                    Member::Named(name) => PartOfLocal::Field(name.to_string()),
                });
                Some(name)
            }
            Expr::Index(i) => {
                let name = self.local_part(&i.expr, path)?;
                let at = i.index.to_token_stream();
                let index = self.expr(&i.index);
                let index = self.as_host(index, &at, HostType::Usize)?;
                path.push(PartOfLocal::Index(self.known_index(&index, &at)?));
                Some(name)
            }
            _ => None,
        }
    }
}
