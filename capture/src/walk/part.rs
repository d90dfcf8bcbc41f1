//! Structs of a `#[model]` module: their fields, and their methods, which are walked where they are called.

use super::Walk;
use super::callee::{consts_of, turbofish};
use crate::diagnostic::{Diagnostic, code};
use crate::export::Exported;
use crate::kind::{Kind, PartOf};
use crate::location::tokens;
use crate::marker::{self, MarkerKind};
use crate::model::{ModelFn, Ty, key};
use crate::parameter::host_type;
use crate::reads::{Part, Read};
use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use std::rc::Rc;
use syn::{Expr as Syntax, ExprCall, ExprMethodCall, FnArg, GenericArgument, Path, ReceiverKind, Type};
use tensorplay_graph::op::options::Form;
use tensorplay_graph::{Arg, Expr, HostBinary, HostType, Step};

/// Functions are walked inside each other no deeper.
const DEEPEST: usize = 32;

impl Walk {
    /// What a part of an aggregate is. Tensors and numbers are read at once.
    pub(super) fn part(&mut self, part: PartOf) -> Kind {
        let read = |p: &PartOf| Part {
            path: p.path.clone(),
            name: p.name.clone(),
        };
        match &part.ty {
            Ty::Tensor if part.lent => self.lent_part(&part),
            Ty::Tensor => Kind::Tensor(self.read_part(read(&part), part.tokens.clone())),
            Ty::Host(t) => Kind::Host(self.read_part_host(read(&part), *t)),
            Ty::Enum(name) => {
                let number = self.read_part_host(read(&part), HostType::Usize);
                Kind::Enum(name.clone(), number)
            }
            Ty::Option(inner) => {
                let tag = self.read_part_host(
                    Part {
                        path: part.path.clone(),
                        name: format!("{}.is_some()", part.name),
                    },
                    HostType::Bool,
                );
                let inner = PartOf {
                    path: part.path.then(Step::Some),
                    ty: (**inner).clone(),
                    ..part.clone()
                };
                Kind::Maybe(tag, Box::new(self.part(inner)))
            }
            Ty::Options(row) => {
                let Form::Struct(fields) = row.form else {
                    return Kind::Unknown;
                };
                let mut list = Vec::new();
                for field in fields {
                    for i in 0..field.len {
                        let path = part.path.then(Step::Field(list.len() as u32));
                        let name = format!("{}.{}.{i}", part.name, field.name);
                        let ty = match field.ty {
                            HostType::IntLiteral => HostType::I64,
                            other => other,
                        };
                        list.push(Arg::Host(self.read_part_host(Part { path, name }, ty)));
                    }
                }
                Kind::Options(row, list)
            }
            Ty::Tuple(parts) => {
                let field = |(i, ty): (usize, &Ty)| PartOf {
                    path: part.path.then(Step::Field(i as u32)),
                    ty: ty.clone(),
                    name: format!("{}.{i}", part.name),
                    ..part.clone()
                };
                let fields: Vec<PartOf> = parts.iter().enumerate().map(field).collect();
                Kind::List(fields.into_iter().map(|p| self.part(p)).collect())
            }
            Ty::Opaque => self.fail(
                Diagnostic::new(code::STATEMENT, &part.tokens, "a field of this type cannot be captured")
                    .help("fields are tensors, numbers, bools, `Option`, `Vec`, arrays, and structs of `#[model]` modules"),
            ),
            Ty::List(_) | Ty::Struct(_) | Ty::Foreign(_) => Kind::Part(part),
        }
    }

