//! Patterns of `let` and of assignments.

use super::Walk;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::Kind;
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{Expr, Pat, punctuated::Punctuated, token::Comma};

impl Walk {
    pub(super) fn bind_pattern(&mut self, pat: &Pat, kind: Kind) {
        match pat {
            Pat::Wild(_) => {}
            Pat::Ident(i) if i.subpat.is_none() => {
                let name = i.ident.to_string();
                self.name(&name, &kind);
                self.scope.bind(name, kind);
            }
            Pat::Paren(p) => self.bind_pattern(&p.pat, kind),
            Pat::Reference(r) if r.mutability.is_none() => self.bind_pattern(&r.pat, kind),
            Pat::Type(t) => {
                let kind = self.typed(kind, &t.ty, &t.pat.to_token_stream());
                self.bind_pattern(&t.pat, kind);
            }
            Pat::Tuple(t) => self.bind_parts(pat, &t.elems, kind),
            Pat::Slice(s) => self.bind_parts(pat, &s.elems, kind),
            other => {
                self.refuse_pattern(other);
            }
        }
    }

    fn bind_parts(&mut self, whole: &Pat, parts: &Punctuated<Pat, Comma>, kind: Kind) {
        match kind {
            Kind::List(kinds)
                if kinds.len() == parts.len() && !parts.iter().any(|p| matches!(p, Pat::Rest(_))) =>
            {
                for (p, k) in parts.iter().zip(kinds) {
                    self.bind_pattern(p, k);
                }
            }
            Kind::Unknown => self.unknown_pattern(whole),
            _ => self.refuse_pattern(whole),
        }
    }

    fn refuse_pattern(&mut self, pat: &Pat) {
        self.fail(
            Diagnostic::new(code::PATTERN, pat, "this pattern cannot be captured yet")
                .help("bind one name, or a tuple of names"),
        );
        self.unknown_pattern(pat);
    }

    /// Every name of a pattern is unknown.
    pub(crate) fn unknown_pattern(&mut self, pat: &Pat) {
        struct Names<'a>(&'a mut Walk);
        impl<'ast> Visit<'ast> for Names<'_> {
            fn visit_pat_ident(&mut self, i: &'ast syn::PatIdent) {
                self.0.bind_unknown(&i.ident.to_string());
                visit::visit_pat_ident(self, i);
            }
        }
        Names(self).visit_pat(pat);
    }

    /// `place = value`.
    pub(super) fn assign(&mut self, place: &Expr, kind: Kind) {
        match place {
            Expr::Infer(_) => {}
            Expr::Paren(p) => self.assign(&p.expr, kind),
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
            other => {
                self.fail(
                    Diagnostic::new(
                        code::STATEMENT,
                        other,
                        "an assignment through this cannot be captured yet",
                    )
                    .help("assign to a local"),
                );
            }
        }
    }
}
