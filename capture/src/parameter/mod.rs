//! `Param`: a parameter as capture sees it.
//!
//! Problem: a graph takes tensors and numbers, a function takes tuples, arrays, `Option`s and `&mut` of these.
//!
//! Method: the type of a parameter is a tree, whose leaves are the tensors and numbers of the graph, from left to
//! right. A pattern is as many parameters as it has names. An absent `Option` passes a flag, and tensors without
//! elements in place of its own, so that every call brings equally many.
//!
//! Invariants: a call passes the leaves in the order in which a walk binds them; nothing is moved out of a parameter.

mod leaf;
mod pattern;

pub(crate) use leaf::Place;
pub use leaf::{Leaf, LeafKind};
pub use pattern::{name_wildcards, names};

use crate::diagnostic::{Diagnostic, code};
use crate::location::text;
use crate::model::Ty;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{ConstParam, Expr, GenericArgument, Lit, PatType, PathArguments, PathSegment, Type, TypeArray};
use tensorplay_graph::HostType;

/// An array has no more elements.
const LONGEST: usize = 64;

/// A name that a signature binds.
#[derive(Clone, Debug)]
pub struct Param {
    /// The name.
    pub name: Ident,
    /// What it is.
    pub tree: ParamTree,
    /// Whether it is a const parameter, whose argument stands in angle brackets.
    pub constant: bool,
}

/// The structure of a parameter. A leaf has the place of its type in the signature.
#[derive(Clone, Debug)]
pub enum ParamTree {
    /// A tensor.
    Tensor(Span),
    /// A number, a flag or a dtype.
    Host(HostType, Span),
    /// `&T` or `&mut T`.
    Reference(bool, Box<ParamTree>),
    /// A tuple.
    Tuple(Vec<ParamTree>),
    /// An array of a literal length.
    Array(Vec<ParamTree>),
    /// An `Option`.
    Optional(Box<ParamTree>),
    /// A slice or a `Vec`, whose length a call knows: what its elements are, and whether they can be assigned.
    List(Ty, bool),
    /// Of another type, which host code alone can ask about.
    Opaque,
}

impl ParamTree {
    /// How many tensors it holds.
    pub fn tensors(&self) -> usize {
        match self {
            ParamTree::Tensor(_) => 1,
            ParamTree::Host(..) | ParamTree::List(..) | ParamTree::Opaque => 0,
            ParamTree::Reference(_, to) | ParamTree::Optional(to) => to.tensors(),
            ParamTree::Tuple(parts) | ParamTree::Array(parts) => parts.iter().map(ParamTree::tensors).sum(),
        }
    }

    /// How many numbers and flags it holds.
    pub(crate) fn hosts(&self) -> usize {
        match self {
            ParamTree::Tensor(_) | ParamTree::List(..) | ParamTree::Opaque => 0,
            ParamTree::Host(..) => 1,
            ParamTree::Reference(_, to) => to.hosts(),
            ParamTree::Optional(to) => 1 + to.hosts(),
            ParamTree::Tuple(parts) | ParamTree::Array(parts) => parts.iter().map(ParamTree::hosts).sum(),
        }
    }

    /// Whether a part of it is of another type than tensors and numbers.
    pub fn is_opaque(&self) -> bool {
        match self {
            ParamTree::Tensor(_) | ParamTree::Host(..) | ParamTree::List(..) => false,
            ParamTree::Opaque => true,
            ParamTree::Reference(_, to) | ParamTree::Optional(to) => to.is_opaque(),
            ParamTree::Tuple(parts) | ParamTree::Array(parts) => parts.iter().any(ParamTree::is_opaque),
        }
    }

    /// Whether a part of it is lent for assignment.
    pub(crate) fn lends(&self) -> bool {
        match self {
            ParamTree::Reference(mutable, to) => *mutable || to.lends(),
            ParamTree::Optional(to) => to.lends(),
            ParamTree::Tuple(parts) | ParamTree::Array(parts) => parts.iter().any(ParamTree::lends),
            ParamTree::List(_, lent) => *lent,
            ParamTree::Tensor(_) | ParamTree::Host(..) | ParamTree::Opaque => false,
        }
    }

