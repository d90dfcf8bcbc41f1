//! `Model`: an inline module whose structs, methods and functions capture sees together.
//!
//! Problem: a macro on one method sees neither the fields of its struct nor the methods that it calls.
//!
//! Method: `#[model]` stands on the module, so that all its items are one input. Structs give the kinds of fields;
//! methods and functions without an attribute are walked where they are called. What comes from elsewhere (`nn` layers,
//! other modules) is looked up by its path in the macro namespace.
//!
//! Invariants: items keep their order and text; a struct is flattened by its own fields alone, so that every user of
//! the type agrees.

mod ty;
mod uses;

pub use ty::{Ty, key};
pub(crate) use uses::{called, check_inline, foreign};

use crate::captured::Under;
use crate::diagnostic::Diagnostic;
use crate::hygiene;
use crate::marker;
use proc_macro2::TokenStream;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use syn::{
    Attribute, Block, FnArg, ImplItem, Item, ItemEnum, ItemFn, Member, Meta, ReturnType, Signature, Type,
    Variant, Visibility,
};
use tensorplay_graph::op::options::Form;
use tensorplay_graph::{HostType, Schema};

/// A function of the module.
#[derive(Clone, Debug)]
pub struct ModelFn {
    /// Its signature.
    pub sig: Signature,
    /// Its body.
    pub block: Block,
    /// Its attributes.
    pub attrs: Vec<Attribute>,
    /// Whether others see it.
    pub shared: bool,
    clashes: OnceCell<Vec<Diagnostic>>,
}

impl ModelFn {
    /// The names that stand for two things in it.
    pub(crate) fn clashes(&self) -> &[Diagnostic] {
        self.clashes
            .get_or_init(|| hygiene::clashes(&self.sig, &self.block))
    }

    /// The attribute of that name, by its last segment.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attrs.iter().find(|a| is_named(a, name))
    }

    /// The attribute under which it is captured, and its arguments.
    pub fn captured(&self) -> Option<(Under, TokenStream)> {
        [Under::Compile, Under::Region].into_iter().find_map(|under| {
            let attribute = self.attribute(under.name())?;
            let arguments = match &attribute.meta {
                Meta::List(list) => list.tokens.clone(),
                _ => TokenStream::new(),
            };
            Some((under, arguments))
        })
    }

    /// As an item.
    pub fn item(&self) -> ItemFn {
        ItemFn {
            attrs: Vec::new(),
            vis: syn::Visibility::Inherited,
            modifiers: Default::default(),
            sig: self.sig.clone(),
            block: Box::new(self.block.clone()),
        }
    }

    /// Whether other modules may call it on a layer: a method of tensors that others see.
    pub fn is_layer(&self) -> bool {
        let takes = |i: &FnArg| matches!(i, FnArg::Typed(t) if is_tensor(&t.ty));
        let gives = matches!(&self.sig.output, ReturnType::Type(_, ty) if is_tensor(ty));
        self.shared && self.is_method() && gives && self.sig.inputs.iter().any(takes)
    }

    /// Whether it has a receiver.
    pub fn is_method(&self) -> bool {
        matches!(self.sig.inputs.first(), Some(FnArg::Receiver(_)))
    }
}

/// Whether an attribute has that name, wherever it comes from.
pub fn is_named(a: &Attribute, name: &str) -> bool {
    a.path().segments.last().is_some_and(|s| s.ident == name)
}

/// A struct of the module: its fields in order.
#[derive(Clone, Debug, Default)]
pub struct Struct {
    /// Names, numbers for a tuple struct, with what they are.
    pub fields: Vec<(String, Ty)>,
    /// Their types as written.
    pub types: Vec<Type>,
    /// Whether others see it.
    pub shared: bool,
    /// Whether copies or drops of it do more than the language does: no value of it is followed.
    pub custom: bool,
}

