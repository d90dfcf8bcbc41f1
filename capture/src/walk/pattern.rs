//! Patterns of `let`.

use super::Walk;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::Kind;
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{Pat, punctuated::Punctuated, token::Comma};

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
            Pat::Reference(r) if r.mutability.is_none() => {
                let kind = self.load(kind);
                self.bind_pattern(&r.pat, kind);
            }
            Pat::Type(t) => {
                let kind = self.typed(kind, &t.ty, &t.pat.to_token_stream());
                self.bind_pattern(&t.pat, kind);
            }
            Pat::Struct(s) if matches!(kind, Kind::Record(_)) => self.bind_record(s, kind),
            Pat::TupleStruct(t) if matches!(kind, Kind::Record(_)) => match kind {
                Kind::Record(r) => {
                    let kinds = r.fields.into_iter().map(|(_, kind)| kind);
                    self.bind_parts(pat, &t.elems, Kind::List(kinds.collect()));
                }
                _ => self.unknown_pattern(pat),
            },
            Pat::Tuple(t) => self.bind_parts(pat, &t.elems, kind),
            Pat::Slice(s) => self.bind_parts(pat, &s.elems, kind),
            other => {
                self.refuse_pattern(other);
            }
        }
    }

    fn bind_record(&mut self, pat: &syn::PatStruct, kind: Kind) {
        let parts = match &kind {
            Kind::Record(record) => self.record_pattern(pat, record),
            _ => None,
        };
        match parts {
            Some(parts) => parts
                .into_iter()
                .for_each(|(pat, kind)| self.bind_pattern(&pat, kind)),
            None => {
                self.refuse_record(pat.to_token_stream());
                self.unknown_pattern(&Pat::Struct(pat.clone()));
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
}
