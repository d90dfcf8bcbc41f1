//! One error type for the whole crate.
//!
//! Problem: the same failure is met as a panic (eager calls), as an `Err` (`try_*`, compiled functions that
//! return `Result`) and as text in a build. Method: failures of operations carry the graph's [`OpError`]
//! (code, op, message, help), so that a build and a run word them alike; everything else is a variant with
//! its own fields. Invariants: every error has a code with a page in `docs/errors.md`; messages are lower
//! case, without full stop; the enum is `Send + Sync`.

use std::fmt;
use std::path::PathBuf;
use tensorplay_graph::{Code, OpError, OpErrorKind};

/// The result of fallible functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every failure that tensorplay reports.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A function could not be captured into a graph.
    #[error("error[TP0901]: capture: {0}")]
    GraphCapture(String),
    /// No backend of this name is registered.
    #[error("error[TP0902]: backend `{name}` is not registered{}", suggest(suggestions))]
    InvalidBackend {
        /// The name asked for.
        name: String,
        /// Registered names that resemble it.
        suggestions: Vec<String>,
    },
    /// A backend refused a graph, or failed while it compiled or ran it.
    #[error(
        "error[TP0903]: backend `{backend}` failed on `{function}`{}: {source}",
        at_node(node)
    )]
    BackendCompilerFailed {
        /// The backend's name.
        backend: String,
        /// The compiled function's name.
        function: String,
        /// The node at which it failed, if the backend said so.
        node: Option<String>,
        /// The backend's own error.
        source: Box<Error>,
    },
    /// A call needed another entry in a table that is full.
    #[error(
        "error[TP0904]: `{function}` reached its recompile limit of {limit} entries\n  help: mark the dimension that changes as dynamic, name it in a spec, or raise `recompile_limit`; sizes 0 and 1 have entries of their own in any case"
    )]
    RecompileLimit {
        /// The compiled function's name.
        function: String,
        /// The limit that was in force.
        limit: usize,
    },
    /// Shapes that do not fit the operation.
    #[error("{0}")]
    Shape(Box<OpError>),
    /// Dtypes that do not fit the operation.
    #[error("{0}")]
    DType(Box<OpError>),
    /// An index or dim out of range.
    #[error("{0}")]
    Index(Box<OpError>),
    /// An argument whose value is not allowed, such as an integer division by zero.
    #[error("{0}")]
    Value(Box<OpError>),
    /// A device that is absent, or that differs between operands.
    #[error("{0}")]
    Device(Box<OpError>),
    /// A joint graph could not be built ahead of time.
    #[error("error[TP0905]: aot: {0}")]
    Aot(String),
    /// Capture or replay of a CUDA graph failed.
    #[error("error[TP0906]: cuda graph: {0}")]
    CudaGraph(String),
    /// TVM is missing, or one of its functions failed.
    #[error("error[TP0907]: tvm: {0}")]
    Tvm(String),
    /// The operating system refused a file operation.
    #[error("error[TP0908]: {0}")]
    Io(#[from] std::io::Error),
    /// A safetensors file that is malformed, or holds what tensorplay cannot represent.
    #[error("error[TP0909]: safetensors: {}: {message}", path.display())]
    Safetensors {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A kernel panicked; always a bug of the kernel.
    #[error("error[TP0910]: kernel `{kernel}` panicked: {message}\n  help: this is a bug, please report it")]
    Kernel {
        /// The kernel's name.
        kernel: String,
        /// The panic's message.
        message: String,
    },
    /// The allocator has no memory left for a tensor.
    #[error("error[TP0911]: out of memory: cannot allocate {bytes} bytes")]
    OutOfMemory {
        /// The size asked for.
        bytes: usize,
    },
    /// An environment variable with an invalid value.
    #[error("error[TP0912]: {variable}={value}: expected {expected}\n  help: correct it, or unset it")]
    Environment {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What it takes.
        expected: &'static str,
    },
    /// A layer that cannot be made or filled: a parameter is absent, of another shape or dtype, or sizes contradict.
    #[error("error[TP0913]: `{name}`: {message}\n  help: {help}")]
    Layer {
        /// The parameter's full name, or the layer's.
        name: String,
        /// What is wrong.
        message: String,
        /// What to do about it.
        help: String,
    },
    /// An option or mode that does not exist, or a value that it does not take.
    #[error("error[TP0914]: option `{option}`: {message}\n  help: {help}")]
    InvalidOption {
        /// The option's name.
        option: String,
        /// What is wrong.
        message: String,
        /// What to write instead.
        help: String,
    },
    /// A backend that cannot be had here, or a registration that is refused.
    #[error("error[TP0915]: backend `{name}`: {message}\n  help: {help}")]
    BackendUnavailable {
        /// The backend's name.
        name: String,
        /// Why.
        message: String,
        /// What to do about it.
        help: String,
    },
    /// A function under `strict_native` that would run other than native code.
    #[error("error[TP0916]: strict_native: `{function}` has no native code for this call: {reason}")]
    NotNative {
        /// The function.
        function: String,
        /// What would run instead, and why.
        reason: String,
    },
    /// A node of a graph that failed while a backend ran it node by node.
    #[error("error[TP0917]: while executing {node}: {source}")]
    Node {
        /// The node: `relu %3 at src/net.rs:12`.
        node: String,
        /// What its operation reported.
        source: Box<Error>,
    },
    /// A graph that failed where it was not expected to.
    #[error("error[TP0918]: unexpected exception when running the graph of `{function}`: {source}")]
    Unexpected {
        /// The graph's name.
        function: String,
        /// What it reported.
        source: Box<Error>,
    },
    /// Anything else, in words.
    #[error("{0}")]
    Msg(String),
}

fn suggest(names: &[String]) -> String {
    if names.is_empty() {
        "\n  help: register it with register_backend(..); list_backends(..) tells which names are known"
            .into()
    } else {
        format!("\n  help: did you mean `{}`?", names.join("` or `"))
    }
}

fn at_node(node: &Option<String>) -> String {
    node.as_ref().map_or(String::new(), |n| format!(" at {n}"))
}

/// `TP0012` for each code up to 999.
static CODES: [[u8; 6]; 1000] = {
    let mut all = [*b"TP0000"; 1000];
    let mut n = 0;
    while n < all.len() {
        (all[n][3], all[n][4], all[n][5]) = (
            b'0' + (n / 100) as u8,
            b'0' + (n / 10 % 10) as u8,
            b'0' + (n % 10) as u8,
        );
        n += 1;
    }
    all
};

fn code_text(code: Code) -> &'static str {
    CODES
        .get(usize::from(code.0))
        .and_then(|c| std::str::from_utf8(c).ok())
        .unwrap_or("TP0000")
}