    /// `part.name`.
    pub(super) fn part_field(&mut self, p: PartOf, name: &str, whole: TokenStream) -> Kind {
        let fields = match (&p.ty, &self.env.model) {
            (Ty::Struct(s), Some(model)) => model.structs.get(s).map(|s| s.fields.clone()),
            _ => None,
        };
        let Some(fields) = fields else {
            return self.fail(
                Diagnostic::new(
                    code::STATEMENT,
                    whole,
                    "a field of a type from elsewhere cannot be captured",
                )
                .help("call a method of it"),
            );
        };
        match fields.iter().position(|(n, _)| n == name) {
            Some(i) => self.part(PartOf {
                path: p.path.then(Step::Field(i as u32)),
                ty: fields[i].1.clone(),
                name: format!("{}.{name}", p.name),
                tokens: whole,
                lent: p.lent,
            }),
            // rustc reports it
            None => Kind::Unknown,
        }
    }

    /// `part[i]`, for a literal.
    pub(super) fn part_index(&mut self, p: PartOf, i: usize, whole: TokenStream) -> Kind {
        let Ty::List(inner) = &p.ty else {
            return Kind::Unknown;
        };
        self.part(PartOf {
            path: p.path.then(Step::Index(i as u32)),
            ty: (**inner).clone(),
            name: format!("{}[{i}]", p.name),
            tokens: whole,
            lent: p.lent,
        })
    }

    pub(super) fn part_method(&mut self, p: PartOf, m: &ExprMethodCall) -> Kind {
        let name = m.method.to_string();
        if m.args.is_empty() && matches!(name.as_str(), "clone" | "as_ref" | "iter" | "as_slice") {
            return Kind::Part(p);
        }
        let args: Vec<&Syntax> = m.args.iter().collect();
        match &p.ty {
            Ty::List(_) if matches!(name.as_str(), "len" | "is_empty") && args.is_empty() => {
                let part = Part {
                    path: p.path.clone(),
                    name: format!("{}.len()", p.name),
                };
                let len = self.read_part_host(part, HostType::Usize);
                Kind::Host(match name.as_str() {
                    "len" => len,
                    _ => Expr::Binary(HostBinary::Eq, Box::new(len), Box::new(Expr::int(0))),
                })
            }
            Ty::Struct(s) => {
                let found = self.env.model.as_ref().and_then(|model| {
                    let f = model.methods.get(&(s.clone(), name.clone()))?;
                    f.is_method().then(|| f.clone())
                });
                let owner = s.clone();
                match found {
                    Some(f) => {
                        let this = Some(Kind::Part(p));
                        self.model_call(&f, Some(owner), this, &args, &turbofish(m), tokens(m), &m.method)
                    }
                    None => {
                        args.iter().for_each(|a| {
                            self.expr(a);
                        });
                        // rustc reports a method that does not exist; one of a trait is not seen
                        let message = format!("the method `{name}` is not in this `#[model]` module");
                        self.fail(
                            Diagnostic::new(code::METHOD, &m.method, message)
                                .help("write the method in an `impl` of the module"),
                        )
                    }
                }
            }
            Ty::Foreign(path) => {
                let exported = match self.env.externs.get(&key(path)) {
                    Some(Exported::Type(t)) => Some(t.clone()),
                    _ => None,
                };
                let path = path.clone();
                match exported {
                    Some(t) => self.foreign_method(&t, &path, p, m, &args),
                    // the look-up was reported
                    None => {
                        args.iter().for_each(|a| {
                            self.expr(a);
                        });
                        self.fail(
                            Diagnostic::new(
                                code::METHOD,
                                &m.method,
                                "the type of this field was not looked up",
                            )
                            .help("call methods of `#[model]` types on fields of `#[model]` structs"),
                        )
                    }
                }
            }
            Ty::List(_) => self.refuse_list_method(m, Kind::Part(p).describe()),
            _ => self.refuse_method(m, Kind::Part(p).describe()),
        }
    }

