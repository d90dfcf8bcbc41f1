//! Options: what operations take as a struct of settings or as an enum, flattened into host arguments.
//!
//! An options argument is a list in canonical order: the values of all fields of a struct (two for a pair), or the
//! number of an enum's variant and its value. The text form names them: `{stride=[2, 2], groups=1}`, `Constant(0.5)`.

use crate::{Arg, Expr, Host, HostType};

/// What a field starts as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Initial {
    /// An integer.
    Int(i64),
    /// A flag.
    Bool(bool),
    /// Absent: the operation chooses.
    Absent,
    /// The argument of `new`; there is no setter.
    New,
    /// The argument of `new` as well, until it is set.
    AsNew,
}

/// A setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// The setter's name.
    pub name: &'static str,
    /// How many numbers it has: 1, or 2 for the last two axes.
    pub len: usize,
    /// Its type.
    pub ty: HostType,
    /// What it is unless it is set.
    pub initial: Initial,
}

/// The form of an options type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A struct with setters.
    Struct(&'static [Field]),
    /// An enum: each variant with the name and type of its value, if it has one.
    Enum(&'static [Variant]),
}

/// A variant of an enum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// Its name.
    pub name: &'static str,
    /// The value that it carries: a field's name, or `None` in a tuple variant, and its type.
    pub value: Option<(Option<&'static str>, HostType)>,
}

/// An options type.
#[derive(PartialEq, Eq, Debug)]
pub struct OptionsRow {
    /// Its public name.
    pub name: &'static str,
    /// Its form.
    pub form: Form,
}

const fn int(name: &'static str, len: usize, initial: Initial) -> Field {
    Field {
        name,
        len,
        ty: HostType::IntLiteral,
        initial,
    }
}

macro_rules! options {
    ($($row:ident $name:literal $form:expr;)*) => {
        $(
            #[doc = concat!("`", $name, "`")]
            pub static $row: OptionsRow = OptionsRow { name: $name, form: $form };
        )*

        /// Every options type.
        pub static ALL: &[&OptionsRow] = &[$(&$row),*];
    };
}

options! {
    CONV1D "Conv1dOptions" Form::Struct(&[
        int("stride", 1, Initial::Int(1)),
        int("padding", 1, Initial::Int(0)),
        int("dilation", 1, Initial::Int(1)),
        int("groups", 1, Initial::Int(1)),
    ]);
    CONV2D "Conv2dOptions" Form::Struct(&[
        int("stride", 2, Initial::Int(1)),
        int("padding", 2, Initial::Int(0)),
        int("dilation", 2, Initial::Int(1)),
        int("groups", 1, Initial::Int(1)),
    ]);
    CONV_TRANSPOSE2D "ConvTranspose2dOptions" Form::Struct(&[
        int("stride", 2, Initial::Int(1)),
        int("padding", 2, Initial::Int(0)),
        int("output_padding", 2, Initial::Int(0)),
        int("dilation", 2, Initial::Int(1)),
        int("groups", 1, Initial::Int(1)),
    ]);
    POOL "PoolOptions" Form::Struct(&[
        int("kernel", 2, Initial::New),
        int("stride", 2, Initial::AsNew),
        int("padding", 2, Initial::Int(0)),
    ]);
    ATTENTION "AttentionOptions" Form::Struct(&[
        Field { name: "causal", len: 1, ty: HostType::Bool, initial: Initial::Bool(false) },
        Field { name: "scale", len: 1, ty: HostType::F64, initial: Initial::Absent },
    ]);
    PAD_MODE "PadMode" Form::Enum(&[
        Variant { name: "Constant", value: Some((None, HostType::F64)) },
        Variant { name: "Reflect", value: None },
        Variant { name: "Replicate", value: None },
    ]);
    INTERPOLATE "Interpolate" Form::Enum(&[
        Variant { name: "Nearest", value: None },
        Variant { name: "Bilinear", value: Some((Some("align_corners"), HostType::Bool)) },
    ]);
}

impl OptionsRow {
    /// The options type of that name.
    pub fn from_name(name: &str) -> Option<&'static OptionsRow> {
        ALL.iter().copied().find(|o| o.name == name)
    }

    /// Whether the struct is made by `new(..)` rather than by `default()`.
    pub fn is_new(&self) -> bool {
        match self.form {
            Form::Struct(fields) => fields.iter().any(|f| f.initial == Initial::New),
            Form::Enum(_) => false,
        }
    }

    /// The fields of a struct with the position of each in the list.
    pub fn fields(&self) -> impl Iterator<Item = (usize, &'static Field)> {
        let fields = match self.form {
            Form::Struct(fields) => fields,
            Form::Enum(_) => &[],
        };
        let mut at = 0;
        fields.iter().map(move |f| {
            at += f.len;
            (at - f.len, f)
        })
    }

    /// The fields that have a setter, with the position of each in the list.
    pub fn setters(&self) -> impl Iterator<Item = (usize, &'static Field)> {
        self.fields().filter(|(_, f)| f.initial != Initial::New)
    }

    /// The list of a struct whose fields are not set, where `new` is the argument of its constructor; of an enum, that of
    /// its first variant, of zero.
    pub fn initial(&self, new: &[Expr]) -> Vec<Arg> {
        let mut list = Vec::new();
        if let Form::Enum([Variant { value, .. }, ..]) = self.form {
            list.push(Arg::int(0));
            list.push(match value {
                None => Arg::None,
                Some((_, HostType::Bool)) => Arg::Host(Expr::Literal(Host::Bool(false))),
                Some(_) => Arg::float(0.0),
            });
        }
        for (_, f) in self.fields() {
            for i in 0..f.len {
                list.push(match f.initial {
                    Initial::Int(v) => Arg::int(v),
                    Initial::Bool(v) => Arg::Host(Expr::Literal(Host::Bool(v))),
                    Initial::Absent => Arg::None,
                    Initial::New | Initial::AsNew => {
                        new.get(i).or(new.first()).cloned().map_or(Arg::None, Arg::Host)
                    }
                });
            }
        }
        list
    }

    /// How long the list is.
    pub fn len(&self) -> usize {
        match self.form {
            Form::Struct(fields) => fields.iter().map(|f| f.len).sum(),
            Form::Enum(_) => 2,
        }
    }

    /// Whether the list is empty; it never is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether entry `i` of the list may be a value of that type (`None`: absent).
    pub(crate) fn accepts(&self, i: usize, ty: Option<HostType>) -> bool {
        match self.form {
            Form::Struct(_) => self
                .fields()
                .find(|(at, f)| (*at..at + f.len).contains(&i))
                .is_some_and(|(_, f)| match ty {
                    None => f.initial == Initial::Absent,
                    Some(t) => fits(f.ty, t),
                }),
            Form::Enum(variants) => match (i, ty) {
                (0, Some(t)) => t.is_int(),
                (0, None) => false,
                (_, None) => true,
                (_, Some(t)) => variants.iter().filter_map(|v| v.value).any(|(_, f)| fits(f, t)),
            },
        }
    }
}

fn fits(field: HostType, t: HostType) -> bool {
    match field {
        HostType::Bool => t == HostType::Bool,
        HostType::F64 => !matches!(t, HostType::Bool | HostType::DType),
        _ => t.may_be_int(),
    }
}