    /// A whole parameter; lists stand in no other structure.
    fn of_parameter(ty: &Type) -> Result<ParamTree, Diagnostic> {
        match list(ty) {
            Some((element, lent)) if element.is_plain() => Ok(ParamTree::List(element, lent)),
            _ => ParamTree::parse(ty),
        }
    }

    fn parse(ty: &Type) -> Result<ParamTree, Diagnostic> {
        let at = last_span(ty.to_token_stream()).unwrap_or_else(Span::call_site);
        match ty {
            Type::Paren(t) => ParamTree::parse(&t.elem),
            Type::Group(t) => ParamTree::parse(&t.elem),
            // a list whose length only a call tells
            Type::Reference(r) if matches!(&*r.elem, Type::Slice(_)) => Err(refuse(ty)),
            Type::Reference(r) => {
                let to = ParamTree::parse(&r.elem)?;
                Ok(ParamTree::Reference(r.mutability.is_some(), Box::new(to)))
            }
            Type::Tuple(t) => {
                let parts: Result<_, _> = t.elems.iter().map(ParamTree::parse).collect();
                parts.map(ParamTree::Tuple)
            }
            Type::Array(a) => {
                let part = ParamTree::parse(&a.elem)?;
                Ok(ParamTree::Array(vec![part; length(a)?]))
            }
            _ if is_tensor(ty) => Ok(ParamTree::Tensor(at)),
            Type::Path(_) => match host_type(ty) {
                Some(t) => Ok(ParamTree::Host(t, at)),
                None => other(ty),
            },
            _ => Err(refuse(ty)),
        }
    }
}

/// The elements of a slice or a `Vec`, behind any references, and whether they can be assigned for the caller.
fn list(ty: &Type) -> Option<(Ty, bool)> {
    match ty {
        Type::Paren(t) => list(&t.elem),
        Type::Group(t) => list(&t.elem),
        Type::Reference(r) => {
            let (element, lent) = match &*r.elem {
                Type::Slice(s) => (Ty::of(&s.elem, &|_| None), true),
                to => list(to).map(|(element, lent)| (element, lent || !matches!(to, Type::Reference(_))))?,
            };
            Some((element, lent && r.mutability.is_some()))
        }
        _ => match Ty::of(ty, &|_| None) {
            Ty::List(element) if last_segment(ty).is_some_and(|(s, _)| s.ident == "Vec") => {
                Some((*element, false))
            }
            _ => None,
        },
    }
}

/// A path that names neither a tensor nor a number.
fn other(ty: &Type) -> Result<ParamTree, Diagnostic> {
    const REFUSED: &[&str] = &[
        "Vec", "VecDeque", "Box", "Rc", "Arc", "Cow", "HashMap", "BTreeMap", "HashSet", "BTreeSet", "Result",
        "RefCell", "Cell", "Mutex", "RwLock", "Self", "Tensor",
    ];
    let Some((segment, _)) = last_segment(ty) else {
        return Err(refuse(ty));
    };
    let name = segment.ident.to_string();
    if name == "Option"
        && let PathArguments::AngleBracketed(args) = &segment.arguments
        && let Some(GenericArgument::Type(inner)) = args.args.first()
    {
        return match ParamTree::parse(inner)? {
            tree if tree.lends() => Err(refuse(ty)),
            tree if tree.is_opaque() => Ok(ParamTree::Opaque),
            tree => Ok(ParamTree::Optional(Box::new(tree))),
        };
    }
    match REFUSED.contains(&name.as_str()) {
        true => Err(refuse(ty)),
        false => Ok(ParamTree::Opaque),
    }
}