impl From<OpError> for Error {
    fn from(e: OpError) -> Error {
        let e = Box::new(e);
        match e.kind {
            OpErrorKind::Shape => Error::Shape(e),
            OpErrorKind::DType => Error::DType(e),
            OpErrorKind::Index => Error::Index(e),
            OpErrorKind::Value => Error::Value(e),
        }
    }
}

macro_rules! of_graphs {
    ($($error:ident)*) => {$(
        impl From<tensorplay_graph::$error> for Error {
            fn from(e: tensorplay_graph::$error) -> Error {
                Error::GraphCapture(e.to_string())
            }
        }
    )*};
}
of_graphs!(ParseError TraceError EditError DrawError);

impl Error {
    /// An error from any message.
    ///
    /// ```
    /// # extern crate tensorplay_runtime as tensorplay;
    /// let e = tensorplay::Error::msg("no such layer");
    /// assert_eq!(e.to_string(), "no such layer");
    /// ```
    pub fn msg(message: impl fmt::Display) -> Error {
        Error::Msg(message.to_string())
    }

    /// The error's code, `TP0012`; `TP0000` for [`Error::Msg`].
    pub fn code(&self) -> &'static str {
        match self {
            Error::Shape(r) | Error::DType(r) | Error::Index(r) | Error::Value(r) | Error::Device(r) => {
                code_text(r.code)
            }
            Error::GraphCapture(_) => "TP0901",
            Error::InvalidBackend { .. } => "TP0902",
            Error::BackendCompilerFailed { .. } => "TP0903",
            Error::RecompileLimit { .. } => "TP0904",
            Error::Aot(_) => "TP0905",
            Error::CudaGraph(_) => "TP0906",
            Error::Tvm(_) => "TP0907",
            Error::Io(_) => "TP0908",
            Error::Safetensors { .. } => "TP0909",
            Error::Kernel { .. } => "TP0910",
            Error::OutOfMemory { .. } => "TP0911",
            Error::Environment { .. } => "TP0912",
            Error::Layer { .. } => "TP0913",
            Error::InvalidOption { .. } => "TP0914",
            Error::BackendUnavailable { .. } => "TP0915",
            Error::NotNative { .. } => "TP0916",
            Error::Node { .. } => "TP0917",
            Error::Unexpected { .. } => "TP0918",
            Error::Msg(_) => "TP0000",
        }
    }

    /// Panics with the error's text at the caller's line, as eager calls do.
    #[track_caller]
    #[cold]
    #[inline(never)]
    pub fn raise(self) -> ! {
        panic!("{self}")
    }

    /// Where in a compiled function the operation is that an error is of, and its text: `src/main.rs:8: h.matmul(w)`.
    /// `None` in eager code, whose panics are at that line, and where no operation is at fault.
    pub fn location(&self) -> Option<&str> {
        match self {
            Error::Shape(e) | Error::DType(e) | Error::Index(e) | Error::Value(e) | Error::Device(e) => {
                e.location.as_deref()
            }
            Error::Node { source, .. }
            | Error::Unexpected { source, .. }
            | Error::BackendCompilerFailed { source, .. } => source.location(),
            _ => None,
        }
    }

    pub(crate) fn shape(code: Code, op: &'static str, message: impl Into<String>) -> Error {
        Error::Shape(Box::new(OpError::new(code, OpErrorKind::Shape, op, message)))
    }

    pub(crate) fn dtype(op: &'static str, message: impl Into<String>) -> Error {
        Error::DType(Box::new(OpError::new(
            Code::DTYPE,
            OpErrorKind::DType,
            op,
            message,
        )))
    }

    pub(crate) fn index(code: Code, op: &'static str, message: impl Into<String>) -> Error {
        Error::Index(Box::new(OpError::new(code, OpErrorKind::Index, op, message)))
    }

    pub(crate) fn value(op: &'static str, message: impl Into<String>) -> Error {
        Error::Value(Box::new(OpError::new(
            Code::VALUE,
            OpErrorKind::Value,
            op,
            message,
        )))
    }

    pub(crate) fn device(op: &'static str, message: impl Into<String>) -> Error {
        Error::Device(Box::new(OpError::new(
            Code::VALUE,
            OpErrorKind::Value,
            op,
            message,
        )))
    }

    fn op_error(&mut self) -> Option<&mut OpError> {
        match self {
            Error::Shape(e) | Error::DType(e) | Error::Index(e) | Error::Value(e) | Error::Device(e) => {
                Some(e)
            }
            Error::Node { source, .. }
            | Error::Unexpected { source, .. }
            | Error::BackendCompilerFailed { source, .. } => source.op_error(),
            _ => None,
        }
    }

    /// The same error with what to write instead.
    pub(crate) fn with_help(mut self, help: impl fmt::Display) -> Error {
        if let Error::Msg(message) = &mut self {
            message.push_str(&format!("\n  help: {help}"));
        } else if let Some(e) = self.op_error() {
            e.help = Some(help.to_string());
        }
        self
    }

    /// The same error with the place of its operation among the locations of a module, unless it has one.
    pub(crate) fn placed(mut self, place: u32) -> Error {
        if let Some(e) = self.op_error() {
            e.set_place(place);
        }
        self
    }

    /// The same error with its place in words.
    pub(crate) fn located(mut self, table: impl FnOnce(u32) -> Option<String>) -> Error {
        if let Some(e) = self.op_error() {
            e.locate(table);
        }
        self
    }
}

