//! `Spec`: a promised dtype and shape, `f32[B, 784]`.
//!
//! Grammar: `dtype [ dims ]`; dtype is a name, or open as `float` or `_`; dims are `..` (any rank) or a list of
//! integers, names (equal names are equal sizes), `_` and ranges `lo..=hi`.

use crate::attribute::NamedSpec;
use crate::diagnostic::{Diagnostic, Diagnostics, code};
use crate::parameter::Param;
use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{LitInt, Token, bracketed};
use tensorplay_graph::{DType, Dim, GraphModule, Symbol, TensorType};

/// A promised dtype and shape.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The dtype, unless open.
    pub dtype: Option<DType>,
    /// The dims, unless the rank is open.
    pub dims: Option<Vec<DimSpec>>,
    /// As written.
    pub tokens: TokenStream,
}

/// A promised size.
#[derive(Clone, PartialEq, Debug)]
pub enum DimSpec {
    /// A number.
    Size(usize),
    /// A named size.
    Name(String),
    /// Any size of a range, bounds included.
    Range(usize, usize),
    /// Any size.
    Any,
}

const HELP: &str = "write a dtype and dims, as in f32[B, 784]; dims are integers, names, `_`, `lo..=hi`, or `..` alone for any rank";

impl Spec {
    /// Parses `f32[B, 784]`.
    pub fn parse(tokens: TokenStream) -> Result<Spec, Diagnostic> {
        let parser = |s: ParseStream<'_>| parse(s);
        match parser.parse2(tokens.clone()) {
            Ok((dtype, dims)) => Ok(Spec { dtype, dims, tokens }),
            Err(e) => {
                let at = if tokens.is_empty() {
                    TokenStream::new()
                } else {
                    tokens
                };
                Err(Diagnostic::new(code::SPEC_SYNTAX, at, format!("this is not a spec: {e}")).help(HELP))
            }
        }
    }

    /// What the type of a value says of named sizes and ranges, as a promise to graphs that take it; `None` if it has none.
    pub fn of_type(ty: &TensorType, symbols: &[Symbol]) -> Option<Spec> {
        let shape = ty.shape.as_ref()?;
        let dims: Vec<DimSpec> = shape.iter().map(|d| DimSpec::of(*d, symbols)).collect();
        let named = |d: &DimSpec| matches!(d, DimSpec::Name(_) | DimSpec::Range(..));
        dims.iter().any(named).then(|| Spec {
            dtype: ty.dtype,
            dims: Some(dims),
            tokens: TokenStream::new(),
        })
    }

    /// Whether both promise the same.
    pub fn is(&self, other: &Spec) -> bool {
        self.dtype == other.dtype && self.dims == other.dims
    }

    /// The type in a module; names become symbols of the function.
    pub fn lower(&self, module: &mut GraphModule) -> TensorType {
        let shape = self
            .dims
            .as_ref()
            .map(|dims| dims.iter().map(|d| d.lower(module)).collect());
        TensorType {
            dtype: self.dtype,
            shape,
        }
    }
}

impl DimSpec {
    fn of(dim: Dim, symbols: &[Symbol]) -> DimSpec {
        match dim {
            Dim::Known(n) => DimSpec::Size(n),
            Dim::Unknown => DimSpec::Any,
            Dim::Symbol(s) => match symbols.get(s as usize) {
                Some(Symbol { lo, hi: Some(hi), .. }) => DimSpec::Range(*lo, *hi),
                Some(symbol) if symbol.lo == 0 => DimSpec::Name(symbol.name.clone()),
                _ => DimSpec::Any,
            },
        }
    }

    fn lower(&self, module: &mut GraphModule) -> Dim {
        let new = |module: &mut GraphModule, symbol| {
            module.symbols.push(symbol);
            Dim::Symbol(module.symbols.len() as u32 - 1)
        };
        match self {
            DimSpec::Size(n) => Dim::Known(*n),
            DimSpec::Any => Dim::Unknown,
            DimSpec::Range(lo, hi) => new(
                module,
                Symbol {
                    name: format!("{lo}..={hi}"),
                    lo: *lo,
                    hi: Some(*hi),
                },
            ),
            DimSpec::Name(name) => match module.symbols.iter().position(|s| s.name == *name) {
                Some(i) => Dim::Symbol(i as u32),
                None => new(
                    module,
                    Symbol {
                        name: name.clone(),
                        lo: 0,
                        hi: None,
                    },
                ),
            },
        }
    }
}

type Parts = (Option<DType>, Option<Vec<DimSpec>>);

