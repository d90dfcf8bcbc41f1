//! Errors of the text form's parser.

use crate::OpError;
use crate::verify::VerifyError;
use std::fmt;

/// Why a text is not a graph, and where.
#[derive(Clone, PartialEq, Debug)]
pub struct ParseError {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is wrong.
    pub kind: ParseErrorKind,
}

/// What is wrong with a text.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// Something else was expected.
    Expected {
        /// What the grammar takes here.
        expected: String,
        /// What the text has.
        found: String,
    },
    /// A character that no token starts with.
    Character(char),
    /// A string without its closing quote, or with an unknown escape.
    String,
    /// A number that does not fit its place.
    Number(String),
    /// No operation has this name.
    UnknownOp(String),
    /// A dim name that the `symbols` line does not declare.
    UnknownSymbol(String),
    /// A name, symbol or section that is declared twice.
    Repeated(String),
    /// A scalar parameter that the header does not declare.
    UnknownParam(u32),
    /// A node out of sequence.
    Numbering {
        /// The number that comes next.
        expected: u32,
        /// The number in the text.
        found: u32,
    },
    /// Nesting beyond the parser's limit.
    TooDeep,
    /// A node without a type breaks its operation's rules.
    Rule(OpError),
    /// The text is well formed, but the graph is not.
    Invalid(Vec<VerifyError>),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.line, self.column)?;
        match &self.kind {
            ParseErrorKind::Expected { expected, found } => write!(f, "expected {expected}, found {found}"),
            ParseErrorKind::Character(c) => write!(f, "unexpected character {c:?}"),
            ParseErrorKind::String => {
                f.write_str("a string has no closing quote on its line, or an unknown escape")
            }
            ParseErrorKind::Number(n) => write!(f, "the number {n} is out of range"),
            ParseErrorKind::UnknownOp(name) => write!(f, "unknown operation `{name}`"),
            ParseErrorKind::UnknownSymbol(name) => {
                write!(f, "unknown dim `{name}`; declare it with `symbols {name}: 0..`")
            }
            ParseErrorKind::Repeated(name) => write!(f, "{name} is declared twice"),
            ParseErrorKind::UnknownParam(i) => write!(f, "the header has no scalar parameter ${i}"),
            ParseErrorKind::Numbering { expected, found } => {
                write!(f, "expected node %{expected}, found %{found}")
            }
            ParseErrorKind::TooDeep => {
                write!(f, "nested more than {} levels deep", super::expr::MAX_DEPTH)
            }
            ParseErrorKind::Rule(e) => e.fmt(f),
            ParseErrorKind::Invalid(errors) => {
                for (i, e) in errors.iter().enumerate() {
                    if i > 0 {
                        f.write_str("\n")?;
                    }
                    e.fmt(f)?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for ParseError {}