/// What a panic that was caught said.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

/// Turns an `Err` into the panic of an eager call.
pub(crate) trait OrRaise<T> {
    #[track_caller]
    fn or_raise(self) -> T;
}

impl<T> OrRaise<T> for Result<T> {
    #[inline]
    #[track_caller]
    fn or_raise(self) -> T {
        match self {
            Ok(v) => v,
            Err(e) => e.raise(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_the_documented_one() {
        let message = "inner dimensions differ: lhs [3, 4] @ rhs [5, 6] (4 != 5)";
        let e = Error::from(OpError::new(Code::INNER, OpErrorKind::Shape, "matmul", message))
            .with_help("transpose one");
        assert_eq!(
            e.to_string(),
            format!("error[TP0012]: matmul: {message}\n  help: transpose one")
        );
        assert!(matches!(e, Error::Shape(_)));
        assert_eq!(e.code(), "TP0012");
        assert_eq!(
            (code_text(Code(987)), code_text(Code(1000))),
            ("TP0987", "TP0000")
        );
    }

    #[test]
    fn every_help_is_shown() {
        let e = Error::msg("it is called again").with_help("call it once");
        assert_eq!(e.to_string(), "it is called again\n  help: call it once");
    }

    #[test]
    fn suggestions_and_nodes_are_named() {
        let e = Error::InvalidBackend {
            name: "stacks".into(),
            suggestions: vec!["stax".into()],
        };
        assert!(e.to_string().contains("did you mean `stax`?"), "{e}");
        let unlike = Error::InvalidBackend {
            name: "tvm".into(),
            suggestions: Vec::new(),
        };
        assert!(unlike.to_string().contains("register_backend(..)"), "{unlike}");
        let e = Error::BackendCompilerFailed {
            backend: "tvm".into(),
            function: "f".into(),
            node: Some("%3".into()),
            source: Box::new(e),
        };
        assert!(e.to_string().contains("`f` at %3"), "{e}");
        assert!(std::error::Error::source(&e).is_some());
    }

    #[test]
    fn is_send_and_sync_and_small() {
        fn check<T: Send + Sync + 'static>() {}
        check::<Error>();
        assert!(size_of::<Error>() <= 96);
        let io: Error = std::io::Error::from(std::io::ErrorKind::NotFound).into();
        assert_eq!(io.code(), "TP0908");
    }
}
