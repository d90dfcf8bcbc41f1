//! Tensor types as far as they are known: symbolic dims, unknown ranks, open dtypes.

use crate::DType;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One size of a shape, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Dim {
    /// A number.
    Known(usize),
    /// A named symbol of the function (`GraphModule::symbols`); equal symbols are equal sizes.
    Symbol(u32),
    /// Not known before a call.
    Unknown,
}

impl Dim {
    /// The number, if it is one.
    pub fn known(self) -> Option<usize> {
        if let Dim::Known(n) = self { Some(n) } else { None }
    }

    /// Whether the sizes are surely different.
    pub fn differs(self, other: Dim) -> bool {
        matches!((self, other), (Dim::Known(a), Dim::Known(b)) if a != b)
    }

    /// Like [`differs`](Dim::differs), and by the bounds of symbols too.
    pub fn differs_in(self, other: Dim, symbols: &[Symbol]) -> bool {
        if self == other {
            return false;
        }
        let bounds = |d: Dim| match d {
            Dim::Known(n) => (n, Some(n)),
            Dim::Symbol(s) => symbols.get(s as usize).map_or((0, None), |s| (s.lo, s.hi)),
            Dim::Unknown => (0, None),
        };
        let (a, b) = (bounds(self), bounds(other));
        a.1.is_some_and(|hi| hi < b.0) || b.1.is_some_and(|hi| hi < a.0)
    }

    /// The better known of two equal sizes.
    #[must_use]
    pub fn refine(self, other: Dim) -> Dim {
        match (self, other) {
            (Dim::Unknown, _) | (Dim::Symbol(_), Dim::Known(_)) => other,
            _ => self,
        }
    }

    /// Whether the sizes are surely equal.
    pub fn same(self, other: Dim) -> bool {
        self == other && self != Dim::Unknown
    }
}

/// A shape, as far as it is known; `None` is an unknown rank.
pub type Shape = Option<Vec<Dim>>;

/// The type of a tensor, as far as it is known.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct TensorType {
    /// The element type, unless open.
    pub dtype: Option<DType>,
    /// The shape.
    pub shape: Shape,
}

impl TensorType {
    /// A fully known type.
    pub fn known(dtype: DType, shape: &[usize]) -> TensorType {
        TensorType {
            dtype: Some(dtype),
            shape: Some(shape.iter().map(|&n| Dim::Known(n)).collect()),
        }
    }

    /// The sizes, if all are known.
    pub fn sizes(&self) -> Option<Vec<usize>> {
        self.shape.as_ref()?.iter().map(|d| d.known()).collect()
    }

    /// Takes from `other`, a type of the same tensor, what it knows better.
    pub fn refine(&mut self, other: &TensorType) {
        self.dtype = self.dtype.or(other.dtype);
        match (&mut self.shape, &other.shape) {
            (Some(a), Some(b)) if a.len() == b.len() => {
                a.iter_mut().zip(b).for_each(|(a, b)| *a = a.refine(*b))
            }
            (None, Some(_)) => self.shape.clone_from(&other.shape),
            _ => {}
        }
    }

    /// Prints with symbol names: `f32[B, 784]`, `_[..]`.
    pub fn display<'a>(&'a self, symbols: &'a [Symbol]) -> impl fmt::Display + 'a {
        Shown {
            dtype: Some(self.dtype),
            shape: &self.shape,
            symbols,
        }
    }
}

/// Prints a shape alone with symbol names: `[B, 784]`.
pub fn display_shape<'a>(shape: &'a Shape, symbols: &'a [Symbol]) -> impl fmt::Display + 'a {
    Shown {
        dtype: None,
        shape,
        symbols,
    }
}

struct Shown<'a> {
    dtype: Option<Option<DType>>,
    shape: &'a Shape,
    symbols: &'a [Symbol],
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dtype {
            Some(Some(d)) => write!(f, "{d}")?,
            Some(None) => f.write_str("_")?,
            None => {}
        }
        let Some(dims) = self.shape else {
            return f.write_str("[..]");
        };
        f.write_str("[")?;
        for (i, d) in dims.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            match d {
                Dim::Known(n) => write!(f, "{n}")?,
                Dim::Symbol(s) => match self.symbols.get(*s as usize) {
                    Some(symbol) => f.write_str(&symbol.name)?,
                    None => write!(f, "s{s}")?,
                },
                Dim::Unknown => f.write_str("_")?,
            }
        }
        f.write_str("]")
    }
}

/// A named dim of a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Symbol {
    /// The name in the spec; a range without a name is printed as itself (`1..=64`).
    pub name: String,
    /// The smallest size.
    pub lo: usize,
    /// The largest size, if bounded.
    pub hi: Option<usize>,
}