    /// A method of a value of the module's type `name`.
    pub(super) fn own_method(&mut self, name: String, this: Kind, m: &ExprMethodCall) -> Kind {
        let method = m.method.to_string();
        let args: Vec<&Syntax> = m.args.iter().collect();
        let found = self.env.model.as_ref().and_then(|model| {
            let f = model.methods.get(&(name.clone(), method))?;
            f.is_method().then(|| f.clone())
        });
        match found {
            Some(f) => self.model_call(
                &f,
                Some(name),
                Some(this),
                &args,
                &turbofish(m),
                tokens(m),
                &m.method,
            ),
            None if m.args.is_empty() && m.method == "clone" => this,
            None => self.refuse_method(m, this.describe()),
        }
    }

    /// Whether an item of the body has the first name of a path, and hides what the module has under it.
    pub(super) fn hides(&self, path: &Path) -> bool {
        let first = path
            .segments
            .first()
            .map(|s| s.ident.to_string())
            .unwrap_or_default();
        self.hidden.iter().any(|name| *name == first || name == "*")
    }

    /// The type of the module that a name stands for: `Self` is the one whose method is walked.
    pub(super) fn named(&self, name: String) -> String {
        match &self.receiver {
            Some(receiver) if name == "Self" => receiver.clone(),
            _ => name,
        }
    }

    /// `Act::Relu`, of an enum of the module.
    pub(super) fn enum_variant(&self, path: &Path) -> Option<Kind> {
        if self.hides(path) {
            return None;
        }
        let model = self.env.model.as_ref()?;
        let mut segments = path.segments.iter().rev();
        let (variant, name) = (
            segments.next()?.ident.to_string(),
            segments.next()?.ident.to_string(),
        );
        let name = self.named(name);
        let number = model.enums.get(&name)?.iter().position(|v| *v == variant)?;
        Some(Kind::Enum(name, Expr::int(number as i64)))
    }

    /// A function of the module that is called by its name, if the path is one.
    pub(super) fn model_function(&mut self, c: &ExprCall, args: &[&Syntax]) -> Option<Kind> {
        let Syntax::Path(p) = &*c.func else { return None };
        if self.hides(&p.path) {
            return None;
        }
        let model = self.env.model.as_ref()?;
        let segments = &p.path.segments;
        let name = segments.last()?.ident.clone();
        let consts = consts_of(&p.path);
        if segments.len() == 1 {
            let written = name.to_string();
            let called = model.substitutes.get(&written).unwrap_or(&written);
            let f = model.functions.get(called)?.clone();
            return Some(self.model_call(&f, None, None, args, &consts, c.to_token_stream(), &name));
        }
        let owner = segments[segments.len() - 2].ident.to_string();
        let owner = match owner.as_str() {
            "Self" => self.receiver.clone()?,
            _ => owner,
        };
        let f = model.methods.get(&(owner.clone(), name.to_string()))?.clone();
        if !f.is_method() {
            return Some(self.model_call(&f, Some(owner), None, args, &consts, c.to_token_stream(), &name));
        }
        let (first, rest) = args.split_first()?;
        match self.expr(first) {
            this @ (Kind::Part(_) | Kind::Enum(..) | Kind::Record(_)) => Some(self.model_call(
                &f,
                Some(owner),
                Some(this),
                rest,
                &consts,
                c.to_token_stream(),
                &name,
            )),
            _ => Some(Kind::Unknown),
        }
    }