/// An inline module.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Structs by name.
    pub structs: BTreeMap<String, Struct>,
    /// Enums whose variants hold nothing, by name: the variants in order.
    pub enums: BTreeMap<String, Vec<String>>,
    /// Methods and associated functions by struct and name.
    pub methods: BTreeMap<(String, String), Rc<ModelFn>>,
    /// Free functions by name.
    pub functions: BTreeMap<String, Rc<ModelFn>>,
    /// The functions that others stand in for in graphs, with these.
    pub substitutes: BTreeMap<String, String>,
}

impl Model {
    /// Reads the items of a module.
    pub fn of(items: &[Item]) -> Model {
        let mut model = Model::default();
        // the traits that are implemented by hand
        let by_hand: Vec<(String, String)> = items
            .iter()
            .filter_map(|item| match item {
                Item::Impl(i) => {
                    let (of, _) = i.trait_.as_ref()?;
                    Some((self_name(&i.self_ty)?, of.segments.last()?.ident.to_string()))
                }
                _ => None,
            })
            .collect();
        let written = |name: &str, traits: &[&str]| {
            let is = |(of, t): &(String, String)| of == name && traits.contains(&t.as_str());
            by_hand.iter().any(is)
        };
        let mut types: BTreeMap<String, Ty> = BTreeMap::new();
        for item in items {
            match item {
                Item::Struct(s) if s.generics.params.is_empty() => {
                    let name = s.ident.to_string();
                    types.insert(name.clone(), Ty::Struct(name));
                }
                Item::Enum(e)
                    if is_plain(e) && !written(&e.ident.to_string(), &["Clone", "Drop", "PartialEq"]) =>
                {
                    let name = e.ident.to_string();
                    let variants = e.variants.iter().map(|v| v.ident.to_string());
                    model.enums.insert(name.clone(), variants.collect());
                    types.insert(name.clone(), Ty::Enum(name));
                }
                Item::Enum(e) => {
                    types.insert(e.ident.to_string(), Ty::Opaque);
                }
                _ => {}
            }
        }
        let local = |name: &str| types.get(name).cloned();
        for item in items {
            match item {
                Item::Fn(f) if is_conditional(&f.attrs) => {}
                Item::Struct(s) if s.generics.params.is_empty() => {
                    let fields = s.fields.members().zip(&s.fields).map(|(m, f)| {
                        let name = match m {
                            Member::Named(i) => i.to_string(),
                            Member::Unnamed(i) => i.index.to_string(),
                        };
                        (name, Ty::of(&f.ty, &local))
                    });
                    let own = Struct {
                        fields: fields.collect(),
                        types: s.fields.iter().map(|f| f.ty.clone()).collect(),
                        shared: is_shared(&s.vis),
                        custom: written(&s.ident.to_string(), &["Clone", "Drop"]),
                    };
                    model.structs.insert(s.ident.to_string(), own);
                }
                Item::Impl(i) if i.trait_.is_none() => {
                    let Some(name) = self_name(&i.self_ty) else {
                        continue;
                    };
                    for item in &i.items {
                        if let ImplItem::Fn(f) = item
                            && !is_conditional(&f.attrs)
                        {
                            let function = Rc::new(ModelFn {
                                sig: f.sig.clone(),
                                block: f.block.clone(),
                                attrs: f.attrs.clone(),
                                shared: is_shared(&f.vis),
                                clashes: OnceCell::new(),
                            });
                            model
                                .methods
                                .insert((name.clone(), f.sig.ident.to_string()), function);
                        }
                    }
                }
                Item::Fn(f) => {
                    let function = Rc::new(ModelFn {
                        sig: f.sig.clone(),
                        block: (*f.block).clone(),
                        attrs: f.attrs.clone(),
                        shared: is_shared(&f.vis),
                        clashes: OnceCell::new(),
                    });
                    let name = f.sig.ident.to_string();
                    if let Some(original) = marker::replaced(&f.attrs) {
                        model.substitutes.insert(original, name.clone());
                    }
                    model.functions.insert(name, function);
                }
                _ => {}
            }
        }
        model.cut_cycles();
        model
    }

