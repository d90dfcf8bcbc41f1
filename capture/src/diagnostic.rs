//! `Diagnostic`: an error on the user's tokens; `Diagnostics`: the context that collects all of a function.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::cell::{Cell, RefCell};
use std::fmt;
use tensorplay_graph::{Code, OpError};

/// The codes of this crate. `TP0010..=TP0031` are the graph's rules, `TP0090` is shared.
pub mod code {
    use tensorplay_graph::Code;

    macro_rules! codes {
        ($($(#[doc = $doc:literal])* $name:ident = $n:literal;)*) => {
            $($(#[doc = $doc])* pub const $name: Code = Code($n);)*
            pub(crate) const LIST: &[(Code, &str)] = &[$((Code($n), concat!($($doc),*))),*];
        };
    }
    codes! {
        /// an attribute argument that is not written as one
        ARGUMENT_SYNTAX = 1;
        /// an unknown attribute argument
        UNKNOWN_ARGUMENT = 2;
        /// an attribute argument written twice
        DUPLICATE_ARGUMENT = 3;
        /// an attribute argument of the wrong type
        ARGUMENT_TYPE = 4;
        /// a spec that is not written as `f32[B, 784]`
        SPEC_SYNTAX = 5;
        /// a spec for something that is not a tensor parameter
        SPEC_NAME = 6;
        /// a spec that contradicts `dtypes(..)`
        SPEC_DTYPE = 7;
        /// an attribute, or an argument of one, on something that it is not for
        NOT_A_FUNCTION = 8;
        /// two arguments that exclude each other
        EXCLUSIVE_ARGUMENTS = 9;
        /// a const, async, unsafe, extern or variadic function
        FUNCTION_KIND = 40;
        /// type or const parameters
        GENERICS = 41;
        /// a receiver other than `&self`
        RECEIVER = 42;
        /// a parameter whose type is not captured
        PARAMETER = 43;
        /// a return type that is not captured
        RETURN_TYPE = 44;
        /// a statement or expression that is not captured
        STATEMENT = 45;
        /// a call of something that is not an operation
        CALL = 46;
        /// a method that is not an operation
        METHOD = 47;
        /// a read of tensor data
        DATA_READ = 48;
        /// the wrong number of arguments
        ARGUMENT_COUNT = 49;
        /// an argument of the wrong kind
        ARGUMENT_KIND = 50;
        /// an operator that tensors do not have
        OPERATOR = 51;
        /// a returned value that does not fit the return type
        RETURNED = 52;
        /// an index or count that is not known at build time
        INDEX = 53;
        /// a pattern that is not captured
        PATTERN = 54;
        /// `?` on something that is not a `try_` operation
        QUESTION_MARK = 55;
        /// the shape of a tensor whose rank is not known
        UNKNOWN_RANK = 56;
        /// `#[cfg]` on a statement
        CFG = 57;
        /// a host expression that is not captured
        HOST = 58;
        /// host arithmetic that always fails
        HOST_FAILS = 59;
        /// a branch or loop on tensor data
        DATA_DEPENDENT = 60;
        /// too many paths, or too many steps of a loop
        PATHS = 61;
        /// `#[model]` on something that is not an inline module
        NOT_A_MODULE = 62;
        /// a use of a parameter whose type capture does not know
        OPAQUE = 64;
        /// a name of two locals that only the compiler tells apart
        HYGIENE = 65;
        /// a function named like a macro of the standard library
        MACRO_NAME = 70;
        /// `explain!` or `graph!` of something that is not a path
        FUNCTION_PATH = 71;
        /// a graph break of a function with `warn_breaks`
        GRAPH_BREAK = 72;
        /// a function or type that another version of tensorplay captured
        ANOTHER_VERSION = 75;
        /// a marker on a function that it cannot mark
        MARKED_FUNCTION = 80;
        /// two markers that exclude each other
        MARKERS = 81;
        /// a result that `assume_constant_result` cannot keep
        ASSUMED_RESULT = 82;
        /// a function that `substitute_in_graph` cannot replace
        SUBSTITUTED = 83;
        /// `overload_method`
        OVERLOAD = 84;
        /// an argument without effect so far
        NOT_AVAILABLE = 90;
        /// a bug of tensorplay
        INTERNAL = 99;
    }
}

/// Every code of this crate with what it stands for.
pub const CODES: &[(Code, &str)] = code::LIST;

/// An error on the user's tokens. Lower case, no full stop.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The stable code.
    pub code: Code,
    /// The tokens at fault.
    pub tokens: TokenStream,
    /// What is wrong.
    pub message: String,
    /// `note: ..` and `help: ..` lines.
    pub lines: Vec<String>,
}

impl Diagnostic {
    /// An error on `tokens`.
    pub fn new(code: Code, tokens: impl ToTokens, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            tokens: tokens.into_token_stream(),
            message: message.into(),
            lines: Vec::new(),
        }
    }

    /// Adds what to write instead.
    #[must_use]
    pub fn help(mut self, text: impl fmt::Display) -> Diagnostic {
        self.lines.push(format!("help: {text}"));
        self
    }

    /// Adds what explains the error.
    #[must_use]
    pub fn note(mut self, text: impl fmt::Display) -> Diagnostic {
        self.lines.push(format!("note: {text}"));
        self
    }

    /// Whether both say the same of the same tokens.
    fn is(&self, other: &Diagnostic) -> bool {
        let at = |d: &Diagnostic| {
            let place = |t: TokenTree| format!("{:?}", t.span());
            d.tokens.clone().into_iter().next().map(place)
        };
        self.message == other.message && at(self) == at(other)
    }

    /// A broken rule of an operation, on `tokens`.
    pub fn from_op(error: &OpError, tokens: TokenStream) -> Diagnostic {
        Diagnostic::new(error.code, tokens, format!("{}: {}", error.op, error.message))
    }

    /// The `compile_error!` that rustc shows at the tokens.
    pub fn to_compile_error(&self) -> TokenStream {
        syn::Error::new_spanned(&self.tokens, self).to_compile_error()
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.code, self.message)?;
        for line in &self.lines {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}

/// Collects the errors of one function. Must be emptied by [`take`](Diagnostics::take): a test that drops it
/// unchecked panics.
#[derive(Debug, Default)]
pub struct Diagnostics {
    list: RefCell<Vec<Diagnostic>>,
    checked: Cell<bool>,
}

impl Diagnostics {
    /// Adds an error; one that is there already, from another path through the same tokens, is the same error.
    pub fn push(&self, d: Diagnostic) {
        let mut list = self.list.borrow_mut();
        if !list.iter().any(|other| other.is(&d)) {
            list.push(d);
        }
    }

    pub fn len(&self) -> usize {
        self.list.borrow().len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.borrow().is_empty()
    }

    /// Whether there are more than so many errors, and all behind these have a code.
    pub fn only_behind(&self, n: usize, code: Code) -> bool {
        let list = self.list.borrow();
        list.len() > n && list[n..].iter().all(|d| d.code == code)
    }

    /// Forgets all errors but the first.
    pub fn truncate(&self, n: usize) {
        self.list.borrow_mut().truncate(n);
    }

    /// Whether there is an error of this code.
    pub fn has(&self, code: Code) -> bool {
        self.list.borrow().iter().any(|d| d.code == code)
    }

    /// The errors so far; the context counts as checked.
    pub fn take(&self) -> Vec<Diagnostic> {
        self.checked.set(true);
        self.list.take()
    }
}

impl Drop for Diagnostics {
    fn drop(&mut self) {
        if cfg!(test) && !self.checked.get() && !std::thread::panicking() {
            panic!("diagnostics were dropped unchecked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "unchecked")]
    fn dropping_unchecked_diagnostics_is_noticed() {
        drop(Diagnostics::default());
    }

    #[test]
    fn every_code_has_a_page() {
        let page = include_str!("../../docs/errors.md");
        for (code, what) in CODES {
            assert!(
                page.contains(&format!("## {code}")),
                "{code} ({what}) is not in docs/errors.md"
            );
        }
    }
}
