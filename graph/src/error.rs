//! Errors of the shape and dtype rules, worded once for `cargo check` and for run time.

use std::fmt;

/// A stable error code with a page in `docs/errors.md`. Displays as `TP0012`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Code(pub u16);

impl Code {
    /// Shapes that do not broadcast.
    pub const BROADCAST: Code = Code(10);
    /// A dim that the tensor does not have.
    pub const DIM_RANGE: Code = Code(11);
    /// Inner dimensions of a product that differ.
    pub const INNER: Code = Code(12);
    /// A rank that an operation does not take.
    pub const RANK: Code = Code(13);
    /// A reshape or expand whose sizes do not fit.
    pub const RESHAPE: Code = Code(14);
    /// A slice, narrow or select outside its axis.
    pub const BOUNDS: Code = Code(15);
    /// A reduction without an identity over an empty axis.
    pub const EMPTY: Code = Code(16);
    /// Sizes of several tensors that must agree.
    pub const SIZES: Code = Code(17);
    /// An axis that is named twice.
    pub const REPEATED_DIM: Code = Code(18);
    /// A dtype that an operation does not take.
    pub const DTYPE: Code = Code(20);
    /// A value that an argument does not take.
    pub const VALUE: Code = Code(21);
    /// A tensor that breaks its spec.
    pub const SPEC: Code = Code(30);
    /// Arguments that do not fit an operation's row.
    pub const ARGUMENTS: Code = Code(31);
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TP{:04}", self.0)
    }
}

/// What kind of rule an operation broke.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpErrorKind {
    /// Shapes, ranks, dims.
    Shape,
    /// Element types.
    DType,
    /// Indices and bounds.
    Index,
    /// Other argument values.
    Value,
}

/// A broken rule of one operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpError {
    /// The stable code.
    pub code: Code,
    /// The kind, which picks the public error variant.
    pub kind: OpErrorKind,
    /// The operation's name.
    pub op: &'static str,
    /// What is wrong, with shapes or dtypes: lower case, no full stop.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    /// The arguments at fault, as positions in the call; diagnostics underline them.
    pub args: Vec<usize>,
    /// Where the operation is, as an index into its module's locations; 0 where that is not known, or told already.
    pub place: u32,
    /// The place of the operation and its text, `src/main.rs:8: h.matmul(w)`, where compiled code knows it.
    pub location: Option<Box<str>>,
}

impl OpError {
    /// An error of `op`.
    pub fn new(code: Code, kind: OpErrorKind, op: &'static str, message: impl Into<String>) -> OpError {
        OpError {
            code,
            kind,
            op,
            message: message.into(),
            help: None,
            args: Vec::new(),
            place: 0,
            location: None,
        }
    }

    /// Adds what to write instead.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> OpError {
        self.help = Some(help.into());
        self
    }

    /// The error as one of the composite `op`, in whose expansion it occurred: the user wrote that operation.
    #[must_use]
    pub fn within(mut self, op: crate::Op) -> OpError {
        if self.op != op.name() {
            self.op = op.name();
            self.args.clear();
        }
        self
    }

    /// Says where the operation is, unless that is known already.
    pub fn set_place(&mut self, place: u32) {
        if self.place == 0 && self.location.is_none() {
            self.place = place;
        }
    }

    /// Puts the place in words, with the table that it is an index into: see [`GraphModule::place`].
    ///
    /// [`GraphModule::place`]: crate::GraphModule::place
    pub fn locate(&mut self, table: impl FnOnce(u32) -> Option<String>) {
        let place = std::mem::take(&mut self.place);
        if place > 0 && self.location.is_none() {
            self.location = table(place).map(Into::into);
        }
    }

    /// Names the arguments at fault.
    #[must_use]
    pub fn at(mut self, args: impl IntoIterator<Item = usize>) -> OpError {
        self.args = args.into_iter().collect();
        self
    }
}

/// `1 argument`, `2 arguments`.
pub(crate) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

impl fmt::Display for OpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}: {}", self.code, self.op, self.message)?;
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for OpError {}
