//! Errors of graph surgery.

use super::User;
use crate::{NodeId, OpError, Symbol, TensorType, Value, VerifyError, VerifyErrorKind};
use std::fmt;

/// Why an edit is refused. The graph is as it was before the call.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum EditError {
    /// A node that the graph never had.
    Unknown(NodeId),
    /// A node that was erased.
    Erased(NodeId),
    /// A node whose results are still used.
    Used {
        /// The node.
        node: NodeId,
        /// By whom, in order.
        users: Vec<User>,
    },
    /// An input in the place of a call.
    Input(NodeId),
    /// A value that a user would need before it is computed.
    Later {
        /// The value.
        value: Value,
        /// The user.
        user: NodeId,
    },
    /// A broken shape or dtype rule, and the node that it is broken at, unless that is the new one.
    Rule(Option<NodeId>, OpError),
    /// An argument or a value that is not of the form that the verifier asks for.
    Form(VerifyErrorKind),
    /// A list in the place of a tensor, or the reverse: all steps of a loop give a list.
    List(Value),
    /// A value that the spec of an input or of an output excludes.
    Spec {
        /// `input` or `output`.
        what: &'static str,
        /// The number of the input or output.
        number: usize,
        /// The spec as the text form prints it.
        spec: String,
        /// The type of the value.
        got: String,
    },
    /// An output that the graph does not have.
    Output {
        /// The number asked for.
        output: usize,
        /// How many there are.
        outputs: usize,
    },
    /// Another number of values than the inputs of the graph that takes them.
    Inputs {
        /// How many it takes.
        expected: usize,
        /// How many were given.
        got: usize,
    },
    /// An input that the wanted values depend on, but that is not among the given ones.
    Missing {
        /// The input.
        input: NodeId,
        /// Its name, or empty.
        name: String,
    },
    /// A graph that reads parts of structs, which the other graph does not have.
    Aggregates,
    /// A pattern that cannot be looked for.
    Pattern(&'static str),
    /// The edited graph does not verify.
    Invalid(Vec<VerifyError>),
}

impl EditError {
    pub(super) fn spec(
        (what, number): (&'static str, usize),
        spec: &TensorType,
        got: &TensorType,
        symbols: &[Symbol],
    ) -> EditError {
        EditError::Spec {
            what,
            number,
            spec: spec.display(symbols).to_string(),
            got: got.display(symbols).to_string(),
        }
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditError::Unknown(n) => write!(
                f,
                "%{} is not part of this graph; use the ids of its nodes and those that this edit gave",
                n.0
            ),
            EditError::Erased(n) => write!(f, "%{} has already been erased; use what replaced it", n.0),
            EditError::Used { node, users } => {
                write!(f, "%{} has ", node.0)?;
                let (last, first) = match users.split_last() {
                    Some((last, first)) => (Some(last), first),
                    None => (None, &[][..]),
                };
                f.write_str(if users.len() == 1 { "a user: " } else { "users: " })?;
                for user in first.iter().take(4) {
                    write!(f, "{user}, ")?;
                }
                if first.len() > 4 {
                    write!(f, "{} more, ", first.len() - 4)?;
                }
                last.map_or(Ok(()), |u| u.fmt(f))?;
                f.write_str("; replace its uses first")
            }
            EditError::Input(n) => write!(f, "%{} is an input; only calls can be erased or changed", n.0),
            EditError::Later { value, user } => write!(
                f,
                "{value} is not there yet at %{}: it is later in the graph; insert it before that node",
                user.0
            ),
            EditError::Rule(Some(n), e) => write!(f, "%{}: {e}", n.0),
            EditError::Rule(None, e) => e.fmt(f),
            EditError::Form(e) => e.fmt(f),
            EditError::List(v) => write!(
                f,
                "{v} and what it replaces are not both lists; join a list with cat, or stack a tensor in the loop"
            ),
            EditError::Spec {
                what,
                number,
                spec,
                got,
            } => write!(
                f,
                "{what} {number} is {spec} by its spec, got {got}; give a value of that type"
            ),
            EditError::Output { output, outputs } => {
                let outputs = crate::error::count(*outputs, "output");
                write!(f, "there is no output {output}, the graph has {outputs}")
            }
            EditError::Inputs { expected, got } => {
                let expected = crate::error::count(*expected, "tensor");
                write!(
                    f,
                    "the graph takes {expected}, got {got}; give one value an input, in order"
                )
            }
            EditError::Missing { input, name } => write!(
                f,
                "the wanted values depend on input %{} `{name}`; give it, or values between it and them",
                input.0
            ),
            EditError::Aggregates => {
                f.write_str("the graph reads parts of structs; bind it first, or rewrite the graph itself")
            }
            EditError::Pattern(what) => f.write_str(what),
            EditError::Invalid(errors) => {
                f.write_str("the edited graph does not verify:")?;
                errors.iter().try_for_each(|e| write!(f, "\n{e}"))
            }
        }
    }
}

impl std::error::Error for EditError {}

impl From<VerifyErrorKind> for EditError {
    fn from(kind: VerifyErrorKind) -> EditError {
        EditError::Form(kind)
    }
}
