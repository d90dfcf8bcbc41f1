//! `ReturnTree`: the tensors of a return type.

use crate::diagnostic::{Diagnostic, code};
use crate::parameter::{alias, last_segment, note_of_alias};
use quote::{ToTokens, quote};
use syn::{GenericArgument, PathArguments, ReturnType, Type};

/// The tensors of a return type, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReturnTree {
    /// A tensor.
    Tensor,
    /// A tuple of these.
    Tuple(Vec<ReturnTree>),
}

impl ReturnTree {
    /// How many tensors it holds.
    pub fn len(&self) -> usize {
        match self {
            ReturnTree::Tensor => 1,
            ReturnTree::Tuple(l) => l.iter().map(ReturnTree::len).sum(),
        }
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// For messages: `(Tensor, Tensor)`.
    pub fn describe(&self) -> String {
        match self {
            ReturnTree::Tensor => "Tensor".into(),
            ReturnTree::Tuple(l) => {
                let inner: Vec<String> = l.iter().map(ReturnTree::describe).collect();
                format!("({})", inner.join(", "))
            }
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

    /// Reads a return type.
    pub fn parse(output: &ReturnType, signature: &syn::Signature) -> Result<Returns, Diagnostic> {
        let ReturnType::Type(_, ty) = output else {
            let at = (&signature.fn_token, &signature.ident);
            let at = quote_pair(at);
            return Err(Diagnostic::new(
                code::RETURN_TYPE,
                at,
                "a function that returns nothing cannot be captured yet",
            )
            .help("return a Tensor, a tuple of these, or a Result of these"));
        };
        if let Some((segment, _)) = last_segment(ty)
            && segment.ident == "Result"
        {
            let PathArguments::AngleBracketed(args) = &segment.arguments else {
                return Err(refuse(ty));
            };
            let Some(GenericArgument::Type(inner)) = args.args.first() else {
                return Err(refuse(ty));
            };
            return Ok(Returns {
                tree: tree(inner)?,
                fallible: true,
            });
        }
        Ok(Returns {
            tree: tree(ty)?,
            fallible: false,
        })
    }
}

fn quote_pair(at: (impl ToTokens, impl ToTokens)) -> proc_macro2::TokenStream {
    let (a, b) = at;
    quote!(#a #b)
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
    d.help("return a Tensor, a tuple of these, or a Result of these")
}

fn tree(ty: &Type) -> Result<ReturnTree, Diagnostic> {
    match ty {
        Type::Paren(t) => tree(&t.elem),
        Type::Group(t) => tree(&t.elem),
        Type::Tuple(t) if !t.elems.is_empty() => Ok(ReturnTree::Tuple(
            t.elems.iter().map(tree).collect::<Result<_, _>>()?,
        )),
        Type::Path(_) => match last_segment(ty) {
            Some((s, _)) if s.ident == "Tensor" && s.arguments.is_none() => Ok(ReturnTree::Tensor),
            _ => Err(refuse(ty)),
        },
        _ => Err(refuse(ty)),
    }
}