fn parse(s: ParseStream<'_>) -> syn::Result<Parts> {
    let dtype = if s.parse::<Option<Token![_]>>()?.is_some() {
        None
    } else {
        let name = Ident::parse_any(s).map_err(|e| syn::Error::new(e.span(), "expected a dtype"))?;
        match name.to_string().as_str() {
            "float" => None,
            text => Some(
                text.parse::<DType>()
                    .map_err(|e| syn::Error::new(name.span(), e))?,
            ),
        }
    };
    if !s.peek(syn::token::Bracket) {
        return Err(s.error("expected dims in brackets"));
    }
    let inner;
    bracketed!(inner in s);
    if !s.is_empty() {
        return Err(s.error("unexpected tokens after the dims"));
    }
    if inner.peek(Token![..]) && !inner.peek(Token![..=]) {
        inner.parse::<Token![..]>()?;
        if !inner.is_empty() {
            return Err(inner.error("`..` stands alone: it leaves the whole rank open"));
        }
        return Ok((dtype, None));
    }
    let mut dims = Vec::new();
    while !inner.is_empty() {
        dims.push(dim(&inner)?);
        if inner.is_empty() {
            break;
        }
        inner
            .parse::<Token![,]>()
            .map_err(|e| syn::Error::new(e.span(), "expected `,` between dims"))?;
    }
    Ok((dtype, Some(dims)))
}

fn dim(s: ParseStream<'_>) -> syn::Result<DimSpec> {
    if s.parse::<Option<Token![_]>>()?.is_some() {
        return Ok(DimSpec::Any);
    }
    if s.peek(LitInt) {
        let lo = size(s)?;
        if s.parse::<Option<Token![..=]>>()?.is_none() {
            return Ok(DimSpec::Size(lo));
        }
        let at = s.span();
        let hi = size(s)?;
        if hi < lo {
            return Err(syn::Error::new(at, format!("the range {lo}..={hi} is empty")));
        }
        return Ok(DimSpec::Range(lo, hi));
    }
    if s.peek(Token![..]) {
        return Err(s.error("`..` stands alone: it leaves the whole rank open"));
    }
    let name = Ident::parse_any(s)
        .map_err(|e| syn::Error::new(e.span(), "expected an integer, a name, `_` or a range"))?;
    Ok(DimSpec::Name(name.to_string()))
}

fn size(s: ParseStream<'_>) -> syn::Result<usize> {
    let lit: LitInt = s
        .parse()
        .map_err(|e| syn::Error::new(e.span(), "expected an integer"))?;
    if !lit.suffix().is_empty() {
        return Err(syn::Error::new(lit.span(), "a size has no suffix"));
    }
    lit.base10_parse::<u32>()
        .map(|n| n as usize)
        .map_err(|_| syn::Error::new(lit.span(), "a size is an integer from 0 on, below 2^32"))
}

/// The specs of a parameter: one beside it, or those in the attribute.
pub(crate) fn of_param(
    param: &Param,
    own: Option<Spec>,
    named: Option<&NamedSpec>,
    errors: &Diagnostics,
) -> Vec<Spec> {
    let specs = match (own, named) {
        (Some(own), named) => {
            if let Some(named) = named {
                errors.push(
                    Diagnostic::new(
                        code::DUPLICATE_ARGUMENT,
                        named.tokens(),
                        format!("`{}` has two specs", param.name),
                    )
                    .help("keep the one beside the parameter"),
                );
            }
            vec![own]
        }
        (None, Some(named)) => named.specs.clone(),
        (None, None) => return Vec::new(),
    };
    let (n, m) = (specs.len(), param.tree.tensors());
    let tokens = || specs.first().map(|s| s.tokens.clone()).unwrap_or_default();
    if m == 0 {
        let message = format!("`{}` is not a tensor", param.name);
        errors.push(Diagnostic::new(code::SPEC_NAME, tokens(), message).help("remove the spec"));
    } else if n != m && n > 0 {
        let s = |n| if n == 1 { "" } else { "s" };
        let message = format!("{n} spec{} for {m} tensor{} of `{}`", s(n), s(m), param.name);
        errors.push(Diagnostic::new(code::SPEC_NAME, tokens(), message).help(format!(
            "write one spec a tensor, as in {} = (f32[B, 10], i64[B])",
            param.name
        )));
    }
    specs
}

/// A spec that says a float dtype which the attribute leaves out is an error.
pub(crate) fn check_dtype(spec: &Spec, dtypes: Option<&[DType]>, errors: &Diagnostics) {
    if let (Some(d), Some(list)) = (spec.dtype, dtypes)
        && d.is_float()
        && !list.contains(&d)
    {
        let shown: Vec<String> = list.iter().map(DType::to_string).collect();
        errors.push(
            Diagnostic::new(
                code::SPEC_DTYPE,
                &spec.tokens,
                format!(
                    "this spec says {d}, and dtypes({}) does not have it",
                    shown.join(", ")
                ),
            )
            .help(format!(
                "add {d} to dtypes(..), or leave the spec's dtype open as in float[..]"
            )),
        );
    }
}
