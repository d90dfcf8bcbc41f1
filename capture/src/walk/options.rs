//! Options of operations: structs made by `default()` or `new(..)` and setters, and enums.

use super::Walk;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::Kind;
use crate::location::tokens;
use crate::nearest::nearest;
use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::{Expr as Syntax, ExprCall, ExprMethodCall, ExprStruct, Path};
use tensorplay_graph::op::options::{Form, Initial, OptionsRow, Variant};
use tensorplay_graph::{Arg, Expr, HostType};

/// The enum that a path of two or more segments names, with its variants.
fn enumeration(path: &Path) -> Option<(&'static OptionsRow, &'static [Variant])> {
    let n = path.segments.len();
    let owner = path.segments.get(n.checked_sub(2)?)?.ident.to_string();
    let options = OptionsRow::from_name(&owner)?;
    match options.form {
        Form::Enum(variants) => Some((options, variants)),
        Form::Struct(_) => None,
    }
}

/// The options type that the last segment of a path names.
pub(super) fn named(path: &Path) -> Option<&'static OptionsRow> {
    OptionsRow::from_name(&path.segments.last()?.ident.to_string())
}

impl Walk {
    /// `Conv2dOptions { .. }`, whose fields are private.
    pub(super) fn literal_options(&mut self, s: &ExprStruct) -> Kind {
        let Some(options) = named(&s.path) else {
            return Kind::Unknown;
        };
        let message = format!("`{}` is made by its constructor and setters", options.name);
        self.fail(Diagnostic::new(code::STATEMENT, &s.path, message).help(format!(
            "write {}, then setters such as .{}(2)",
            example(options),
            setter(options)
        )))
    }

    /// The list of an options argument.
    pub(super) fn options_argument(
        &mut self,
        options: &'static OptionsRow,
        kind: Kind,
        at: &TokenStream,
    ) -> Option<Arg> {
        match kind {
            Kind::Options(of, list) if std::ptr::eq(of, options) => Some(Arg::List(list)),
            Kind::Unknown => None,
            other => {
                let what = match &other {
                    Kind::Options(of, _) => format!("`{}`", of.name),
                    Kind::Place(_) => "a const or field, whose settings only a call tells".to_string(),
                    other => other.describe().to_string(),
                };
                let message = format!("expected `{}`, this is {what}", options.name);
                self.fail(
                    Diagnostic::new(code::ARGUMENT_KIND, at, message)
                        .help(format!("write {} here", example(options))),
                );
                None
            }
        }
    }

    /// `Conv2dOptions::default()`, `PoolOptions::new(3)`, `PadMode::Constant(0.5)`.
    pub(super) fn options_function(
        &mut self,
        c: &ExprCall,
        ty: &str,
        name: &Ident,
        args: &[&Syntax],
    ) -> Kind {
        let Some(options) = OptionsRow::from_name(ty) else {
            return Kind::Unknown;
        };
        if name == "default" && args.is_empty() {
            return Kind::Options(options, options.initial(&[Expr::int(1)]));
        }
        let Form::Struct(fields) = options.form else {
            let value = args.first().map(|e| (tokens(*e), self.expr(e)));
            return match &*c.func {
                Syntax::Path(p) => self.variant(&p.path, value.map(|(at, kind)| (at, None, kind))),
                _ => Kind::Unknown,
            };
        };
        match (name.to_string().as_str(), args) {
            ("new", [e]) if options.is_new() => {
                let len = fields
                    .iter()
                    .find(|f| f.initial == Initial::New)
                    .map_or(1, |f| f.len);
                let (at, kind) = (tokens(*e), self.expr(e));
                match self.numbers(kind, &at, len, HostType::IntLiteral) {
                    Some(values) => Kind::Options(options, options.initial(&values)),
                    None => Kind::Unknown,
                }
            }
            _ => {
                for e in args {
                    self.expr(e);
                }
                let message = format!("the call of `{ty}::{name}` cannot be captured yet");
                self.fail(Diagnostic::new(code::CALL, c, message).help(format!("write {}", example(options))))
            }
        }
    }

    /// One number, or `len` of them.
    fn numbers(&mut self, kind: Kind, at: &TokenStream, len: usize, ty: HostType) -> Option<Vec<Expr>> {
        match kind {
            Kind::List(kinds) if kinds.len() == len && len > 1 => {
                let values: Vec<Option<Expr>> = kinds.into_iter().map(|k| self.as_host(k, at, ty)).collect();
                values.into_iter().collect()
            }
            Kind::List(kinds) => {
                let takes = if len > 1 { "1 number or 2" } else { "1 number" };
                let message = format!("{} numbers are given, expected {takes}", kinds.len());
                self.fail(
                    Diagnostic::new(code::ARGUMENT_KIND, at, message)
                        .help("write one number, or (height, width) where there are two"),
                );
                None
            }
            kind => self.as_host(kind, at, ty).map(|e| vec![e; len]),
        }
    }

