//! `ReturnTree`: the tensors of a return type.
//!
//! How many tensors a function returns may differ from path to path: an `Option` is there or not, a `Vec` has a
//! length. Each path has a list of codes that tell, one for each of these, in the order in which the result is made:
//! 1 or 0, or the length. Where only a call knows the length, [`OPEN_LIST`](tensorplay_graph::OPEN_LIST) says how it
//! follows from those of lists of the graph.

use crate::diagnostic::{Diagnostic, code};
use crate::model::Model;
use crate::parameter::{alias, last_segment, note_of_alias};
use quote::ToTokens;
use serde::{Deserialize, Serialize};
use syn::{Expr, GenericArgument, Lit, PathArguments, PathSegment, ReturnType, Type};

/// The tensors of a return type, in order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ReturnTree {
    /// A tensor.
    Tensor,
    /// A tuple of these; `()` is the empty one.
    Tuple(Vec<ReturnTree>),
    /// An array of so many of these.
    Array(Box<ReturnTree>, usize),
    /// A `Vec` of these.
    Vec(Box<ReturnTree>),
    /// An `Option` of these.
    Option(Box<ReturnTree>),
    /// A struct of the function's module, by name, with its fields.
    Struct(String, Vec<(String, ReturnTree)>),
}

impl ReturnTree {
    /// How many tensors it holds, if all paths return as many.
    pub fn len(&self) -> Option<usize> {
        match self {
            ReturnTree::Tensor => Some(1),
            ReturnTree::Tuple(l) => l.iter().map(ReturnTree::len).sum(),
            ReturnTree::Array(of, n) => of.len().map(|of| of * n),
            ReturnTree::Struct(_, fields) => fields.iter().map(|(_, t)| t.len()).sum(),
            ReturnTree::Vec(_) | ReturnTree::Option(_) => None,
        }
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// For messages: `(Tensor, Tensor)`.
    pub fn describe(&self) -> String {
        match self {
            ReturnTree::Tensor => "Tensor".into(),
            ReturnTree::Tuple(l) => {
                let inner: Vec<String> = l.iter().map(ReturnTree::describe).collect();
                format!("({})", inner.join(", "))
            }
            ReturnTree::Array(of, n) => format!("[{}; {n}]", of.describe()),
            ReturnTree::Vec(of) => format!("Vec<{}>", of.describe()),
            ReturnTree::Option(of) => format!("Option<{}>", of.describe()),
            ReturnTree::Struct(name, _) => name.clone(),
        }
    }
}

/// A return type as capture sees it.
#[derive(Clone, Debug)]
pub struct Returns {
    /// The tensors.
    pub tree: ReturnTree,
    /// Whether they come in a `Result`.
    pub fallible: bool,
}

impl Returns {
    /// Whether a return type is a `Result`, of whatever.
    pub fn fallible(output: &ReturnType) -> bool {
        match output {
            ReturnType::Type(_, ty) => last_segment(ty).is_some_and(|(s, _)| s.ident == "Result"),
            ReturnType::Default => false,
        }
    }

    /// Reads a return type; `this` is the struct whose method has it.
    pub fn parse(
        output: &ReturnType,
        model: Option<&Model>,
        this: Option<&str>,
    ) -> Result<Returns, Diagnostic> {
        let ReturnType::Type(_, ty) = output else {
            return Ok(Returns {
                tree: ReturnTree::Tuple(Vec::new()),
                fallible: false,
            });
        };
        let (ty, fallible) = match last_segment(ty) {
            Some((segment, _)) if segment.ident == "Result" => {
                (argument(segment).ok_or_else(|| refuse(ty))?, true)
            }
            _ => (&**ty, false),
        };
        Ok(Returns {
            tree: Types { model, this }.tree(ty)?,
            fallible,
        })
    }
}

fn refuse(ty: &Type) -> Diagnostic {
    let text = crate::location::text(ty.to_token_stream());
    let d = Diagnostic::new(
        code::RETURN_TYPE,
        ty,
        format!("the return type `{text}` cannot be captured yet"),
    );
    let d = match alias(ty) {
        Some(name) => d.note(note_of_alias(&name)),
        None => d,
    };
    d.help("return Tensor, (), a tuple, an array, a Vec or an Option of these, a struct of them in a `#[model]` module, or a Result of any")
}

/// The first type in the angle brackets of a segment.
fn argument(segment: &PathSegment) -> Option<&Type> {
    match &segment.arguments {
        PathArguments::AngleBracketed(args) => match args.args.first()? {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        },
        _ => None,
    }
}

/// What a return type may name.
struct Types<'a> {
    model: Option<&'a Model>,
    this: Option<&'a str>,
}

impl Types<'_> {
    fn tree(&self, ty: &Type) -> Result<ReturnTree, Diagnostic> {
        match ty {
            Type::Paren(t) => self.tree(&t.elem),
            Type::Group(t) => self.tree(&t.elem),
            Type::Tuple(t) => Ok(ReturnTree::Tuple(
                t.elems.iter().map(|t| self.tree(t)).collect::<Result<_, _>>()?,
            )),
            Type::Array(a) => match &a.len {
                Expr::Lit(l) => match &l.lit {
                    Lit::Int(n) => {
                        let n = n.base10_parse().map_err(|_| refuse(ty))?;
                        Ok(ReturnTree::Array(Box::new(self.tree(&a.elem)?), n))
                    }
                    _ => Err(refuse(ty)),
                },
                _ => Err(refuse(ty)),
            },
            Type::Path(_) => match last_segment(ty) {
                Some((s, _)) if s.ident == "Tensor" && s.arguments.is_none() => Ok(ReturnTree::Tensor),
                Some((s, _)) if s.ident == "Vec" || s.ident == "Option" => {
                    let of = Box::new(self.tree(argument(s).ok_or_else(|| refuse(ty))?)?);
                    Ok(match s.ident == "Vec" {
                        true => ReturnTree::Vec(of),
                        false => ReturnTree::Option(of),
                    })
                }
                Some((s, 1)) if s.arguments.is_none() => self.of_struct(&s.ident.to_string(), ty),
                _ => Err(refuse(ty)),
            },
            _ => Err(refuse(ty)),
        }
    }

    /// A struct of the module.
    fn of_struct(&self, name: &str, ty: &Type) -> Result<ReturnTree, Diagnostic> {
        let name = match (name, self.this) {
            ("Self", Some(this)) => this,
            _ => name,
        };
        let known = self.model.and_then(|m| m.structs.get(name));
        let Some(known) = known else {
            return Err(refuse(ty));
        };
        let fields = known.fields.iter().zip(&known.types);
        let fields = fields.map(|((field, _), ty)| Ok((field.clone(), self.tree(ty)?)));
        Ok(ReturnTree::Struct(
            name.to_string(),
            fields.collect::<Result<_, _>>()?,
        ))
    }
}
