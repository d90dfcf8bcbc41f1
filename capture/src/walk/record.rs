//! Values of the module's structs that a body makes: literals, their fields, and patterns that take them apart.

use super::Walk;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::{Kind, Record};
use crate::parameter::host_type;
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Expr, ExprStruct, Member, PatStruct, Path};

fn name_of(member: &Member) -> String {
    match member {
        Member::Named(n) => n.to_string(),
        Member::Unnamed(i) => i.index.to_string(),
    }
}

impl Walk {
    /// The struct of the module that a path names.
    pub(super) fn own_struct(&self, path: &Path) -> Option<String> {
        if self.hides(path) {
            return None;
        }
        let model = self.env.model.as_ref()?;
        let name = self.named(path.get_ident()?.to_string());
        model.structs.get(&name).filter(|s| !s.custom)?;
        Some(name)
    }

    /// `Output { hidden, logits: h }`, of a struct of the module.
    pub(super) fn struct_literal(&mut self, s: &ExprStruct, name: String) -> Kind {
        let given: Vec<(String, Kind)> = s
            .fields
            .iter()
            .map(|f| {
                let kind = self.expr(&f.expr);
                (name_of(&f.member), kind)
            })
            .collect();
        if let Some(rest) = &s.rest {
            return self.fail(
                Diagnostic::new(
                    code::STATEMENT,
                    rest,
                    "a struct made of another cannot be captured yet",
                )
                .help("write all fields"),
            );
        }
        self.record(name, given)
    }

    /// `Output(hidden, logits)`.
    pub(super) fn tuple_struct(&mut self, name: String, args: &[&Expr]) -> Kind {
        let given = args
            .iter()
            .enumerate()
            .map(|(i, a)| (i.to_string(), self.expr(a)));
        let given = given.collect();
        self.record(name, given)
    }

    fn record(&mut self, name: String, given: Vec<(String, Kind)>) -> Kind {
        if given.iter().any(|(_, kind)| matches!(kind, Kind::Unknown)) {
            return Kind::Unknown;
        }
        let known = self
            .env
            .model
            .as_ref()
            .and_then(|m| m.structs.get(&name).cloned());
        let Some(known) = known else {
            return Kind::Unknown;
        };
        let mut fields = Vec::with_capacity(known.fields.len());
        for ((field, _), ty) in known.fields.iter().zip(&known.types) {
            // rustc reports a field that is missing
            let Some((_, kind)) = given.iter().find(|(n, _)| n == field) else {
                return Kind::Unknown;
            };
            let kind = match (kind, host_type(ty)) {
                (Kind::Host(_) | Kind::Place(_), Some(_)) => {
                    self.typed(kind.clone(), ty, &ty.to_token_stream())
                }
                _ => kind.clone(),
            };
            fields.push((field.clone(), kind));
        }
        Kind::Record(Record { name, fields })
    }

    /// `value.hidden`.
    pub(super) fn record_field(&self, record: &Record, member: &Member) -> Kind {
        let name = name_of(member);
        let field = record.fields.iter().find(|(n, _)| *n == name);
        field.map_or(Kind::Unknown, |(_, kind)| kind.clone())
    }

    /// The fields that a pattern names, with their patterns.
    pub(super) fn record_pattern(
        &mut self,
        pat: &PatStruct,
        record: &Record,
    ) -> Option<Vec<(syn::Pat, Kind)>> {
        if self.own_struct(&pat.path).as_deref() != Some(record.name.as_str()) {
            return None;
        }
        let parts = pat
            .fields
            .iter()
            .map(|f| ((*f.pat).clone(), self.record_field(record, &f.member)));
        Some(parts.collect())
    }

    pub(super) fn refuse_record(&mut self, at: TokenStream) -> Kind {
        self.fail(
            Diagnostic::new(
                code::PATTERN,
                at.to_token_stream(),
                "this pattern of a struct cannot be captured yet",
            )
            .help("name the fields, as in Output { hidden, .. }"),
        )
    }
}
