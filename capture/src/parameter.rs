//! `Param`: a parameter as capture sees it.

use crate::diagnostic::{Diagnostic, code};
use crate::location::text;
use proc_macro2::Ident;
use quote::ToTokens;
use syn::{Pat, PatType, PathSegment, Type};
use tensorplay_graph::HostType;

/// A parameter that the graph knows.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name.
    pub name: Ident,
    /// Its type, as written.
    pub ty: Type,
    /// What it is.
    pub kind: ParamKind,
}

/// What a parameter is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamKind {
    /// `&Tensor`, or `Tensor` by value.
    Tensor {
        /// Whether it is a reference already.
        reference: bool,
    },
    /// A number, a flag or a dtype.
    Host(HostType),
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

impl Param {
    /// Reads a parameter.
    pub fn parse(p: &PatType) -> Result<Param, Diagnostic> {
        let kind = kind(&p.ty)?;
        let name = match &*p.pat {
            Pat::Ident(i) if i.by_ref.is_none() && i.subpat.is_none() => i.ident.clone(),
            other => {
                return Err(Diagnostic::new(
                    code::PARAMETER,
                    other,
                    "a pattern as a parameter cannot be captured yet",
                )
                .help("name the parameter and take it apart with `let`"));
            }
        };
        Ok(Param {
            name,
            ty: (*p.ty).clone(),
            kind,
        })
    }
}

fn kind(ty: &Type) -> Result<ParamKind, Diagnostic> {
    let inner = match ty {
        Type::Paren(t) => return kind(&t.elem),
        Type::Group(t) => return kind(&t.elem),
        Type::Reference(r) if r.mutability.is_none() && is_tensor(&r.elem) => {
            return Ok(ParamKind::Tensor { reference: true });
        }
        _ if is_tensor(ty) => return Ok(ParamKind::Tensor { reference: false }),
        other => other,
    };
    if let Some(t) = host_type(inner) {
        return Ok(ParamKind::Host(t));
    }
    let shown = text(ty.to_token_stream());
    let d = Diagnostic::new(
        code::PARAMETER,
        ty,
        format!("a parameter of type `{shown}` cannot be captured yet"),
    );
    let d = match alias(inner) {
        Some(name) => d.note(note_of_alias(&name)),
        None => d,
    };
    Err(d.help("take &Tensor, Tensor, usize, isize, i64, i32, u8, f32, f64, bool or DType"))
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
