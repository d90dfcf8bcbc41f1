//! `Ty`: what a field of a struct is, by its name in the source.

use crate::parameter::{host_type, last_segment};
use quote::ToTokens;
use syn::{GenericArgument, Path, PathArguments, Type};
use tensorplay_graph::HostType;
use tensorplay_graph::op::options::{Form, Initial, OptionsRow};

/// The type of a field as capture sees it.
#[derive(Clone, Debug)]
pub enum Ty {
    /// `Tensor`.
    Tensor,
    /// A number, a flag or a dtype.
    Host(HostType),
    /// The settings of an operation.
    Options(&'static OptionsRow),
    /// `Option<..>`.
    Option(Box<Ty>),
    /// `Vec<..>` or an array.
    List(Box<Ty>),
    /// A tuple of tensors and numbers.
    Tuple(Vec<Ty>),
    /// A struct of the same module.
    Struct(String),
    /// An enum of the same module, without values: the number of the variant.
    Enum(String),
    /// A struct from elsewhere.
    Foreign(Path),
    /// Nothing that a graph reads.
    Opaque,
}

/// A tuple has no more parts.
const WIDEST: usize = 6;

/// Types of the standard library that are no layers.
const STANDARD: &[&str] = &[
    "String",
    "HashMap",
    "BTreeMap",
    "HashSet",
    "BTreeSet",
    "PathBuf",
    "Path",
    "Mutex",
    "RwLock",
    "RefCell",
    "Cell",
    "Duration",
    "Instant",
    "PhantomData",
    "Range",
    "AtomicUsize",
    "OnceLock",
    "Self",
];

impl Ty {
    /// Reads a type; `local` tells the types of the module.
    pub fn of(ty: &Type, local: &dyn Fn(&str) -> Option<Ty>) -> Ty {
        match ty {
            Type::Paren(t) => return Ty::of(&t.elem, local),
            Type::Group(t) => return Ty::of(&t.elem, local),
            Type::Reference(r) => return Ty::of(&r.elem, local),
            Type::Tuple(t) => {
                let parts: Vec<Ty> = t.elems.iter().map(|t| Ty::of(t, local)).collect();
                return match (1..=WIDEST).contains(&parts.len()) && parts.iter().all(Ty::is_plain) {
                    true => Ty::Tuple(parts),
                    false => Ty::Opaque,
                };
            }
            Type::Array(a) => return Ty::List(Box::new(Ty::of(&a.elem, local))),
            _ => {}
        }
        if let Some(t) = host_type(ty) {
            return Ty::Host(t);
        }
        let (Some((segment, n)), Type::Path(path)) = (last_segment(ty), ty) else {
            return Ty::Opaque;
        };
        let name = segment.ident.to_string();
        let inner = || match &segment.arguments {
            PathArguments::AngleBracketed(a) => match a.args.first() {
                Some(GenericArgument::Type(t)) => Ty::of(t, local),
                _ => Ty::Opaque,
            },
            _ => Ty::Opaque,
        };
        let plain = segment.arguments.is_none();
        let own = if n == 1 && plain { local(&name) } else { None };
        match name.as_str() {
            "Tensor" if plain => Ty::Tensor,
            "Option" => Ty::Option(Box::new(inner())),
            "Vec" => Ty::List(Box::new(inner())),
            "Box" | "Rc" | "Arc" => inner(),
            _ if !plain || STANDARD.contains(&name.as_str()) => Ty::Opaque,
            _ if own.is_some() => own.unwrap_or(Ty::Opaque),
            // a type of the language
            _ if n == 1 && name.starts_with(char::is_lowercase) => Ty::Opaque,
            _ => match OptionsRow::from_name(&name) {
                Some(row) if is_fixed(row) => Ty::Options(row),
                Some(_) => Ty::Opaque,
                None => Ty::Foreign(path.path.clone()),
            },
        }
    }

    /// Whether nothing of the type is read.
    pub fn is_opaque(&self) -> bool {
        match self {
            Ty::Opaque => true,
            Ty::Option(inner) | Ty::List(inner) => inner.is_opaque(),
            _ => false,
        }
    }

    /// Whether it is made of tensors and numbers, without structs.
    pub fn is_plain(&self) -> bool {
        match self {
            Ty::Tensor | Ty::Host(_) => true,
            Ty::Option(inner) | Ty::List(inner) => inner.is_plain(),
            Ty::Tuple(parts) => parts.iter().all(Ty::is_plain),
            Ty::Options(_) | Ty::Struct(_) | Ty::Enum(_) | Ty::Foreign(_) | Ty::Opaque => false,
        }
    }

    /// The struct that is at the core.
    pub fn core(&self) -> &Ty {
        match self {
            Ty::Option(inner) | Ty::List(inner) => inner.core(),
            other => other,
        }
    }
}

/// Whether every setting always has a value.
fn is_fixed(row: &OptionsRow) -> bool {
    match row.form {
        Form::Struct(fields) => fields.iter().all(|f| f.initial != Initial::Absent),
        Form::Enum(_) => false,
    }
}

/// The text by which a foreign type is known.
pub fn key(path: &Path) -> String {
    path.to_token_stream().to_string()
}