    /// A call of a function of the module: a region is kept as one, others are walked here.
    #[allow(clippy::too_many_arguments)]
    fn model_call(
        &mut self,
        f: &Rc<ModelFn>,
        owner: Option<String>,
        this: Option<Kind>,
        args: &[&Syntax],
        consts: &[GenericArgument],
        whole: TokenStream,
        name: &Ident,
    ) -> Kind {
        if let Some(FnArg::Receiver(r)) = f.sig.inputs.first()
            && matches!(
                r.kind,
                ReceiverKind::Reference(_, _, Some(_)) | ReceiverKind::Typed(..)
            )
        {
            args.iter().for_each(|a| {
                self.expr(a);
            });
            let message = format!(
                "the call of `{name}`, which may change what it is called on, cannot be captured yet"
            );
            return self.fail(
                Diagnostic::new(code::CALL, name, message).help("take `&self`, and return the new value"),
            );
        }
        if let Some(mark) = marker::of(&f.attrs)
            && mark.kind != MarkerKind::SubstituteInGraph
        {
            return self.marked_call(&mark, name, args);
        }
        if f.attribute("nested_compile_region").is_some() && self.in_closure == 0 {
            let receiver = match this {
                Some(Kind::Part(p)) => owner.map(|owner| (owner, p)),
                None => None,
                Some(other) => {
                    let message = format!(
                        "a region that is a method of {} cannot be captured yet",
                        other.describe()
                    );
                    return self.fail(
                        Diagnostic::new(code::CALL, name, message)
                            .help("leave `#[nested_compile_region]` out"),
                    );
                }
            };
            return self.region_call(f, receiver, args, consts, whole, name);
        }
        let args: Vec<Kind> = args.iter().map(|a| self.raw(a)).collect();
        if !f.clashes().is_empty() {
            f.clashes().iter().for_each(|d| self.errors.push(d.clone()));
            return Kind::Unknown;
        }
        if self.inside == DEEPEST {
            let message = format!("functions call each other more than {DEEPEST} deep here");
            return self.fail(
                Diagnostic::new(code::CALL, name, message).help("a captured function does not call itself"),
            );
        }
        let mut given = consts.iter();
        let mut bound = Vec::new();
        for c in f.sig.generics.const_params() {
            let value = host_type(&c.ty).and_then(|ty| self.const_argument(given.next(), ty, name));
            bound.push((c.ident.to_string(), value.map_or(Kind::Unknown, Kind::Host)));
        }
        let outer = std::mem::take(&mut self.scope);
        bound
            .into_iter()
            .for_each(|(name, kind)| self.scope.bind(name, kind));
        let hidden = std::mem::take(&mut self.hidden);
        let caller = std::mem::replace(&mut self.receiver, owner);
        let mut args = args.into_iter();
        for input in &f.sig.inputs {
            match input {
                FnArg::Receiver(_) => {
                    if let Some(this) = &this {
                        self.scope.bind("self", this.clone());
                    }
                }
                FnArg::Typed(t) => {
                    let kind = args.next().unwrap_or(Kind::Unknown);
                    let kind = match host_type(inner(&t.ty)) {
                        Some(_) => self.typed(kind, &t.ty, &t.pat.to_token_stream()),
                        None => kind,
                    };
                    self.bind_pattern(&t.pat, kind);
                }
            }
        }
        let jump = self.jump.take();
        let returned = self.returned.take();
        self.inside += 1;
        let tail = self.block(&f.block);
        self.inside -= 1;
        let kind = match self.returned.take() {
            Some((kind, _)) => kind,
            None => tail,
        };
        (self.jump, self.returned) = (jump, returned);
        self.receiver = caller;
        self.hidden = hidden;
        self.scope = outer;
        kind
    }

    /// A tensor of an aggregate.
    pub(super) fn read_part(&mut self, part: Part, tokens: TokenStream) -> tensorplay_graph::Value {
        match self.element(&part.path) {
            Some(k) => self.read_element(k, part),
            None => {
                let name = part.name.clone();
                self.read_input(Read::PartTensor(part), name, tokens)
            }
        }
    }

    /// A number, a flag or a length of an aggregate.
    pub(super) fn read_part_host(&mut self, part: Part, ty: HostType) -> Expr {
        match self.element(&part.path) {
            Some(k) => self.read_element_host(k, part, ty),
            None => {
                let name = part.name.clone();
                self.read_scalar(&Read::PartHost(part), name, ty)
            }
        }
    }
}

fn inner(ty: &Type) -> &Type {
    match ty {
        Type::Reference(r) => inner(&r.elem),
        other => other,
    }
}