    /// A setter of options.
    pub(super) fn set_option(
        &mut self,
        options: &'static OptionsRow,
        mut list: Vec<Arg>,
        m: &ExprMethodCall,
    ) -> Kind {
        let name = m.method.to_string();
        if name == "clone" && m.args.is_empty() {
            return Kind::Options(options, list);
        }
        let field = options.setters().find(|(_, f)| f.name == name);
        let args: Vec<(TokenStream, Kind)> = m.args.iter().map(|e| (tokens(e), self.expr(e))).collect();
        let (Some((at, field)), [(shown, kind)]) = (field, &args[..]) else {
            let names: Vec<&str> = options.setters().map(|(_, f)| f.name).collect();
            let help = match nearest(&name, names.iter().copied()) {
                Some(n) if n != name => format!("did you mean `{n}`?"),
                _ => format!("the setters are {}, with one argument each", names.join(", ")),
            };
            let message = format!("`{}` has no setter `{name}` that is called so", options.name);
            return self.fail(Diagnostic::new(code::METHOD, &m.method, message).help(help));
        };
        let Some(values) = self.numbers(kind.clone(), shown, field.len, field.ty) else {
            return Kind::Unknown;
        };
        for (slot, e) in list[at..at + field.len].iter_mut().zip(values) {
            *slot = Arg::Host(e);
        }
        Kind::Options(options, list)
    }

    /// Whether a path names a variant of an options enum.
    pub(super) fn is_variant(&self, path: &Path) -> bool {
        enumeration(path).is_some()
    }

    /// `Interpolate::Bilinear { align_corners: false }`.
    pub(super) fn variant_struct(&mut self, s: &ExprStruct) -> Kind {
        let mut value = None;
        for f in &s.fields {
            let kind = self.expr(&f.expr);
            let member = match &f.member {
                syn::Member::Named(n) => Some(n.to_string()),
                syn::Member::Unnamed(_) => None,
            };
            value = Some((tokens(&f.expr), member, kind));
        }
        self.variant(&s.path, value)
    }

    /// A variant with its value: the tokens, the field's name in a struct variant, and what it is.
    pub(super) fn variant(
        &mut self,
        path: &Path,
        value: Option<(TokenStream, Option<String>, Kind)>,
    ) -> Kind {
        let Some((options, variants)) = enumeration(path) else {
            return Kind::Unknown;
        };
        let name = path
            .segments
            .last()
            .map(|s| s.ident.to_string())
            .unwrap_or_default();
        let Some(number) = variants.iter().position(|v| v.name == name) else {
            let names: Vec<&str> = variants.iter().map(|v| v.name).collect();
            let message = format!("`{}` has no variant `{name}`", options.name);
            return self.fail(
                Diagnostic::new(code::ARGUMENT_KIND, path, message)
                    .help(format!("the variants are {}", names.join(", "))),
            );
        };
        let value = match (variants[number].value, value) {
            (None, None) => Arg::None,
            (Some((member, ty)), Some((at, given, kind))) if member == given.as_deref() => {
                match self.as_host(kind, &at, ty) {
                    Some(e) => Arg::Host(e),
                    None => return Kind::Unknown,
                }
            }
            (_, Some((_, _, Kind::Unknown))) => return Kind::Unknown,
            _ => {
                let message = format!("`{}::{name}` is not written so", options.name);
                return self.fail(
                    Diagnostic::new(code::ARGUMENT_KIND, path.to_token_stream(), message)
                        .help(format!("write {}", written(options, &variants[number]))),
                );
            }
        };
        Kind::Options(options, vec![Arg::int(number as i64), value])
    }
}

fn written(options: &OptionsRow, v: &Variant) -> String {
    let value = |ty: HostType| if ty == HostType::Bool { "false" } else { "0.0" };
    match v.value {
        None => format!("{}::{}", options.name, v.name),
        Some((None, ty)) => format!("{}::{}({})", options.name, v.name, value(ty)),
        Some((Some(field), ty)) => format!("{}::{} {{ {field}: {} }}", options.name, v.name, value(ty)),
    }
}

/// The first setter.
fn setter(options: &OptionsRow) -> &'static str {
    options.setters().next().map_or("stride", |(_, f)| f.name)
}

/// How such options are written.
fn example(options: &OptionsRow) -> String {
    match options.form {
        Form::Struct(_) if options.is_new() => format!("{}::new(3)", options.name),
        Form::Struct(_) => format!("{}::default()", options.name),
        Form::Enum(variants) => written(options, &variants[0]),
    }
}
