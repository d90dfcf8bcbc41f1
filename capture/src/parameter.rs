//! `Param`: a parameter as capture sees it, and `Read`: what else a call reads when it starts.

use crate::diagnostic::{Diagnostic, code};
use crate::location::text;
use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::{Pat, PatType, PathSegment, Type};
use tensorplay_graph::{GraphModule, HostType, Node, NodeKind, ScalarInput, TensorType};

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

/// A const or field that a call reads when it starts; it follows the parameters of its sort.
#[derive(Clone, Debug)]
pub enum Read {
    /// A tensor: `self.w`.
    Tensor(TokenStream),
    /// A number: `EPS`, `self.eps`.
    Host(TokenStream),
}

impl Read {
    /// The expression that reads it.
    pub fn tokens(&self) -> &TokenStream {
        let (Read::Tensor(tokens) | Read::Host(tokens)) = self;
        tokens
    }
}

/// A read that a walk met.
#[derive(Clone, Debug)]
pub(crate) struct KnownRead {
    pub read: Read,
    /// What its first use takes a number for.
    pub ty: HostType,
}

/// What the walks of a function read, in the order in which they met it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads(pub Vec<KnownRead>);

impl Reads {
    /// The reads of the same sort, which are numbered apart.
    pub fn of_sort<'a>(&'a self, read: &Read) -> impl Iterator<Item = &'a KnownRead> + use<'a> {
        let tensor = matches!(read, Read::Tensor(_));
        self.0
            .iter()
            .filter(move |r| matches!(r.read, Read::Tensor(_)) == tensor)
    }

    /// The position of an equal read among those of its sort.
    pub fn position(&self, read: &Read) -> Option<usize> {
        let key = read.tokens().to_string();
        self.of_sort(read)
            .position(|r| r.read.tokens().to_string() == key)
    }

    /// Tensors first, each sort in order.
    pub fn into_list(self) -> Vec<Read> {
        let (tensors, hosts): (Vec<_>, Vec<_>) = self
            .0
            .into_iter()
            .map(|r| r.read)
            .partition(|r| matches!(r, Read::Tensor(_)));
        tensors.into_iter().chain(hosts).collect()
    }

    /// Adds the inputs and scalars that later walks met to the graph of a function with so many `tensors` and
    /// `scalars` among its parameters.
    pub fn complete(&self, module: &mut GraphModule, tensors: usize, scalars: usize) {
        let name = |r: &KnownRead| text(r.read.tokens().clone());
        let is_tensor = |r: &&KnownRead| matches!(r.read, Read::Tensor(_));
        let known = module.graph.inputs.len() - tensors;
        for r in self.0.iter().filter(is_tensor).skip(known) {
            let index = module.graph.inputs.len() as u32;
            let id = module.graph.push(Node {
                kind: NodeKind::Input(index),
                name: name(r),
                location: 0,
                types: vec![TensorType::default()],
                interior: false,
            });
            module.graph.inputs.push(id);
            module.specs.push(None);
        }
        let known = module.scalars.len() - scalars;
        for r in self.0.iter().filter(|r| !is_tensor(r)).skip(known) {
            module.scalars.push(ScalarInput {
                name: name(r),
                ty: r.ty,
                source: None,
            });
        }
    }
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