impl Param {
    /// A const parameter, which a call passes like a number; `None` if its type is none of a number or flag.
    pub fn constant(c: &ConstParam) -> Option<Param> {
        Some(Param {
            name: c.ident.clone(),
            tree: ParamTree::Host(host_type(&c.ty)?, c.ident.span()),
            constant: true,
        })
    }

    /// The names that a parameter of a signature binds, from left to right.
    pub fn parse(p: &PatType) -> Result<Vec<Param>, Diagnostic> {
        let tree = ParamTree::of_parameter(&p.ty)?;
        pattern::params(&p.pat, tree)
    }
}

fn length(a: &TypeArray) -> Result<usize, Diagnostic> {
    let n = match &a.len {
        Expr::Lit(l) => match &l.lit {
            Lit::Int(n) => n.base10_parse::<usize>().ok(),
            _ => None,
        },
        _ => None,
    };
    match n {
        Some(n) if n <= LONGEST => Ok(n),
        Some(_) => Err(Diagnostic::new(
            code::PARAMETER,
            &a.len,
            format!("an array of more than {LONGEST} elements cannot be captured yet"),
        )
        .help("stack the tensors, and pass them as one")),
        None => Err(Diagnostic::new(
            code::PARAMETER,
            &a.len,
            "the length of this array is not known at build time",
        )
        .help("write it as a literal, as in [Tensor; 3]")),
    }
}

fn refuse(ty: &Type) -> Diagnostic {
    let shown = text(ty.to_token_stream());
    Diagnostic::new(
        code::PARAMETER,
        ty,
        format!("a parameter of type `{shown}` cannot be captured yet"),
    )
    .help("take tensors, numbers, bool or DType, by value, `&` or `&mut`, in tuples, arrays of a literal length or Option; or lists of these, as `&[T]`, `&mut [T]` or `Vec<T>`")
}

/// The last segment of a path type, and the number of segments.
pub(crate) fn last_segment(ty: &Type) -> Option<(&PathSegment, usize)> {
    match ty {
        Type::Path(p) if p.qself.is_none() => p.path.segments.last().map(|s| (s, p.path.segments.len())),
        Type::Paren(t) => last_segment(&t.elem),
        Type::Group(t) => last_segment(&t.elem),
        _ => None,
    }
}

fn is_tensor(ty: &Type) -> bool {
    last_segment(ty).is_some_and(|(s, _)| s.ident == "Tensor" && s.arguments.is_none())
}

/// The host type of a type as written.
pub(crate) fn host_type(ty: &Type) -> Option<HostType> {
    let (segment, n) = last_segment(ty)?;
    let name = segment.ident.to_string();
    if !segment.arguments.is_none() || (n > 1 && name != "DType") {
        return None;
    }
    HostType::from_name(&name)
}

/// The last token of a type names it.
fn last_span(tokens: TokenStream) -> Option<Span> {
    tokens.into_iter().last().map(|t| match t {
        TokenTree::Group(g) => last_span(g.stream()).unwrap_or(g.span_close()),
        other => other.span(),
    })
}

/// The name of a type that may be an alias of one that is captured.
pub(crate) fn alias(ty: &Type) -> Option<String> {
    let ty = match ty {
        Type::Reference(r) if r.mutability.is_none() => &*r.elem,
        other => other,
    };
    const KNOWN: &[&str] = &[
        "Vec", "Option", "Box", "Rc", "Arc", "HashMap", "BTreeMap", "String", "str", "char", "u16", "u32",
        "u64", "u128", "i8", "i16", "i128", "f16", "bf16", "Self", "Tensor", "Result",
    ];
    let (segment, _) = last_segment(ty)?;
    let name = segment.ident.to_string();
    (!KNOWN.contains(&name.as_str()) && host_type(ty).is_none()).then_some(name)
}

/// Why an alias is no type to capture.
pub(crate) fn note_of_alias(name: &str) -> String {
    format!("a macro sees names, not types: if `{name}` is an alias, write the type that it stands for")
}