    /// A struct inside itself, as in a tree, has no finite schema: that field is not read.
    fn cut_cycles(&mut self) {
        let reaches = |model: &Model, from: &str, to: &str| {
            let mut seen = vec![from.to_string()];
            let mut next = 0;
            while let Some(name) = seen.get(next).cloned() {
                if name == to {
                    return true;
                }
                next += 1;
                for (_, ty) in model.structs.get(&name).into_iter().flat_map(|s| &s.fields) {
                    if let Ty::Struct(inner) = ty.core()
                        && !seen.contains(inner)
                    {
                        seen.push(inner.clone());
                    }
                }
            }
            false
        };
        let before = self.clone();
        for (name, s) in &mut self.structs {
            for (_, ty) in &mut s.fields {
                if matches!(ty.core(), Ty::Struct(inner) if reaches(&before, inner, name)) {
                    *ty = Ty::Opaque;
                }
            }
        }
    }

    /// What a type is flattened to; `foreign` tells the schemas of types from elsewhere.
    pub fn schema(&self, ty: &Ty, foreign: &dyn Fn(&str) -> Option<Schema>) -> Schema {
        match ty {
            Ty::Tensor => Schema::Tensor,
            Ty::Host(t) => Schema::Host(*t),
            Ty::Enum(_) => Schema::Host(HostType::Usize),
            Ty::Options(row) => {
                let Form::Struct(fields) = row.form else {
                    return Schema::Opaque;
                };
                let each = fields.iter().flat_map(|f| {
                    let ty = match f.ty {
                        HostType::IntLiteral => HostType::I64,
                        other => other,
                    };
                    (0..f.len).map(move |i| (format!("{}.{i}", f.name), Schema::Host(ty)))
                });
                Schema::Struct(each.collect())
            }
            Ty::Option(_) | Ty::List(_) if ty.is_opaque() => Schema::Opaque,
            Ty::Option(inner) => match self.schema(inner, foreign) {
                Schema::Opaque => Schema::Opaque,
                inner => Schema::Option(Box::new(inner)),
            },
            Ty::List(inner) => match self.schema(inner, foreign) {
                Schema::Opaque => Schema::Opaque,
                inner => Schema::List(Box::new(inner)),
            },
            Ty::Tuple(parts) => {
                let named = parts.iter().enumerate();
                Schema::Struct(
                    named
                        .map(|(i, t)| (i.to_string(), self.schema(t, foreign)))
                        .collect(),
                )
            }
            Ty::Struct(name) => {
                let fields = self.structs.get(name).into_iter().flat_map(|s| &s.fields);
                Schema::Struct(
                    fields
                        .map(|(n, t)| (n.clone(), self.schema(t, foreign)))
                        .collect(),
                )
            }
            Ty::Foreign(path) => foreign(&key(path)).unwrap_or(Schema::Opaque),
            Ty::Opaque => Schema::Opaque,
        }
    }
}

/// Whether only rustc knows that something is there.
fn is_conditional(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|a| is_named(a, "cfg"))
}

/// Whether an enum is no more than the number of a variant.
fn is_plain(e: &ItemEnum) -> bool {
    let plain = |v: &Variant| v.fields.is_empty() && !v.attrs.iter().any(|a| is_named(a, "cfg"));
    e.generics.params.is_empty() && !e.variants.is_empty() && e.variants.iter().all(plain)
}

fn is_shared(vis: &Visibility) -> bool {
    !matches!(vis, Visibility::Inherited)
}

fn is_tensor(ty: &Type) -> bool {
    match ty {
        Type::Reference(r) => is_tensor(&r.elem),
        _ => matches!(Ty::of(ty, &|_| None), Ty::Tensor),
    }
}

/// The struct that an `impl` is for.
pub fn self_name(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(p) if p.qself.is_none() => p.path.get_ident().map(ToString::to_string),
        _ => None,
    }
}
